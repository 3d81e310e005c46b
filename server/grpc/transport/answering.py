"""What becomes of the calls of one HTTP/2 connection: each is answered, refused or cancelled, once."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from typing import cast

import trio
from google.protobuf.message import Message

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.grpc.calls import Call, EncodedPayloads, MethodKind, Response
from rocketwire.server.grpc.statuses import status_of_error
from rocketwire.server.grpc.transport.context import GrpcContext
from rocketwire.server.grpc.transport.pending_requests import PendingRequests
from rocketwire.server.grpc.transport.writing import Writing
from rocketwire.server.limits.limits import UNREAD_ANSWERS_KEY
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.wire.grpc.codes import GrpcStatus

log = logging.getLogger(__name__)


class Answering(Writing):
    """The answering part of a gRPC connection, see `connection`."""

    __slots__ = ("_asked", "_serving")

    def __init__(
        self, sock: socket.socket, remote: tuple[str, int], serving: GrpcContext, *, nursery: trio.Nursery
    ) -> None:
        super().__init__(sock, remote, serving.http2(), nursery=nursery, in_flight=serving.in_flight)
        self._serving = serving
        self._asked = PendingRequests()

    def answer_unary_calls(self, answers: list[tuple[int, bytes]]) -> None:
        """Answer plain calls, each by its stream; `flush` sends that. Nothing happens to those that are over."""
        if not self._closed:
            self._http2.unary_each(answers)

    def answer_stream(self, call: Call, payloads: list[bytes]) -> None:
        """Answer a call with all messages of its stream; `flush` sends them, and if they do not go out, undoes it."""
        self._http2.answer(call.stream, payloads)
        call.closed = True
        if call.undo is not None:
            self._returns[call.stream] = call

    def _take_out(self, stream: int) -> Call | None:
        """Take a call out of those that are not answered; None: it is not among them."""
        call = self._calls.pop(stream, None)
        if call is not None:
            self._held -= call.size
        return call

    def _respond(self, call: Call, response: Response) -> None:
        """Write the response of a call, unless that is over."""
        if call.done is not None:
            call.done(response)
            return
        stream = call.stream
        if call.closed or self._take_out(stream) is None:
            if call.undo is not None:
                self._cancel(call)
            return
        kind = call.method.kind
        if kind is MethodKind.UNARY:
            self._http2.unary(stream, _written(response))  # type: ignore[arg-type]
            call.closed = True
            return
        if kind is MethodKind.STREAM and call.undo is not None and self._waits:
            self._withhold(call)
            return
        messages = cast("Sequence[Message | bytes]", response)
        payloads: list[bytes] = (
            response if isinstance(response, EncodedPayloads) else [_written(each) for each in messages]
        )
        if kind is MethodKind.STREAM:
            self.answer_stream(call, payloads)
            return
        for payload in payloads:
            self._http2.message(stream, payload)

    def _withhold(self, call: Call) -> None:
        """Give back what a call got, and refuse it: its client does not read what waits for it already.

        It was begun before that was so, and what it asked for was far away.
        """
        error = LimitExceeded(UNREAD_ANSWERS_KEY, HIGH_WATER)
        self.limited(error)
        self._cancel(call)
        self._http2.answer(call.stream, [_written(call.method.response(status=status_of_error(error)))])

    def _refuse(self, call: Call, error: Exception) -> None:
        if isinstance(error, LimitExceeded):
            self.limited(error)
        if call.done is not None:
            call.done(error)
            return
        told, method = status_of_error(error), call.method
        if method.anonymous:  # its response has no status of RocketMQ
            self._take_out(call.stream)
            exhausted = isinstance(error, LimitExceeded)
            status = GrpcStatus.RESOURCE_EXHAUSTED if exhausted else GrpcStatus.INTERNAL
            self._http2.finish(call.stream, status, told.message)
            return
        response = method.response(status=told)
        last = [] if method.last is None else [method.last()]
        self._respond(call, response if method.kind is MethodKind.UNARY else [response, *last])

    def _cancel(self, call: Call | None) -> None:
        if call is None:
            return
        call.closed = True
        self._serving.cancelling.add(self, call)

    def cancel_now(self, call: Call) -> None:
        """Drop the requests of a call that wait, and give back what it took: see `Connection`."""

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""
        self.in_flight.limits.count_refusal(error.key, self.remote_text)

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it, which must not end the others."""
        log.error("closing %(peer)s", {"peer": self.remote_text}, exc_info=error)
        self.close()


def _written(message: Message | bytes) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
