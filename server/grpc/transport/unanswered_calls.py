"""The calls of one HTTP/2 connection that are not answered yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

from google.protobuf.message import Message

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.grpc.calls import Call, EncodedPayloads, MethodKind, Response
from rocketwire.server.grpc.statuses import status_of_error
from rocketwire.server.grpc.transport.answer_output import AnswerOutput
from rocketwire.server.limits.limits import UNREAD_ANSWERS_KEY
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.wire.grpc.codes import GrpcStatus

_KEPT_EACH: Final = 512
"""Bytes that a call keeps until it is answered, beside what it holds of the request."""


class UnansweredCalls:
    """The calls that are not answered yet, by stream: each is answered, refused or cancelled, once.

    Args:
        output: Sends the answers.
        cancel: Gets calls that ended before their answers were sent: what they took is to be given back.
        count_refusal: Called with each limit that refused a call.
    """

    __slots__ = ("_calls", "_cancel", "_count_refusal", "_held", "_output")

    def __init__(
        self,
        output: AnswerOutput,
        *,
        cancel: Callable[[Call], None],
        count_refusal: Callable[[LimitExceeded], None],
    ) -> None:
        self._output = output
        self._cancel = cancel
        self._count_refusal = count_refusal
        self._calls: dict[int, Call] = {}
        self._held = 0  # bytes of their requests

    @property
    def kept(self) -> int:
        """Bytes that the calls keep until they are answered, and those whose requests are unfinished."""
        return self._held + _KEPT_EACH * max(len(self._calls), self._output.http2.streams)

    def add(self, call: Call) -> None:
        """Take a call that begins."""
        self._calls[call.stream] = call

    def count_request(self, call: Call, size: int) -> None:
        """Count the bytes of a call's request until it is answered."""
        call.size = size
        self._held += size

    def take_all(self) -> list[Call]:
        """Take out all calls: their connection is closed."""
        calls, self._calls, self._held = list(self._calls.values()), {}, 0
        return calls

    def _take_out(self, stream: int) -> Call | None:
        call = self._calls.pop(stream, None)
        if call is not None:
            self._held -= call.size
        return call

    def cancel(self, stream: int) -> None:
        """Cancel the call of a stream, if its answer has not been sent."""
        call = self._take_out(stream) or self._output.take_watched(stream)
        if call is not None:
            self._cancel(call)

    def respond(self, call: Call, response: Response) -> None:
        """Answer a call, unless it is over."""
        if call.done is not None:
            call.done(response)
            return
        stream, http2 = call.stream, self._output.http2
        if call.closed or self._take_out(stream) is None:
            if call.undo is not None:
                self._cancel(call)
            return
        kind = call.method.kind
        if kind is MethodKind.UNARY:
            http2.unary(stream, _encoded(response))  # type: ignore[arg-type]
            call.closed = True
            return
        if kind is MethodKind.STREAM and call.undo is not None and self._output.waits:
            self._withhold(call)
            return
        messages = cast("Sequence[Message | bytes]", response)
        payloads: list[bytes] = (
            response if isinstance(response, EncodedPayloads) else [_encoded(each) for each in messages]
        )
        if kind is MethodKind.STREAM:
            self.answer_stream(call, payloads)
            return
        for payload in payloads:
            http2.message(stream, payload)

    def answer_stream(self, call: Call, payloads: list[bytes]) -> None:
        """Answer a call with all messages of its stream; if they do not go out, it is undone."""
        self._output.http2.answer(call.stream, payloads)
        call.closed = True
        if call.undo is not None:
            self._output.watch(call)

    def _withhold(self, call: Call) -> None:
        """Give back what a call got, and refuse it: its client does not read what waits for it already.

        It began before that was so, and what it wanted came from another broker.
        """
        error = LimitExceeded(UNREAD_ANSWERS_KEY, HIGH_WATER)
        self._count_refusal(error)
        self._cancel(call)
        self._output.http2.answer(call.stream, [_encoded(call.method.response(status=status_of_error(error)))])

    def refuse(self, call: Call, error: Exception) -> None:
        """Answer a call with the status of an error."""
        if isinstance(error, LimitExceeded):
            self._count_refusal(error)
        if call.done is not None:
            call.done(error)
            return
        status, method = status_of_error(error), call.method
        if method.anonymous:  # its response has no status of RocketMQ
            exhausted = isinstance(error, LimitExceeded)
            self.finish(call, GrpcStatus.RESOURCE_EXHAUSTED if exhausted else GrpcStatus.INTERNAL, status.message)
            return
        response = method.response(status=status)
        last = [] if method.last is None else [method.last()]
        self.respond(call, response if method.kind is MethodKind.UNARY else [response, *last])

    def finish(self, call: Call, status: GrpcStatus, text: str) -> None:
        """Answer a call with a status of gRPC alone."""
        self._take_out(call.stream)
        self._output.http2.finish(call.stream, status, text)


def _encoded(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
