"""Operations: generators that yield what they need from outside, and return a value.

A driver performs each step, by its means, and sends the result into the generator, or throws the error. So each
operation is written once, and runs with threads, with asyncio and with trio. Between two steps no other operation of
the same client runs: state that operations share needs no locks.

The steps below are those of the client: requests, waiting, handlers. The server has two more: `InThread` of its long
requests (`server.core.long_tasks`), and `ServeRequests` of gRPC calls (`server.grpc.calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from rocketwire.remoting.clock import Clock
from rocketwire.remoting.core.session import ClientRequest, RequestReceived, Response
from rocketwire.remoting.errors import RemotingError
from rocketwire.remoting.messages import ReceivedMessage
from rocketwire.wire.addresses import Address
from rocketwire.wire.facts.codes import ResponseCode

T = TypeVar("T")


class Step:
    """What an operation needs: each kind defines what the driver sends into the generator, or throws."""

    __slots__ = ()


Operation: TypeAlias = Generator[Step | None, Any, T]
"""It yields a step, or None where its driver may run others."""


class RemoteServer(NamedTuple):
    """The receiver of requests: `kind` is `broker` or `name server`."""

    kind: str
    address: Address

    def __str__(self) -> str:
        return f"{self.kind} {self.address}"


class Signal(Protocol):
    """Wakes the one operation that waits for it; if none waits, the next one that does."""

    def set(self) -> None:
        """Wake it."""
        ...


@dataclass(slots=True)
class PendingResponse:
    """A request whose answer comes later: then `answer` or `error` is set, and `signal` too.

    A waiter that stops waiting calls `forget`.
    """

    signal: Signal
    answer: Response | None = None
    error: RemotingError | None = None
    forget: Callable[[], object] = lambda: None

    @property
    def done(self) -> bool:
        """Whether it is answered, or has failed."""
        return self.answer is not None or self.error is not None

    def fulfil(self, outcome: Response | RemotingError) -> None:
        """Set the outcome, unless there is one."""
        if self.done:
            return
        if isinstance(outcome, RemotingError):
            self.error = outcome
        else:
            self.answer = outcome
        self.signal.set()


@dataclass(frozen=True, slots=True)
class SendAndWait(Step):
    """Send a request and wait for its answer so many seconds. Gives the `Response`, or raises a `RemotingError`."""

    peer: RemoteServer
    request: ClientRequest
    seconds: float


@dataclass(frozen=True, slots=True)
class SendOneway(Step):
    """Send a request that is not answered. Raises a `RemotingError` if it cannot be sent."""

    peer: RemoteServer
    request: ClientRequest


@dataclass(frozen=True, slots=True)
class SendRequest(Step):
    """Send a request whose answer comes later.

    Gives its `PendingResponse` at once, before there is a connection even.
    """

    peer: RemoteServer
    request: ClientRequest
    signal: Signal


@dataclass(frozen=True, slots=True)
class Sleep(Step):
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class WaitForSignal(Step):
    """Wait until a signal is set, so many seconds at most; then it is not set any more."""

    signal: Signal
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class CallHandler(Step):
    """Call the application's handler. Gives what it returns; exceptions that it raises come as values, too."""

    message: ReceivedMessage


@dataclass(frozen=True, slots=True)
class ClientReply:
    """The answer to a request of the peer."""

    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    body: bytes = b""


Responder: TypeAlias = Callable[[RequestReceived], Operation[ClientReply | None]]
"""Carries out a request of the peer; without a reply it is answered as not supported, unless it is one-way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What the core gets from its front end.

    Attributes:
        new_signal: Makes a signal.
        monotonic: Seconds, for durations.
        wall: Milliseconds since 1970, for dates.
        entropy: Gives so many random bytes.
        own_host: The address by which this machine reaches its peers, once a connection was made.
        process_id: The number of this process.
        start: Runs an operation beside the others until the client is closed.
    """

    new_signal: Callable[[], Signal]
    monotonic: Callable[[], float]
    wall: Clock
    entropy: Callable[[int], bytes]
    own_host: Callable[[], str]
    process_id: int
    start: Callable[[Operation[None]], None] = field(repr=False)


def request_response(peer: RemoteServer, request: ClientRequest, seconds: float) -> Operation[Response]:
    """The answer to a request."""
    answer: Response = yield SendAndWait(peer, request, seconds)
    return answer


def request_later(peer: RemoteServer, request: ClientRequest, signal: Signal) -> Operation[PendingResponse]:
    """A request that was sent and whose answer comes later."""
    pending: PendingResponse = yield SendRequest(peer, request, signal)
    return pending
