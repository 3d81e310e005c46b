"""One connection to a name server or broker.

`send` sends a request, `answer` waits for its answer, `ask` does both. Several requests may be in flight, and their
answers are taken in any order; late answers are dropped. `peer_request` gives a request of the peer. Every wait ends
after the connection's time-out, unless it has its own.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Self, TypeAlias

from rocketwire.remoting.core.session import ClientRequest, ClientSession, RequestReceived, Response
from rocketwire.remoting.credentials import Credentials, Signer
from rocketwire.remoting.errors import NotReached, reason, refusal
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import WireHeader

__all__ = ["TIMEOUT_SECONDS", "BlockingConnection", "Response", "WaitContext"]

TIMEOUT_SECONDS: Final = 15.0
WaitContext: TypeAlias = Callable[[str], contextlib.AbstractContextManager[None]]
"""Is given what is waited for, in words, and is entered during the wait."""
_READ: Final = 1 << 18
_AT_ONCE: Final = 64
_MOST_PEER_REQUESTS: Final = 1024
"""So many requests of the peer, the last ones, are kept: few connections ever read them."""
_UNWATCHED: Final = contextlib.nullcontext()


def connected_socket(what: str, address: Address, timeout: float, tls: ssl.SSLContext | None) -> socket.socket:
    """A socket that is connected to an address within so many seconds, and encrypted with `tls`.

    Raises:
        NotReached: there is none; `what` names the peer.
    """
    try:
        connected = socket.create_connection((address.host, address.port), timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected if tls is None else tls.wrap_socket(connected, server_hostname=address.host)
    except (OSError, UnicodeError) as error:
        raise NotReached(what, f"cannot be reached: {reason(error)}") from error


class BlockingConnection:
    """A connection; `what` names the peer in errors, as `broker` or `name server`.

    Raises:
        NotReached: here and in every method: no listener, no answer in time, or not RocketMQ's protocol.
    """

    def __init__(
        self,
        what: str,
        address: Address,
        *,
        timeout: float = TIMEOUT_SECONDS,
        credentials: Credentials | None = None,
        tls: ssl.SSLContext | None = None,
        during: WaitContext = lambda _: _UNWATCHED,
    ) -> None:
        """Connect; with `tls`, encrypted. `during` may report long waits to the user."""
        self.what = f"{what} {address}"
        self.address = (address.host, address.port)
        self._timeout = timeout
        self._during = during
        self._waiting = f"waiting for an answer of {self.what}"
        self._session = ClientSession(sign=None if credentials is None else Signer(credentials).signed)
        self._answers: dict[int, Response | None] = {}  # of all requests whose answer is wanted
        self._peer_requests: deque[RequestReceived] = deque(maxlen=_MOST_PEER_REQUESTS)
        with during(f"connecting to {self.what}"):
            self._socket = connected_socket(self.what, address, timeout, tls)

    def __enter__(self) -> Self:
        """Close it at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close; it cannot be used afterwards."""
        self._socket.close()

    def ask(
        self,
        code: RequestCode,
        fields: WireHeader | None = None,
        *,
        fine: tuple[int, ...] = (ResponseCode.SUCCESS,),
        body: bytes = b"",
    ) -> Response:
        """The answer to one request.

        Raises:
            Refused: its code is not in `fine`.
        """
        return self._fine(self.send(ClientRequest(code, fields, body)), fine)

    @property
    def own_host(self) -> str:
        """The local address of the connection."""
        return str(self._socket.getsockname()[0])

    def send(self, request: ClientRequest) -> int:
        """Send a request and return its opaque, for `answer`."""
        opaque, data = self._session.request(request)
        self.send_frame(data, opaque)
        return opaque

    def send_frame(self, data: bytes, opaque: int | None) -> None:
        """Send a frame that was written elsewhere; `opaque` of a request whose answer is wanted, for `answer`."""
        if opaque is not None:
            self._answers[opaque] = None
        try:
            self._socket.settimeout(self._timeout)
            with self._during(self._waiting):
                self._socket.sendall(data)
        except OSError as error:
            raise NotReached(self.what, f"the connection failed: {reason(error)}") from error

    def end_sending(self) -> None:
        """Send no more; with TLS, which cannot end one direction, nothing happens."""
        if not isinstance(self._socket, ssl.SSLSocket):
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)

    def ask_all(
        self,
        code: RequestCode,
        requests: Iterable[WireHeader],
        *,
        fine: tuple[int, ...] = (ResponseCode.SUCCESS,),
    ) -> Iterator[Response]:
        """The answers to many requests of one kind, in their order; some are always in flight.

        Raises:
            Refused: the code of one is not in `fine`.
        """
        waiting: deque[int] = deque()
        for fields in requests:
            waiting.append(self.send(ClientRequest(code, fields)))
            if len(waiting) == _AT_ONCE:
                yield self._fine(waiting.popleft(), fine)
        while waiting:
            yield self._fine(waiting.popleft(), fine)

    def _fine(self, opaque: int, fine: tuple[int, ...]) -> Response:
        answer = self.answer(opaque)
        if answer.code not in fine:
            raise refusal(self.what, answer.code, answer.remark)
        return answer

    def answer(self, opaque: int, seconds: float | None = None) -> Response:
        """Wait for the answer to a request that was sent; each is taken once.

        Args:
            opaque: The request's.
            seconds: How long to wait; None: the connection's time-out.

        Raises:
            KeyError: it was taken before, or has failed.
        """
        seconds = self._timeout if seconds is None else seconds
        until = time.monotonic() + seconds
        try:
            if (answer := self._answers[opaque]) is None:
                with self._during(self._waiting):
                    while (answer := self._answers[opaque]) is None:
                        self._receive(until, f"no answer within {seconds:g} s")
        finally:
            self._answers.pop(opaque, None)
        return answer

    def peer_request(self, code: int, seconds: float) -> RequestReceived:
        """Wait so many seconds for a request of the peer that it wants answered; each is taken once."""
        until = time.monotonic() + seconds
        while True:
            for each in self._peer_requests:
                if each.code == code and not each.oneway:
                    self._peer_requests.remove(each)
                    return each
            self._receive(until, f"no request {code} within {seconds:g} s")

    def _receive(self, until: float, too_late: str) -> None:
        """Receive the next frames."""
        try:
            self._socket.settimeout(max(0.001, until - time.monotonic()))
            data = self._socket.recv(_READ)
        except TimeoutError:
            raise NotReached(self.what, too_late) from None
        except OSError as error:
            raise NotReached(self.what, f"the connection failed: {reason(error)}") from error
        if not data:
            raise NotReached(self.what, "closed the connection")
        found, broken = self._session.receive(data)
        for each in found:
            if isinstance(each, RequestReceived):
                self._peer_requests.append(each)
            elif each.opaque in self._answers:
                self._answers[each.opaque] = each.answer
        if broken is not None:
            raise NotReached(self.what, f"does not speak RocketMQ's protocol: {broken}") from broken
