"""A dispatcher in front of the real one, where faults are allowed: it applies the actions of matching fault rules.

While no rule is in force, it passes on whole reads. Otherwise it passes on one frame at a time, so that faults keep the
order of the requests. A fault of an answer is applied to the bytes of its frame, also when that comes late (see
`Session.intercept`): from a held pull, or after a flush to disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply, Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.dispatch.dispatcher import MAX_SERVE_SECONDS, FrameDispatcher
from rocketwire.server.faults.calls import FaultyCalls
from rocketwire.server.faults.delay_queue import DelayedConnection, DelayQueue
from rocketwire.server.faults.rule import (
    REMARK,
    UNDELAYED,
    Action,
    AnswerWith,
    Corrupt,
    Delay,
    Disconnect,
    Drop,
    Duplicate,
    FaultPart,
    ListenerName,
    Rule,
    corrupt_frame,
)
from rocketwire.server.faults.rules import FaultRules
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import FrameError
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE
from rocketwire.wire.header import Header, decode_header


class FaultInjection:
    """The fault state that both listeners share.

    Attributes:
        rules: The rules in force.
        delayed: Delayed requests and answers; its `run` is a task.
        choose: Returns a random number below its argument, uniformly.
    """

    def __init__(self, rules: Sequence[Rule], *, choose: Callable[[int], int], metrics: Metrics) -> None:
        self.rules = FaultRules(rules, choose=choose, metrics=metrics)
        self.delayed = DelayQueue()
        self.choose = choose
        self._metrics = metrics

    def wrap_dispatcher(
        self, dispatcher: FrameDispatcher, on_close: Callable[[Session], None], listener: str
    ) -> tuple[FrameDispatcher | FaultyDispatcher, Callable[[Session], None]]:
        """Wrap the dispatcher and the close callback of the listener of that name."""
        return FaultyDispatcher(dispatcher, self, ListenerName(listener)), self._closing(on_close)

    def wrap_frames(
        self, frames: FrameServer, on_close: Callable[[Session], None], listener: str
    ) -> tuple[FaultyFrames, Callable[[Session], None]]:
        """The same for what serves frames only."""
        return FaultyFrames(frames, self, ListenerName(listener)), self._closing(on_close)

    def _closing(self, on_close: Callable[[Session], None]) -> Callable[[Session], None]:
        def closed(session: Session) -> None:
            self.delayed.peer_closed(session)
            on_close(session)

        return closed

    def delay(self, connection: DelayedConnection, action: Delay, size: int, carry_out: Callable[[], None]) -> None:
        """Carry something out after the delay, or at once when the queue is full."""
        ms = action.shortest + self.choose(action.longest - action.shortest + 1)
        if not self.delayed.hold(connection, ms / 1000, size, carry_out):
            self._metrics.faults[UNDELAYED] += 1
            carry_out()


class FrameServer(Protocol):
    """A dispatcher of frames."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock that measures how long serving takes, in seconds."""

    @property
    def settle(self) -> Callable[[], None]:
        """Called when the answers of a read are sent."""

    @property
    def guarded(self) -> bool:
        """Whether fast paths must leave each request to `serve` now."""

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle frames in order; return how many were handled."""

    def send_request(self, session: Session, header: Header, frame: bytes) -> None:
        """Write one of the server's requests, with this header, to a session."""

    def empty_fields(self, code: int) -> dict[str, str] | None:
        """The response fields of a refused request."""


class FaultyFrames:
    """Applies faults to the requests of one listener; the dispatcher behind it serves the others."""

    def __init__(self, behind: FrameServer, faults: FaultInjection, listener: ListenerName) -> None:
        self._behind = behind
        self._faults = faults
        self._listener = listener
        self.settle = behind.settle

    @property
    def guarded(self) -> bool:
        """Whether fast paths must leave each request to `serve` now."""
        return self._faults.rules.active or self._behind.guarded

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle frames in order, with faults; return how many, before the session paused or was closed.

        Like the dispatcher behind, it yields to other sessions when this takes long.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """
        if not self._faults.rules.active:
            return self._behind.serve(session, frames)
        now = self._behind.now
        until = now() + MAX_SERVE_SECONDS
        for handled, frame in enumerate(frames, 1):
            self._serve_one(session, frame)
            if now() > until:
                session.request_yield()
            if session.pauses or session.closed:
                return handled
        return len(frames)

    def _serve_one(self, session: Session, frame: RawFrame) -> None:
        try:
            header = decode_header(frame.header, frame.serialize_type)
        except FrameError:
            action = None  # the dispatcher behind ends the connection
        else:
            action = None if header.flag & FLAG_RESPONSE else self._match(session, header, frame)
        if action is None:
            self._behind.serve(session, [frame])
        elif isinstance(action, AnswerWith):
            remark = REMARK if action.remark is None else action.remark
            reply = Reply(code=action.code, remark=remark, ext=self._behind.empty_fields(header.code))
            session.answer(header, frame.serialize_type, reply)
        elif isinstance(action, Corrupt) or action.part is FaultPart.ANSWER:
            self._apply_to_answer(session, header, frame, action)
        else:
            self._apply_to_request(session, frame, action)

    def _match(self, session: Session, header: Header, frame: RawFrame) -> Action | None:
        # Longer bodies are not parsed for groups: that takes too long, and the heartbeat handler refuses them too.
        longest = session.in_flight.limits.keys.current.max_heartbeat_bytes
        return self._faults.rules.match(self._listener, header, frame.body if len(frame.body) <= longest else b"")

    def _apply_to_request(
        self, session: Session, frame: RawFrame, action: Delay | Drop | Disconnect | Duplicate
    ) -> None:
        behind = self._behind
        match action:
            case Delay():
                copy = RawFrame(frame.serialize_type, memoryview(bytes(frame.header)), memoryview(bytes(frame.body)))

                def later() -> None:
                    behind.serve(session, [copy])
                    session.flush()
                    behind.settle()

                self._faults.delay(session, action, len(copy.header) + len(copy.body), later)
            case Drop():
                pass
            case Disconnect():
                _disconnect(session)
            case Duplicate():
                behind.serve(session, [frame])
                behind.serve(session, [frame])

    def _apply_to_answer(
        self, session: Session, header: Header, frame: RawFrame, action: Delay | Drop | Disconnect | Duplicate | Corrupt
    ) -> None:
        if not header.flag & FLAG_ONEWAY:
            session.intercept(header, lambda answer: self._send(session, answer, action))
        self._behind.serve(session, [frame])
        if header.flag & FLAG_ONEWAY and isinstance(action, Disconnect):
            _disconnect(session)

    def send_request(self, session: Session, header: Header, frame: bytes) -> None:
        """Write a request of the server's own to a session, with the fault of the rule that matches it."""
        rules = self._faults.rules
        action = rules.match(self._listener, header, b"", own=True) if rules.active else None
        if action is None or isinstance(action, AnswerWith):
            self._behind.send_request(session, header, frame)
        elif isinstance(action, Disconnect):  # soon, not now: the caller may be iterating over several clients
            self._faults.delayed.hold(session, 0, 0, session.close)
        else:
            self._send(session, frame, action)

    def _send(self, session: Session, frame: bytes, action: Delay | Drop | Disconnect | Duplicate | Corrupt) -> None:
        """Send a frame with a fault."""
        match action:
            case Delay():

                def later() -> None:
                    session.write(frame)
                    session.flush()

                self._faults.delay(session, action, len(frame), later)
            case Drop():
                pass
            case Disconnect():
                _disconnect(session)
            case Duplicate():
                session.write(frame, frame)
            case Corrupt():
                session.write(corrupt_frame(frame, action.spot, self._faults.choose))


class FaultyDispatcher(FaultyFrames):
    """Applies faults to gRPC calls, too."""

    def __init__(self, behind: FrameDispatcher, faults: FaultInjection, listener: ListenerName) -> None:
        super().__init__(behind, faults, listener)
        self._calls = FaultyCalls(behind, faults, listener)

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Handle requests of gRPC calls, with faults."""
        return self._calls.serve_requests(caller, requests)


def _disconnect(session: Session) -> None:
    """Close a connection, after flushing what the socket takes of pending answers."""
    session.flush()
    session.close()
