"""A dispatcher in front of the real one, where faults are allowed: it carries out what rules strike requests with.

While no rule is in force, it hands whole reads on. Else it hands on frames one by one, so that each is struck or
handled in its turn. A struck request takes the general way; what strikes its answer sees the answer as the bytes of a
frame, whenever it comes (see `Session.divert`): those of held pulls, and those that wait for the disk, as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Reply
from rocketwire.server.dispatch.dispatcher import LONGEST_SECONDS, FrameDispatcher
from rocketwire.server.net.session import Session
from rocketwire.server.operations.faults.held import Held
from rocketwire.server.operations.faults.rule import (
    UNDELAYED,
    Action,
    AnswerWith,
    Corrupt,
    Delay,
    Disconnect,
    Drop,
    Duplicate,
    ListenerName,
    Part,
    Rule,
)
from rocketwire.server.operations.faults.rules import FaultRules
from rocketwire.server.operations.faults.spoiling import spoiled
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.errors import FrameError
from rocketwire.wire.header import Header, decode_header

_REMARK: Final = "a fault rule of this endpoint says so"


class Faults:
    """What both listeners share.

    Attributes:
        rules: Those in force.
        held: What is delayed; its `run` is a task.
        choose: Gives a number by chance: one below its argument, each as likely.
    """

    def __init__(self, rules: Sequence[Rule], *, choose: Callable[[int], int], metrics: Metrics) -> None:
        self.rules = FaultRules(rules, choose=choose, metrics=metrics)
        self.held = Held()
        self.choose = choose
        self._metrics = metrics

    def in_front(
        self, dispatcher: FrameDispatcher, on_close: Callable[[Session], None], listener: str
    ) -> tuple[FrameDispatcher | FaultyDispatcher, Callable[[Session], None]]:
        """What serves the sessions of the listener of that name, and what is told of those that close."""

        def closed(session: Session) -> None:
            self.held.peer_closed(session)
            on_close(session)

        return FaultyDispatcher(dispatcher, self, ListenerName(listener)), closed

    def delay(self, session: Session, action: Delay, size: int, carry_out: Callable[[], None]) -> None:
        """Carry something out later, or at once where too much waits already."""
        ms = action.shortest + self.choose(action.longest - action.shortest + 1)
        if not self.held.hold(session, ms / 1000, size, carry_out):
            self._metrics.faults[UNDELAYED] += 1
            carry_out()


class FaultyDispatcher:
    """Strikes the requests of one listener, and serves the others by the dispatcher behind it."""

    def __init__(self, behind: FrameDispatcher, faults: Faults, listener: ListenerName) -> None:
        self._behind = behind
        self._faults = faults
        self._listener = listener
        self.settle = behind.settle

    @property
    def guarded(self) -> bool:
        """Whether requests are to come here one by one now."""
        return self._faults.rules.active or self._behind.guarded

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Handle or strike frames in order; return how many, before the session paused or was closed.

        Others have their turn when this takes long, as with the dispatcher behind.

        Raises:
            FrameError: a frame's header cannot be read; those before it were handled.
        """
        if not self._faults.rules.active:
            return self._behind.serve(session, frames)
        now = self._behind.now
        until = now() + LONGEST_SECONDS
        for handled, frame in enumerate(frames, 1):
            self._serve_one(session, frame)
            if now() > until:
                session.let_others()
            if session.pauses or session.closed:
                return handled
        return len(frames)

    def _serve_one(self, session: Session, frame: RawFrame) -> None:
        try:
            header = decode_header(frame.header, frame.serialize_type)
        except FrameError:
            action = None  # the dispatcher behind ends the connection
        else:
            action = None if header.flag & FLAG_RESPONSE else self._strike(session, header, frame)
        if action is None:
            self._behind.serve(session, [frame])
        elif isinstance(action, AnswerWith):
            remark = _REMARK if action.remark is None else action.remark
            reply = Reply(code=action.code, remark=remark, ext=self._behind.empty_fields(header.code))
            session.answer(header, frame.serialize_type, reply)
        elif isinstance(action, Corrupt) or action.part is Part.ANSWER:
            self._strike_answer(session, header, frame, action)
        else:
            self._strike_request(session, frame, action)

    def _strike(self, session: Session, header: Header, frame: RawFrame) -> Action | None:
        # A longer body is not read for the groups in it: nor is it by who serves heartbeats, for it takes too long.
        longest = session.in_flight.limits.config.max_heartbeat_bytes
        return self._faults.rules.strike(self._listener, header, frame.body if len(frame.body) <= longest else b"")

    def _strike_request(self, session: Session, frame: RawFrame, action: Delay | Drop | Disconnect | Duplicate) -> None:
        behind = self._behind
        match action:
            case Delay():
                copy = RawFrame(frame.serialize_type, memoryview(bytes(frame.header)), memoryview(bytes(frame.body)))

                def later() -> None:
                    behind.serve_generally(session, copy)
                    session.flush()
                    behind.settle()

                self._faults.delay(session, action, len(copy.header) + len(copy.body), later)
            case Drop():
                pass
            case Disconnect():
                _disconnect(session)
            case Duplicate():
                behind.serve_generally(session, frame)
                behind.serve_generally(session, frame)

    def _strike_answer(
        self, session: Session, header: Header, frame: RawFrame, action: Delay | Drop | Disconnect | Duplicate | Corrupt
    ) -> None:
        if not header.flag & FLAG_ONEWAY:
            session.divert(header, lambda answer: self._send(session, answer, action))
        self._behind.serve_generally(session, frame)
        if header.flag & FLAG_ONEWAY and isinstance(action, Disconnect):
            _disconnect(session)

    def ask(self, session: Session, header: Header, frame: bytes) -> None:
        """Write a request of the server's own to a session, unless a rule strikes it."""
        rules = self._faults.rules
        action = rules.strike(self._listener, header, b"", own=True) if rules.active else None
        if action is None or isinstance(action, AnswerWith):
            self._behind.ask(session, header, frame)
        elif isinstance(action, Disconnect):  # soon: who asks several clients may not lose one meanwhile
            self._faults.held.hold(session, 0, 0, session.close)
        else:
            self._send(session, frame, action)

    def _send(self, session: Session, frame: bytes, action: Delay | Drop | Disconnect | Duplicate | Corrupt) -> None:
        """Send a frame as it is struck."""
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
                session.write(spoiled(frame, action.spot, self._faults.choose))


def _disconnect(session: Session) -> None:
    """Close a connection; answers that are there go out first, as far as the socket takes them."""
    session.flush()
    session.close()
