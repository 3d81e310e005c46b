"""Dispatch: finds the route of a request, and has it carried out (`server.dispatch.execution`).

Requests come as remoting frames, whose headers are decoded here, or as gRPC calls, which are translated into requests
with typed header fields before. All else is the same for both. Guards decide about each request before its code is
looked up; an unknown code is answered with REQUEST_CODE_NOT_SUPPORTED.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from rocketwire.server.core.errors import RequestUnsupported, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import UNSERVED, Metrics
from rocketwire.server.core.request import Reply, Request, account_named_by
from rocketwire.server.core.route import Family, Route
from rocketwire.server.dispatch.caller import Caller, GrpcCaller
from rocketwire.server.dispatch.execution import RequestExecution
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import HeaderTooLarge
from rocketwire.wire.facts.codes import FLAG_RESPONSE
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import WireHeader, decode_ext, encode_ext

log = logging.getLogger(__name__)

MAX_SERVE_SECONDS: Final = 0.002
"""How long one connection's requests are served before other tasks run."""


CallerT = TypeVar("CallerT", bound=Caller)
ItemT = TypeVar("ItemT")


class FrameDispatcher:
    """Serves the frames of one listener's sessions.

    Attributes:
        now: The clock that measures how long serving takes, in seconds.
        settle: Called when the answers of a read are sent.
    """

    def __init__(
        self,
        families: Iterable[Family],
        *,
        metrics: Metrics,
        storing: MessageWriter | None = None,
        after_answers: Callable[[], None] = lambda: None,
        guards: Iterable[RequestGuard] = (),
        works: LongTaskScheduler | None = None,
        now: Callable[[], float] = lambda: 0.0,
        on_store_error: Callable[[Exception], object] = lambda _: None,
    ) -> None:
        """Make the dispatcher of one or more listeners.

        Args:
            families: The handlers and their services.
            metrics: Counts requests.
            storing: Stores what requests append; None: no handler appends.
            after_answers: Called when the answers of a read are sent.
            guards: Admit or refuse each request while they are active.
            works: Carries out long requests.
            now: The clock that measures how long serving takes, in seconds; by default no time passes.
            on_store_error: Called with errors of the store.
        """
        self.now = now
        every = [(route, family.services) for family in families for route in family.routes]
        self._routes = {int(route.code): (route, services) for route, services in every if not route.grpc_only}
        self._by_call = {int(route.code): (route, services) for route, services in every}
        self._metrics = metrics
        self._guards = tuple(guards)
        self.settle = after_answers
        self._execution = RequestExecution(
            self._routes, storing=storing, works=works or LongTaskScheduler(), on_store_error=on_store_error
        )

    @property
    def guarded(self) -> bool:
        """Whether fast paths must leave each request to `serve` now, because a guard is active."""
        return bool(self._guards) and any(guard.active for guard in self._guards)

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle the frames of one read in order; return how many were handled.

        Stops early when the session pauses, and when it takes long; the caller offers the rest again.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """
        return self._serve_all(session, frames, self._serve_one)

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Handle requests with typed header fields that came in one read, as `serve` handles frames."""
        return self._serve_all(caller, requests, self._serve_request)

    def _serve_all(
        self,
        caller: CallerT,
        items: Sequence[ItemT],
        serve_one: Callable[[CallerT, ItemT, tuple[RequestGuard, ...]], None],
    ) -> int:
        guards = self._guards and self._active_guards()
        handled = 0
        until = self.now() + MAX_SERVE_SECONDS
        try:
            for each in items:
                serve_one(caller, each, guards)
                handled += 1
                if self.now() > until:
                    caller.request_yield()
                if caller.pauses:
                    break
        except Exception:
            self._execution.finish_group(caller)  # what came before the frame that cannot be served
            raise
        except BaseException:
            self._execution.discard_group()
            raise
        self._execution.finish_group(caller)
        return handled

    def _active_guards(self) -> tuple[RequestGuard, ...]:
        return tuple([guard for guard in self._guards if guard.active])

    def _header(self, session: Session, frame: RawFrame) -> Header | None:
        """A frame's header; None: it was too large, and the request is answered."""
        try:
            return decode_header(frame.header, frame.serialize_type)
        except HeaderTooLarge as error:
            start = Header(code=error.code, opaque=error.opaque, flag=error.flag)
            refused = LimitExceeded(error.limit, error.most)
        session.limited(refused)
        if not start.is_response:
            self._count(start.code)
            session.answer(start, frame.serialize_type, Reply(code=response_code(refused), remark=str(refused)))
        return None

    def _admitted(self, session: Session, frame: RawFrame, guards: tuple[RequestGuard, ...]) -> Header | None:
        """The header of a frame that all guards admit; None: it is refused, and answered."""
        header = self._header(session, frame)
        if header is None or header.flag & FLAG_RESPONSE:
            return header
        request = Request(
            peer=session, header=header, serialize_type=frame.serialize_type, body=frame.body, fields=None
        )
        return header if self._admits(guards, session, request) else None

    def _admits(self, guards: tuple[RequestGuard, ...], caller: Caller, request: Request[Any]) -> bool:
        """Whether all guards admit a request, whose header has all fields; a refused one is answered."""
        header = request.header
        try:
            for guard in guards:
                guard.admit(request.peer, header, request.body, request.call_signature)
        except Exception as error:  # noqa: BLE001 - it is logged; an undecided request is refused
            reply = self._execution.refuse(caller, header, error, reveal_details=False)
        else:
            return True
        self._count(header.code)
        caller.answer(header, request.serialize_type, reply)
        return False

    def _count(self, code: int) -> None:
        self._metrics.requests[code if code in self._routes else UNSERVED] += 1

    def send_request(self, session: Session, _header: Header, frame: bytes) -> None:
        """Write one of the server's requests, with this header, to a session."""
        session.write(frame)

    def _serve_one(self, session: Session, frame: RawFrame, guards: tuple[RequestGuard, ...]) -> None:
        """Decode one request and carry it out."""
        account = ""
        if guards:
            admitted = self._admitted(session, frame, guards)
            if admitted is None:
                return
            account = account_named_by(admitted, None)
        decoded = self._decoded(session, frame)
        if decoded is None:
            return
        header, route, services, fields = decoded
        request: Request[Any] = Request(
            peer=session,
            header=header,
            serialize_type=frame.serialize_type,
            body=frame.body,
            fields=fields,
            account=account,
        )
        self._execution.carry_out(session, route, services, request)

    def _serve_request(self, caller: Caller, request: Request[Any], guards: tuple[RequestGuard, ...]) -> None:
        """Carry out one request whose header fields are typed."""
        header = request.header
        if guards:
            if not self._admits(guards, caller, self.with_extension_fields(request)):
                return
            request = replace(request, account=account_named_by(header, request.call_signature))
        known = self._by_call.get(header.code)
        self._metrics.requests[UNSERVED if known is None else header.code] += 1
        if known is None:
            unsupported = self._execution.refuse(caller, header, RequestUnsupported(header.code))
            caller.answer(header, request.serialize_type, unsupported)
            return
        route, services = known
        if not route.appends:  # it may depend on what the group stores
            self._execution.finish_group(caller)
        self._execution.carry_out(caller, route, services, request)

    def with_extension_fields(self, request: Request[Any]) -> Request[Any]:
        """A request whose header has its typed fields as extension fields, too, as a frame's would."""
        known = self._by_call.get(request.header.code)
        if known is None or request.fields is None:
            return request
        return replace(request, header=replace(request.header, ext=_ext(request.fields, known[0])))

    def _decoded(self, session: Session, frame: RawFrame) -> tuple[Header, Route, Any, Any] | None:
        """A request's header, route, services and fields. None: it is answered, or it was an answer of the client's."""
        header = self._header(session, frame)
        if header is None:
            return None
        if header.flag & FLAG_RESPONSE:
            self._execution.finish_group(session)
            more = session.match_answer(header, frame.body)
            if more is not None:
                self._execution.take_answer(session, header, len(frame.body), more)
            return None
        self._count(header.code)
        known = self._routes.get(header.code)
        if known is None:
            unsupported = self._execution.refuse(session, header, RequestUnsupported(header.code))
            session.answer(header, frame.serialize_type, unsupported)
            return None
        route, services = known
        if not route.appends:  # it may depend on what the group stores
            self._execution.finish_group(session)
        try:
            fields = None if route.header is None else decode_ext(route.header, header.ext, short=route.short)
        except Exception as error:  # noqa: BLE001 - as in `_serve_one`
            session.answer(header, frame.serialize_type, self._execution.refuse(session, header, error))
            return None
        return header, route, services, fields

    def empty_fields(self, code: int) -> dict[str, str] | None:
        """See `RequestExecution`."""
        return self._execution.empty_fields(code)


def _ext(fields: msgspec.Struct, route: Route) -> dict[str, str]:
    """The extension fields of a request with typed fields, as a frame of the route has them."""
    if isinstance(fields, WireHeader):
        return encode_ext(fields, short=route.short)
    values = msgspec.to_builtins(fields)  # the body of a batch of acks
    return {name: str(value) for name, value in values.items() if value is not None}
