"""One connection to a name server or broker.

`send` sends a request, `answer` waits for its answer, `ask` does both. Several requests may be in flight, and their
answers are taken in any order. Other frames from the peer (requests of its own, late answers) are skipped. Every wait
ends after the connection's time-out.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Self, TypeAlias

from rocketwire.remoting.core.session import ClientRequest, ClientSession, Response, ResponseReceived
from rocketwire.remoting.credentials import Credentials
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
        """Connect; with `tls`, encrypted. `during` may tell the user of long waits."""
        self.what = f"{what} {address}"
        self.address = (address.host, address.port)
        self._timeout = timeout
        self._during = during
        self._waiting = f"waiting for an answer of {self.what}"
        self._session = ClientSession(credentials=credentials)
        self._answers: dict[int, Response | None] = {}  # of all requests whose answer is wanted
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
        return self._fine(self.send(code, fields, body), fine)

    @property
    def own_host(self) -> str:
        """The local address of the connection."""
        return str(self._socket.getsockname()[0])

    def send(self, code: RequestCode, fields: WireHeader | None = None, body: bytes = b"") -> int:
        """Send a request and return its opaque, for `answer`."""
        opaque, data = self._session.request(ClientRequest(code, fields, body))
        try:
            self._socket.settimeout(self._timeout)
            with self._during(self._waiting):
                self._socket.sendall(data)
        except OSError as error:
            raise NotReached(self.what, f"the connection failed: {reason(error)}") from error
        self._answers[opaque] = None
        return opaque

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
            waiting.append(self.send(code, fields))
            if len(waiting) == _AT_ONCE:
                yield self._fine(waiting.popleft(), fine)
        while waiting:
            yield self._fine(waiting.popleft(), fine)

    def _fine(self, opaque: int, fine: tuple[int, ...]) -> Response:
        answer = self.answer(opaque)
        if answer.code not in fine:
            raise refusal(self.what, answer.code, answer.remark)
        return answer

    def answer(self, opaque: int) -> Response:
        """Wait for the answer to a request that was sent; each is taken once.

        Raises:
            KeyError: it was taken before, or given up.
        """
        until = time.monotonic() + self._timeout
        try:
            if (answer := self._answers[opaque]) is None:
                with self._during(self._waiting):
                    while (answer := self._answers[opaque]) is None:
                        if not self._receive(until):
                            raise NotReached(self.what, f"no answer within {self._timeout:g} s")
        finally:
            self._answers.pop(opaque, None)
        return answer

    def next_answer(self, seconds: float) -> tuple[int, Response] | None:
        """The opaque of any request that was sent, and its answer; None if no answer comes in so many seconds."""
        until = time.monotonic() + seconds
        while True:
            for opaque, answer in self._answers.items():
                if answer is not None:
                    del self._answers[opaque]
                    return opaque, answer
            if not self._receive(until):
                return None

    def _receive(self, until: float) -> bool:
        """Receive the next frames; whether any data came in time."""
        try:
            self._socket.settimeout(max(0.001, until - time.monotonic()))
            data = self._socket.recv(_READ)
        except TimeoutError:
            return False
        except OSError as error:
            raise NotReached(self.what, f"the connection failed: {reason(error)}") from error
        if not data:
            raise NotReached(self.what, "closed the connection")
        found, broken = self._session.receive(data)
        for each in found:
            if isinstance(each, ResponseReceived) and each.opaque in self._answers:
                self._answers[each.opaque] = each.answer
        if broken is not None:
            raise NotReached(self.what, f"does not speak RocketMQ's protocol: {broken}") from broken
        return True
