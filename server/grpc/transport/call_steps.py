"""How the calls of one connection are carried out: each is translated into requests, a step at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import GeneratorType
from typing import Any, Final

from google.protobuf.message import DecodeError, Message

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.grpc.calls import Call, CallConnection, GrpcMethod, MethodKind
from rocketwire.server.grpc.transport.context import GrpcContext
from rocketwire.server.grpc.transport.pending_requests import PendingRequests
from rocketwire.server.grpc.transport.request_bounds import RequestMalformed
from rocketwire.server.grpc.transport.unanswered_calls import UnansweredCalls
from rocketwire.wire.grpc.checks import check_client_id
from rocketwire.wire.grpc.codes import GrpcStatus

_STREAMED_COUNTS: Final = 16
"""As so many calls one counts that is answered with a stream: each may get 256 KiB of messages, or one of 4 MiB.
The answers of all that are served together are made before it is known whether the client reads them."""
_NO_METHOD: Final = GrpcMethod(bytes, Message, lambda *_: iter(()))  # type: ignore[arg-type]


class CallSteps:
    """Begins calls and continues them as replies come.

    Args:
        connection: The connection of the calls.
        context: What all connections share.
        answers: Answers the calls.
        serve: Has requests served.

    Attributes:
        pending: The requests that wait for their replies.
    """

    __slots__ = ("_answers", "_connection", "_context", "_serve", "pending")

    def __init__(
        self,
        connection: CallConnection,
        context: GrpcContext,
        answers: UnansweredCalls,
        serve: Callable[[Sequence[Request[Any]]], None],
    ) -> None:
        self._connection = connection
        self._context = context
        self._answers = answers
        self._serve = serve
        self.pending = PendingRequests()

    def begin(self, stream: int, path: str, headers: Mapping[str, str], payload: bytes | Exception) -> int:
        """Begin a call, whose request is an error if it is refused; return how many calls it counts as.

        The account is checked before the request is read: reading it may cost the most.
        """
        method = self._context.methods.get(path)
        call = Call(self._connection, stream, _NO_METHOD if method is None else method, headers)
        self._answers.add(call)
        if method is None:
            self._answers.finish(call, GrpcStatus.UNIMPLEMENTED, f"unknown method {path}")
            return 1
        try:
            if not method.anonymous:
                self._context.identify_caller(path, headers, call.remote_text)
                check_client_id(call.client_id)
            made = method.carry_out(call, method.read(self._accepted(call, payload)))
        except (DecodeError, RequestMalformed) as error:
            self._answers.finish(call, GrpcStatus.INTERNAL, f"the request cannot be parsed: {error}")
        except Exception as error:  # noqa: BLE001 - an unforeseen one is logged; it must not take the connection
            self._answers.refuse(call, error)
        else:
            if isinstance(made, GeneratorType):
                self._go_on(call, lambda: call.begin(made))
            else:
                self._answers.respond(call, made)  # type: ignore[arg-type] # all `Operation[Any]` are generators
        return _STREAMED_COUNTS if method.kind is MethodKind.STREAM else 1

    def _accepted(self, call: Call, payload: bytes | Exception) -> bytes:
        if isinstance(payload, Exception):
            raise payload
        self._answers.count_request(call, len(payload))
        return payload

    def carry_out(
        self,
        stream: int,
        headers: Mapping[str, str],
        method: Callable[[Call], Operation[Any]],
        done: Callable[[Any], None],
    ) -> None:
        """Carry out the request in a message of a stream; `done` gets the result, or the error."""
        call = Call(self._connection, stream, _NO_METHOD, headers, done)
        self._go_on(call, lambda: call.begin(method(call)))

    def reply(self, opaque: int, reply: Reply) -> None:
        """Take the reply to a request; those of requests that no call waits for are dropped."""
        found = self.pending.take_call(opaque, reply)
        if found is not None:
            call, index = found
            self._go_on(call, lambda: call.take_reply(index, reply))

    def cancel(self, call: Call, serve: Callable[[Sequence[Request[Any]]], int]) -> None:
        """Drop the requests of a call that wait, and give back what it took; `serve` returns how many it served."""
        self._context.peer_closed(call)
        undo, call.undo = call.undo, None
        requests = [] if undo is None else undo()
        while requests:  # however much waits for the client: these are not answered to it
            requests = requests[serve(requests) :]
        self.pending.forget_later(call)

    def _go_on(self, call: Call, step: Callable[[], Sequence[Request[Any]]]) -> None:
        try:
            requests = step()
        except StopIteration as end:
            self._answers.respond(call, end.value)
        except Exception as error:  # noqa: BLE001 - as in `begin`
            self._answers.refuse(call, error)
        else:
            if requests:
                self.pending.add(call, requests)
                self._serve(requests)
