"""Dispatch: finds the handler of a frame, and makes the answer from what the handler returns or raises.

Every request is answered unless it is one-way: an exception of the handler becomes the response code of
`server.core.errors`, an unknown code REQUEST_CODE_NOT_SUPPORTED. Long requests are carried out in steps
(`server.core.works`); the client's later requests wait until they are answered.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from rocketwire.server.core.errors import RequestUnsupported, ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.metrics import UNSERVED, Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.core.route import Family
from rocketwire.server.core.works import Paused, Steps, Work, Works
from rocketwire.server.dispatch.guard import Guard
from rocketwire.server.dispatch.hot_paths import HotPath
from rocketwire.server.net.session import Session
from rocketwire.store.errors import StoreError
from rocketwire.wire.codes import FLAG_RESPONSE
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import EntriesTooMany, HeaderTooLarge, WireError
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import decode_ext

log = logging.getLogger(__name__)

LONGEST_SECONDS: Final = 0.002
"""How long one connection's requests are served before other tasks run."""


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
        hot_path: HotPath | None = None,
        after_answers: Callable[[], None] = lambda: None,
        guards: Iterable[Guard] = (),
        works: Works | None = None,
        now: Callable[[], float] = lambda: 0.0,
        meet: Callable[[Exception], object] = lambda _: None,
    ) -> None:
        """Make the dispatcher of one or more listeners.

        Args:
            families: The handlers and their services.
            metrics: Counts requests.
            hot_path: Offered each frame first.
            after_answers: Called when the answers of a read are sent.
            guards: Admit or refuse each request while they are active.
            works: Carries out long requests.
            now: The clock that measures how long serving takes, in seconds; by default no time passes.
            meet: Called with errors of the store.
        """
        self.now = now
        self._routes = {int(route.code): (route, family.services) for family in families for route in family.routes}
        self._metrics = metrics
        self._guards = tuple(guards)
        self._works = works or Works()
        self.settle = after_answers
        self._hot_path = hot_path
        self._meet = meet

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
        hot_path = self._hot_path
        guards = self._guards and self._active_guards()
        handled = 0
        until = self.now() + LONGEST_SECONDS
        try:
            for frame in frames:
                if guards and not self._admitted(session, frame, guards):
                    pass
                elif hot_path is None:
                    self._serve_one(session, frame)
                elif not hot_path.offer(session, frame):
                    hot_path.finish()
                    self._serve_one(session, frame)
                handled += 1
                if self.now() > until:
                    session.let_others()
                if session.pauses:
                    break
            if hot_path is not None:
                hot_path.finish()
        except BaseException:
            if hot_path is not None:  # its group points into the read buffer, which the next read overwrites
                hot_path.discard()
            raise
        return handled

    def _active_guards(self) -> tuple[Guard, ...]:
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

    def _admitted(self, session: Session, frame: RawFrame, guards: tuple[Guard, ...]) -> bool:
        """Whether all guards admit a frame; a refused request is answered."""
        header = self._header(session, frame)
        if header is None:
            return False
        if header.flag & FLAG_RESPONSE:
            return True
        try:
            for guard in guards:
                guard.admit(session, header, frame.body)
        except Exception as error:  # noqa: BLE001 - it is logged; an undecided request is refused
            reply = self._refusal(session, header, error, told=False)
        else:
            return True
        self._count(header.code)
        session.answer(header, frame.serialize_type, reply)
        return False

    def _count(self, code: int) -> None:
        self._metrics.requests[code if code in self._routes else UNSERVED] += 1

    def ask(self, session: Session, _header: Header, frame: bytes) -> None:
        """Write a request of the server's own, with this header, to a session."""
        session.write(frame)

    def serve_generally(self, session: Session, frame: RawFrame) -> None:
        """Handle one frame without a fast path: the answer goes through `Session.answer`.

        Raises:
            FrameError: its header cannot be read.
        """
        guards = self._guards and self._active_guards()
        if not guards or self._admitted(session, frame, guards):
            self._serve_one(session, frame)

    def _serve_one(self, session: Session, frame: RawFrame) -> None:
        header = self._header(session, frame)
        if header is None:
            return
        if header.flag & FLAG_RESPONSE:
            more = session.answered(header, frame.body)
            if more is not None:
                self._take_answer(session, header, frame, more)
            return
        self._count(header.code)
        try:
            made = self._handle(session, header, frame)
            if made is None:
                return
            if isinstance(made, Reply):
                reply = made
            else:
                begun = self._works.begin(made)
                if isinstance(begun, Paused):
                    task = partial(self._go_on, session, header, frame.serialize_type, made, begun)
                    session.engage(task, len(frame.body))
                    return
                reply = begun
        except Exception as error:  # noqa: BLE001 - it is logged; a bug must not take the connection, nor the answer
            reply = self._refusal(session, header, error)
        session.answer(header, frame.serialize_type, reply)

    async def _go_on(self, session: Session, header: Header, serialize_type: int, work: Work, paused: Paused) -> None:
        try:
            reply = await self._works.go_on(work, paused)
        except Exception as error:  # noqa: BLE001 - as above
            reply = self._refusal(session, header, error)
        session.answer(header, serialize_type, reply)

    def _take_answer(self, session: Session, header: Header, frame: RawFrame, work: Steps[None]) -> None:
        """Finish the long work of a client's answer."""

        async def go_on(paused: Paused) -> None:
            try:
                await self._works.go_on(work, paused)
            except Exception as error:  # noqa: BLE001 - it is logged; a bug must not end the connection
                self._refusal(session, header, error)

        try:
            paused = self._works.begin(work)
        except Exception as error:  # noqa: BLE001 - as above
            self._refusal(session, header, error)
        else:
            if paused is not None:
                session.engage(partial(go_on, paused), len(frame.body))

    def _refusal(self, session: Session, header: Header, error: Exception, *, told: bool = True) -> Reply:
        """The answer with an error; with `told` it also names a bug."""
        if isinstance(error, EntriesTooMany):
            error = LimitExceeded("bodyEntries", error.most)
        if isinstance(error, LimitExceeded):
            session.limited(error)
        remark = str(error)
        if isinstance(error, ServerError | StoreError | WireError):
            self._meet(error)
        else:
            log.error(
                "request %d from %s", header.code, session.remote_text, exc_info=error, extra=session.who(header.code)
            )
            remark = f"{type(error).__name__}: {error}" if told else type(error).__name__
        return Reply(code=response_code(error), remark=remark, ext=self.empty_fields(header.code) if told else None)

    def empty_fields(self, code: int) -> dict[str, str] | None:
        """The response fields of a refused request: Apache writes the response header without fields."""
        found = self._routes.get(code)
        return None if found is None or found[0].response is None else {}

    def _handle(self, session: Session, header: Header, frame: RawFrame) -> Reply | Work | None:
        found = self._routes.get(header.code)
        if found is None:
            raise RequestUnsupported(header.code)
        route, services = found
        fields = None if route.header is None else decode_ext(route.header, header.ext, short=route.short)
        request: Request[Any] = Request(
            peer=session, header=header, serialize_type=frame.serialize_type, body=frame.body, fields=fields
        )
        return route.handler(services, request)
