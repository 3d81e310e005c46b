"""One HTTP request to a broker of this machine."""

from __future__ import annotations

from typing import Final

import h11
import trio

from rocketwire.wire.addresses import Address

SECONDS: Final = 5.0
MOST_BYTES: Final = 64 << 20
_READ: Final = 256 * 1024


class NoAnswer(Exception):
    """The broker does not answer."""


async def get(address: Address, path: str) -> tuple[int, bytes]:
    """The status and the body of the answer to a GET request.

    Raises:
        NoAnswer: there is none within `SECONDS`, or it is longer than `MOST_BYTES`.
    """
    try:
        with trio.fail_after(SECONDS):
            async with await trio.open_tcp_stream(address.host, address.port) as stream:
                return await _get(stream, str(address), path)
    except (OSError, trio.BrokenResourceError, trio.TooSlowError, h11.RemoteProtocolError) as error:
        raise NoAnswer(f"{address} does not answer") from error


async def _get(stream: trio.abc.Stream, host: str, path: str) -> tuple[int, bytes]:
    connection = h11.Connection(h11.CLIENT)
    headers = [("Host", host), ("Connection", "close")]
    request = connection.send(h11.Request(method="GET", target=path, headers=headers))
    await stream.send_all((request or b"") + (connection.send(h11.EndOfMessage()) or b""))
    status, body = 0, bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(_READ)))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MOST_BYTES:
                raise NoAnswer(f"{host} answers with more than {MOST_BYTES} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return status, bytes(body)
        else:
            raise NoAnswer(f"{host} closed the connection")
