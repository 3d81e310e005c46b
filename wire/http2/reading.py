"""Requests: the data of calls becomes events, as far as the intake lets it in."""

from __future__ import annotations

from rocketwire.wire.http2 import events as happened
from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.answers import Answers
from rocketwire.wire.http2.call import Call
from rocketwire.wire.http2.events import PROTOCOL_ERROR, Event
from rocketwire.wire.http2.intake import Intake
from rocketwire.wire.http2.messages import PREFIX, CallRefused, MessageReader, MessageTooLong


class Reading:
    """Reads the requests of one connection; the arguments are those of `Http2`.

    Attributes:
        events: What happened in the read that is being served.
        intake: How much of unfinished requests is taken in.
    """

    __slots__ = ("_answers", "_give_back_at", "events", "intake")

    def __init__(self, answers: Answers, *, window: int, stream_window: int) -> None:
        """Refusals are answered by `answers`."""
        self._answers = answers
        self._give_back_at = stream_window // 2
        self.events: list[Event] = []
        self.intake: Intake[Call] = Intake(window, stream_window)

    def whole(self, call: Call, data: bytes) -> bool:
        """Take a request that is one whole message, as most are; False: it is another, and `data` and `end` take it."""
        if call.reader is not None or call.streaming or len(data) < PREFIX.size:
            return False
        flag, length = PREFIX.unpack_from(data)
        if flag or length != len(data) - PREFIX.size or length > call.longest:
            return False
        self.events.append((happened.CALL, call.stream, call.path, call.fields, data[PREFIX.size :]))
        return True

    def data(self, call: Call, data: bytes, *, padding: int) -> None:
        """Take data of a call that is not answered."""
        call.owed += padding
        reader = call.reader
        if reader is None:
            reader = call.reader = MessageReader(call.longest)
        try:
            self._read(call, reader, data)
        except CallRefused as refused:
            self._refuse(call, refused)
            return
        self.intake.set_held(call, reader.held)
        while (last := self.intake.request_to_refuse()) is not None:
            self._refuse(last, CallRefused(happened.RESOURCE_EXHAUSTED, "too many unfinished requests"))
        self._let_in()

    def _read(self, call: Call, reader: MessageReader, data: bytes) -> None:
        reader.add(data)
        while reader.has_message and call.streaming:
            size = reader.size
            self.events.append((happened.MESSAGE, call.stream, reader.take_message()))
            call.owed += size - call.granted
            self.intake.release_grant(call)
            reader.read_prefix()
        if reader.held > reader.size > 0 and not call.streaming:
            raise CallRefused(happened.INTERNAL, "the request has more than one message")
        if reader.size and not reader.has_message:
            self.intake.request_room(call, reader.size)
        if call.owed >= self._give_back_at:
            self._widen(call, call.owed)
            call.owed = 0

    def end(self, call: Call) -> None:
        """The client has ended a call that is not answered."""
        reader = call.reader or MessageReader(call.longest)
        try:
            if call.streaming:
                reader.check_end()
                self.events.append((happened.ENDED, call.stream))
            else:
                self.events.append((happened.CALL, call.stream, call.path, call.fields, reader.take_only_message()))
        except CallRefused as refused:
            self._refuse(call, refused)
        else:
            self.drop(call)

    def drop(self, call: Call, *, lets_in: bool = True) -> None:
        """A request is over."""
        if call.reader is not None:  # else the intake does not know of it
            self.intake.forget(call)
            if lets_in:
                self._let_in()

    def _refuse(self, call: Call, refused: CallRefused) -> None:
        """Answer a call that cannot be read any further."""
        if isinstance(refused, MessageTooLong):
            self.events.append((happened.TOO_LONG, call.stream, refused.length))
        if call.streaming:
            self.events.append((happened.RESET, call.stream, PROTOCOL_ERROR))
        self.drop(call)
        self._answers.finish(call, refused.status, str(refused))

    def _let_in(self) -> None:
        for call in self.intake.admit_waiting():
            self._widen(call, call.granted)

    def _widen(self, call: Call, more: int) -> None:
        call.room += more
        self._answers.out += f.window_update(call.stream, more)
