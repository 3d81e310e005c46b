"""Faults of gRPC calls: those of the requests that calls are translated into, by the same rules as frames.

An answer that is to be damaged, but has no bytes to damage, is a stream that the server resets. One that is to come
twice comes once: HTTP/2 has no second one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from rocketwire.server.core.request import NOT_A_FRAME, Reply, Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.faults.rule import (
    REMARK,
    Action,
    AnswerWith,
    Corrupt,
    Delay,
    Disconnect,
    Drop,
    Duplicate,
    FaultPart,
    ListenerName,
)

if TYPE_CHECKING:
    from rocketwire.server.faults.faulty import FaultInjection

_SIZE: Final = 1024
"""About so many bytes a delayed answer takes beside its body."""


class FaultyCalls:
    """Applies faults to the requests of calls; the dispatcher behind it serves the others."""

    def __init__(self, behind: FrameDispatcher, faults: FaultInjection, listener: ListenerName) -> None:
        self._behind = behind
        self._faults = faults
        self._listener = listener

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Handle requests in order, with faults; return how many, before the connection had to pause."""
        if not self._faults.rules.active:
            return self._behind.serve_requests(caller, requests)
        for handled, request in enumerate(requests, 1):
            self._serve_one(caller, request)
            if caller.pauses:
                return handled
        return len(requests)

    def _serve_one(self, caller: GrpcCaller, request: Request[Any]) -> None:
        complete = self._behind.with_extension_fields(request)
        action = self._faults.rules.match(self._listener, complete.header, request.body)
        if action is None:
            self._serve(caller, request)
        elif isinstance(action, AnswerWith):
            remark = REMARK if action.remark is None else action.remark
            caller.answer(request.header, NOT_A_FRAME, Reply(code=action.code, remark=remark))
        elif isinstance(action, Corrupt) or action.part is FaultPart.ANSWER:
            caller.intercept(request.header, lambda reply: self._answer(caller, request, reply, action))
            self._serve(caller, request)
        else:
            self._apply(caller, request, action)

    def _serve(self, caller: GrpcCaller, request: Request[Any]) -> None:
        self._behind.serve_requests(caller, [request])

    def _apply(self, caller: GrpcCaller, request: Request[Any], action: Action) -> None:
        match action:
            case Delay():
                self._later(caller, action, len(request.body), lambda: self._serve(caller, request))
            case Drop():
                pass
            case Disconnect():
                caller.close()
            case Duplicate():
                self._serve(caller, request)
                self._serve(caller, request)

    def _answer(self, caller: GrpcCaller, request: Request[Any], reply: Reply, action: Action) -> None:
        def answer() -> None:
            caller.answer(request.header, NOT_A_FRAME, reply)

        match action:
            case Delay():
                self._later(caller, action, _SIZE + sum(map(len, reply.body)), answer)
            case Drop():
                pass
            case Disconnect():
                caller.close()
            case Duplicate():
                answer()
            case Corrupt():
                caller.abort(request.header)

    def _later(self, caller: GrpcCaller, action: Delay, size: int, carry_out: Callable[[], None]) -> None:
        def later() -> None:
            carry_out()
            caller.flush()
            self._behind.settle()

        self._faults.delay(caller, action, size, later)
