"""From a frame to its handler and from what the handler did to an answer.

No request goes unanswered unless it is one-way: what a handler raises becomes the response code of
`server.errors`, an unknown code REQUEST_CODE_NOT_SUPPORTED.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from rocketwire.server.errors import RequestUnsupported, ServerError, response_code
from rocketwire.server.guard import Guard
from rocketwire.server.guard_errors import LimitExceeded
from rocketwire.server.handlers.route import Route
from rocketwire.server.hot_paths import HotPath
from rocketwire.server.metrics import UNSERVED, Metrics
from rocketwire.server.request import Reply, Request
from rocketwire.server.session import Session
from rocketwire.store.errors import StoreError
from rocketwire.wire.codes import FLAG_RESPONSE
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import WireError
from rocketwire.wire.header import Header, decode_header
from rocketwire.wire.headers import decode_ext

log = logging.getLogger(__name__)

LONGEST_SECONDS: Final = 0.002
"""How long one connection's requests are served before others have their turn."""
_LOOKS_AT_CLOCK: Final = 4  # once in so many requests


class FrameDispatcher:
    """Serves the frames of one listener's sessions.

    Attributes:
        now: Tells in seconds how long serving takes.
        settle: Called when the answers of a read are on their way.
    """

    def __init__(
        self,
        services: object,
        families: Mapping[str, tuple[Route, ...]],
        *,
        metrics: Metrics,
        hot_path: HotPath | None = None,
        after_answers: Callable[[], None] = lambda: None,
        guards: Iterable[Guard] = (),
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Make one of a listener, or of several.

        Args:
            services: What the handlers work with.
            families: The handlers.
            metrics: Counts requests.
            hot_path: Offered each frame first.
            after_answers: Called when the answers of a read are on their way.
            guards: Asked about each request while they are active.
            now: Tells in seconds how long serving takes; without it, that does not matter.
        """
        self.now = now
        self._services = services
        self._routes = {int(route.code): route for routes in families.values() for route in routes}
        self._metrics = metrics
        self._guards = tuple(guards)
        self.settle = after_answers
        self._hot_path = hot_path

    @property
    def guarded(self) -> bool:
        """Whether requests are to come here one by one now, as a guard is active."""
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
                if not handled % _LOOKS_AT_CLOCK and self.now() > until:
                    session.let_others()
                if session.pauses:
                    break
            if hot_path is not None:
                hot_path.finish()
        except BaseException:
            if hot_path is not None:  # its group points into the read buffer, which the next read fills anew
                hot_path.discard()
            raise
        return handled

    def _active_guards(self) -> tuple[Guard, ...]:
        return tuple([guard for guard in self._guards if guard.active])

    def _admitted(self, session: Session, frame: RawFrame, guards: tuple[Guard, ...]) -> bool:
        """Whether all guards let a frame pass; a request that one refuses is answered."""
        header = decode_header(frame.header, frame.serialize_type)
        if header.flag & FLAG_RESPONSE:
            return True
        try:
            for guard in guards:
                guard.admit(session, header, frame.body)
        except (ServerError, StoreError, WireError) as error:
            reply = Reply(code=response_code(error), remark=str(error))
        except Exception as error:  # what cannot be decided is refused
            log.exception("request %d from %s", header.code, session.remote_text, extra=session.who(header.code))
            reply = Reply(code=response_code(error), remark=type(error).__name__)
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
        """Handle one frame without a short way: what is answered goes through `Session.answer`.

        Raises:
            FrameError: its header cannot be read.
        """
        guards = self._guards and self._active_guards()
        if not guards or self._admitted(session, frame, guards):
            self._serve_one(session, frame)

    def _serve_one(self, session: Session, frame: RawFrame) -> None:
        header = decode_header(frame.header, frame.serialize_type)
        if header.flag & FLAG_RESPONSE:
            session.answered(header, frame.body)
            return
        self._count(header.code)
        try:
            reply = self._handle(session, header, frame)
        except (ServerError, StoreError, WireError) as error:
            if isinstance(error, LimitExceeded):
                session.limited(error)
            reply = Reply(code=response_code(error), remark=str(error), ext=self.empty_fields(header.code))
        except Exception as error:  # a handler's bug must not take the connection, nor the request's answer
            log.exception("request %d from %s", header.code, session.remote_text, extra=session.who(header.code))
            remark = f"{type(error).__name__}: {error}"
            reply = Reply(code=response_code(error), remark=remark, ext=self.empty_fields(header.code))
        if reply is not None:
            session.answer(header, frame.serialize_type, reply)

    def empty_fields(self, code: int) -> dict[str, str] | None:
        """What stands for the response header of a refused request: Apache writes it without fields."""
        route = self._routes.get(code)
        return None if route is None or route.response is None else {}

    def _handle(self, session: Session, header: Header, frame: RawFrame) -> Reply | None:
        route = self._routes.get(header.code)
        if route is None:
            raise RequestUnsupported(header.code)
        fields = None if route.header is None else decode_ext(route.header, header.ext, short=route.short)
        request: Request[Any] = Request(
            peer=session, header=header, serialize_type=frame.serialize_type, body=frame.body, fields=fields
        )
        return route.handler(self._services, request)
