"""Calls: a client's request in one HTTP/2 stream, and how it is carried out.

A method is an operation (`rocketwire.remoting.core.steps`). It gets the call and its message, has the requests served
that it is translated into, one or more at a time, and gets the reply of each; it returns the message, or the messages,
of the response. So a method knows neither connections nor dispatch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Protocol, TypeAlias

from google.protobuf.message import Message

from rocketwire.remoting.core.steps import Operation, Step
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import (
    NOT_A_FRAME,
    CallSignature,
    OnClientAnswer,
    Peer,
    Reply,
    Request,
)
from rocketwire.server.grpc.metadata import CLIENT_ID, read_proof
from rocketwire.wire.bodies.pop import BatchAckMessageRequestBody
from rocketwire.wire.grpc.codes import CallInvalid
from rocketwire.wire.header import Header
from rocketwire.wire.headers import WireHeader

Response: TypeAlias = Message | bytes | Sequence[Message | bytes]
"""What a call is answered with: a message, or those of a stream; those in bytes are written already."""

_NO_BODY: Final = memoryview(b"")


@dataclass(frozen=True, slots=True)
class ServeRequests(Step):
    """Have requests of a broker served. Gives the list of their replies."""

    requests: Sequence[Request[Any]]


def serve(*requests: Request[Any]) -> Operation[list[Reply]]:
    """The replies to requests."""
    step = [ServeRequests(requests)]
    del requests  # see `Call.take_reply`: the operation must not hold them while it waits
    replies: list[Reply] = yield step.pop()
    return replies


class BrokerConnectionError(CallInvalid):
    """A request did not reach its broker: nothing came of it, so another broker may get it."""


class EncodedPayloads(list[bytes]):
    """The messages of a stream, all of them written already."""

    __slots__ = ()


class CallConnection(Protocol):
    """The connection of a call, as the call knows it."""

    remote_text: str
    born_host: bytes
    guarded: bool
    has_accounts: bool

    @property
    def place(self) -> str:
        """The address of the other end, without its port; empty: this machine."""

    @property
    def closed(self) -> bool:
        """Whether it is closed."""

    @property
    def congested(self) -> bool:
        """Whether answers pile up because the other end does not read."""

    @property
    def last_sign_of_life(self) -> float:
        """When the other end last gave a sign of life, in seconds of the event loop."""

    def flush(self) -> None:
        """Send what is written."""

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request."""

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        """Pass on the reply to a request."""

    def next_opaque(self) -> int:
        """A number for a request that no waiting one of the connection has."""


def named_account(headers: Mapping[str, str], connection: CallConnection) -> str:
    """The account that headers name, whether or not its signature is good; empty without access control.

    Guards that know no accounts, such as quotas, do not verify signatures: there any client may name any account.
    """
    return read_proof(headers, connection.remote_text).access_key or "" if connection.has_accounts else ""


class MethodKind(Enum):
    """How a method answers."""

    UNARY = auto()
    STREAM = auto()
    WATCH = auto()
    """A stream that stays open."""


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """One method of the protocol.

    Attributes:
        read: Parses the request; raises `DecodeError`.
        response: Makes the response that contains only why the call failed, from its `status`.
        carry_out: Called with the call and the request; gives the generator, or the response if it needs none.
        kind: How it answers.
        anonymous: Whether it is carried out for clients without a client id, too.
        last: Makes what its stream ends with, also when the call failed; None: nothing.
    """

    read: Callable[[bytes], Any]
    response: type[Message]
    carry_out: Callable[[Call, Any], Operation[Any] | Response]
    kind: MethodKind = MethodKind.UNARY
    anonymous: bool = False
    last: Callable[[], Message] | None = None


class Call:
    """One call, and the peer of the requests that it is translated into: it is closed when the call is over.

    Attributes:
        stream: Its HTTP/2 stream.
        method: What is called.
        headers: What the client sends beside the request.
        connection: Its connection.
        done: Called with the response or the error, instead of answering with it.
        remote_text: The client's ``host:port``.
        born_host: The client's address as records hold it.
        size: Bytes of its request, which count as in flight until it is answered.
        requests: Those that it was last translated into.
        undo: Called if the client cancels the call, or disconnects, before the whole response has been sent.
    """

    __slots__ = (
        "_missing",
        "_proof",
        "_replies",
        "_steps",
        "born_host",
        "closed",
        "connection",
        "done",
        "headers",
        "method",
        "remote_text",
        "requests",
        "size",
        "stream",
        "undo",
    )

    def __init__(
        self,
        connection: CallConnection,
        stream: int,
        method: GrpcMethod,
        headers: Mapping[str, str],
        done: Callable[[Any], None] | None = None,
    ) -> None:
        self.connection = connection
        self.stream = stream
        self.method = method
        self.headers = headers
        self.remote_text = connection.remote_text
        self.born_host = connection.born_host
        self.done = done
        self.size = 0
        self.closed = False
        self.requests: Sequence[Request[Any]] = ()
        self.undo: Callable[[], Sequence[Request[Any]]] | None = None
        self._proof: CallSignature | None = None
        self._steps: Operation[Any]
        self._replies: list[Reply] = []
        self._missing = 0

    @property
    def proof(self) -> CallSignature:
        """The caller's signature."""
        if self._proof is None:
            self._proof = read_proof(self.headers, self.remote_text)
        return self._proof

    @property
    def client_id(self) -> str:
        """The client, whatever connection it uses; empty if it names none."""
        return self.headers.get(CLIENT_ID, "")

    @property
    def account(self) -> str:
        """The account in whose name it comes; empty: none, or there is no access control."""
        return named_account(self.headers, self.connection) if self.connection.has_accounts else ""

    def request(
        self,
        code: int,
        fields: WireHeader | BatchAckMessageRequestBody | None,
        body: bytes | memoryview = _NO_BODY,
        *,
        broker: str | None = None,
        peer: Peer | None = None,
        language: str = "JAVA",
        version: int = 0,
    ) -> Request[Any]:
        """A request of a broker; `peer` gets its reply if a service holds it, and is the call unless it is given."""
        return Request(
            peer=self if peer is None else peer,
            header=Header(code=code, opaque=self.connection.next_opaque(), language=language, version=version),
            serialize_type=NOT_A_FRAME,
            body=memoryview(body) if body.__class__ is bytes else body,  # type: ignore[arg-type]
            fields=fields,
            call_signature=self.proof if self.connection.guarded else None,
            broker=broker,
        )

    def begin(self, steps: Operation[Any]) -> Sequence[Request[Any]]:
        """Take the first step; the requests to be served.

        Raises:
            StopIteration: the response, as its value.
            Exception: what the method raises.
        """
        self._steps = steps
        return self._wait_for(next(steps))

    def take_reply(self, index: int, reply: Reply) -> Sequence[Request[Any]]:
        """Take a reply to one of the last requests; if it was the last that is missing, take the next step.

        Raises:
            As `begin`.
        """
        self._replies[index] = reply
        self._missing -= 1
        if self._missing:
            return ()
        # Their peer is the call: a cycle, which the collector does not find, for it tracks no requests.
        self.requests = ()
        return self._wait_for(self._steps.send(self._replies))

    def _wait_for(self, step: Step | None) -> Sequence[Request[Any]]:
        if not isinstance(step, ServeRequests):
            raise TypeError(f"this step needs another driver: {step}")
        requests = step.requests
        self._missing = len(requests)
        self._replies = [_NO_REPLY] * self._missing
        return requests

    # --- the peer

    def push(self, code: int, ext: dict[str, str], body: bytes = b"") -> None:
        """Nothing: the server's own requests go to the client's telemetry stream."""

    def call(self, code: int, ext: dict[str, str], body: bytes, *, seconds: float, done: OnClientAnswer) -> None:
        """Give no answer: as `push`."""
        del code, ext, body, seconds
        done(None)

    def reply(self, request: Request[Any], reply: Reply) -> None:
        """Take the reply to a held request."""
        self.connection.answer(request.header, request.serialize_type, reply)

    def flush(self) -> None:
        """Send what is written."""
        self.connection.flush()

    def keep(self, size: int) -> None:
        """Nothing is kept for a call."""

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""
        self.connection.limited(error)

    @property
    def congested(self) -> bool:
        """Whether answers pile up because the other end does not read."""
        return self.connection.congested


_NO_REPLY: Final = Reply()
