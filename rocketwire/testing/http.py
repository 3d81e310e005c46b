"""One HTTP request and its response: the bytes, and two ways to exchange them."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Final

import h11

from rocketwire.remoting.errors import NotReached

SECONDS: Final = 30.0
"""How long a response may take."""
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The status and the body of a response."""

    status: int
    body: bytes


class Exchange:
    """A request, and its response as it comes.

    Args:
        address: `HOST:PORT`.
        method: GET, POST, DELETE.
        target: The path, with its query.
        body: Of the request.

    Attributes:
        request: The bytes to send.
        response: The response, once it is whole.
    """

    def __init__(self, address: str, method: str, target: str, body: bytes = b"") -> None:
        self.host, _, port = address.rpartition(":")
        self.port = int(port)
        self.response: HttpResponse | None = None
        self._address = address
        self._h11 = h11.Connection(h11.CLIENT)
        self._status = 0
        self._body = bytearray()
        headers = [
            ("Host", address),
            ("Accept", "application/json"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        events: list[h11.Event] = [h11.Request(method=method, target=target, headers=headers)]
        events += [h11.Data(data=body)] if body else []
        self.request = b"".join(self._h11.send(event) or b"" for event in (*events, h11.EndOfMessage()))

    def receive(self, data: bytes) -> None:
        """Take bytes of the response; none when it is over.

        Raises:
            NotReached: it is no response, or it is cut off.
        """
        try:
            if not data and not self._status:
                raise self.failed("there is no response")
            self._h11.receive_data(data)
            while isinstance(event := self._h11.next_event(), h11.Event):
                match event:
                    case h11.Response(status_code=status):
                        self._status = status
                    case h11.Data(data=piece):
                        self._body += piece
                    case h11.EndOfMessage():
                        self.response = HttpResponse(self._status, bytes(self._body))
                        return
                    case _:
                        break
        except h11.RemoteProtocolError as error:
            raise self.failed(error) from error

    def failed(self, reason: object) -> NotReached:
        """The error for a request without a response."""
        return NotReached(f"HTTP server {self._address}", str(reason))


def fetch(exchange: Exchange) -> HttpResponse:
    """Send the request and wait for the response.

    Raises:
        NotReached: there is none.
    """
    try:
        with socket.create_connection((exchange.host, exchange.port), timeout=SECONDS) as sock:
            sock.sendall(exchange.request)
            while exchange.response is None:
                exchange.receive(sock.recv(_PIECE))
    except OSError as error:
        raise exchange.failed(error) from error
    return exchange.response


async def fetch_with_trio(exchange: Exchange) -> HttpResponse:
    """The same in a task of trio.

    Raises:
        NotReached: there is no response.
    """
    import trio

    try:
        with trio.fail_after(SECONDS):
            async with await trio.open_tcp_stream(exchange.host, exchange.port) as stream:
                await stream.send_all(exchange.request)
                while exchange.response is None:
                    exchange.receive(await stream.receive_some(_PIECE))
    except (OSError, trio.BrokenResourceError, trio.TooSlowError) as error:
        raise exchange.failed(error) from error
    return exchange.response
