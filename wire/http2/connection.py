"""The server's side of an HTTP/2 connection on the library h2: the twin of `kernel/http2`.

h2 knows frames, streams, windows and the compression of headers. `guard` and `intake` have the bounds that it lacks,
`requests` and `messages` read what gRPC sends in it, and `answers` keeps what is queued until the client's windows
allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from h2 import events as h2_events
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
from hyperframe.frame import GoAwayFrame

from rocketwire.wire.http2 import events
from rocketwire.wire.http2.answers import CONTENT_TYPE, AnswerQueue, OpenCall
from rocketwire.wire.http2.events import NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM, Event
from rocketwire.wire.http2.guard import GOAWAY, PREFACE, FrameGuard, Http2Violation
from rocketwire.wire.http2.intake import Intake
from rocketwire.wire.http2.library import Library
from rocketwire.wire.http2.messages import CallRefused, MessageTooLong
from rocketwire.wire.http2.requests import HeadersMalformed, check_header, read_head

_MOST_WINDOW: Final = 2**31 - 1


class PythonHttp2:
    """Implements `Http2`, whose text describes the arguments."""

    def __init__(
        self,
        *,
        streaming: frozenset[str],
        max_message: int,
        max_header_list: int,
        max_streams: int,
        window: int,
        stream_window: int = events.STREAM_WINDOW,
        longest: dict[str, int] | None = None,
    ) -> None:
        longest = longest or {}
        most = max([max_message, *longest.values()])
        if not events.STREAM_WINDOW <= stream_window <= window <= _MOST_WINDOW - most - stream_window:
            raise ValueError("windows are from 65535 bytes to 2 GiB, that of a stream no larger than the connection's")
        self._streaming = streaming
        self._max_message = max_message
        self._longest = longest
        self._max_streams = max_streams
        self._give_back_at = window // 2
        self._give_stream_back_at = stream_window // 2
        self._guard = FrameGuard(max_header_list)
        self._intake: Intake[OpenCall] = Intake(window, stream_window)
        self._h2 = Library(
            max_header_list=max_header_list, max_streams=max_streams, window=window, stream_window=stream_window
        )
        self._h2.receive_data(PREFACE)  # the guard takes the client's
        self._answers = AnswerQueue(self._h2, self._guard, self._forget)
        self._calls: dict[int, OpenCall] = {}
        self._most_heads = window
        self._heads = 0  # bytes of the headers of all calls
        self._owed = 0  # bytes of the connection's window to give back
        self._out = bytearray()
        self._last: int | None = None  # the last stream to serve
        self._left = False  # whether the client has sent GOAWAY
        self._failed = False
        self._events: list[Event] = []
        self._take: dict[type[h2_events.Event], Callable[[Any], None]] = {
            h2_events.RequestReceived: self._request,
            h2_events.TrailersReceived: self._trailers,
            h2_events.DataReceived: self._data,
            h2_events.StreamEnded: self._end,
            h2_events.StreamReset: self._over,
            h2_events.WindowUpdated: self._window_updated,
            h2_events.RemoteSettingsChanged: self._settings_changed,
        }

    @property
    def waiting(self) -> int:
        """See `Http2`."""
        return self._answers.waiting

    @property
    def held(self) -> int:
        """See `Http2`."""
        return self._intake.held

    @property
    def heads(self) -> int:
        """See `Http2`."""
        return self._heads

    @property
    def streams(self) -> int:
        """See `Http2`."""
        return len(self._calls)

    def receive(self, data: bytes | bytearray | memoryview) -> list[Event]:
        """See `Http2`."""
        if self._failed:
            return []
        self._events = []
        try:
            for kind, frame in self._guard.split_frames(data):
                self._frame(kind, frame)
            self._answers.send_ends()
            self._check_left()
        except Http2Violation as violation:
            self._fail(violation.code, str(violation))
        except ProtocolError as error:
            self._h2.clear_outbound_data_buffer()  # its GOAWAY may name a later stream than one that was sent before
            self._fail(int(error.error_code), str(error))
        return self._events

    def _frame(self, kind: int, frame: bytes) -> None:
        if kind == GOAWAY:  # h2 would send no answers from now on
            self._left = True
        else:
            found = self._h2.receive_data(frame)
            answer = self._h2.data_to_send()
            if answer and not found:  # the reset of a stream that is over
                self._guard.charge_reset()
            self._out += answer
            for event in found:
                take = self._take.get(type(event))
                if take is not None:
                    take(event)
        self._check_left()

    def _check_left(self) -> None:
        if self._left and not self._calls:
            raise Http2Violation(NO_ERROR, "the client has left")

    def _fail(self, code: int, text: str) -> None:
        self._failed = True
        self._send_goaway(self._h2.highest_inbound_stream_id if self._last is None else self._last, code)
        self._events.append((events.FAILED, code, text))
        for call in list(self._calls.values()):
            self._forget(call)

    def _request(self, event: h2_events.RequestReceived) -> None:
        stream = event.stream_id
        if self._last is not None and stream > self._last:
            self._h2.reset_stream(stream, REFUSED_STREAM)
            return
        size = _size(event.headers)
        if len(self._calls) >= self._max_streams or self._heads + size > self._most_heads:
            self._h2.reset_stream(stream, REFUSED_STREAM)
            self._guard.charge_reset()
            return
        try:
            head = read_head(event.headers)
        except HeadersMalformed:
            self._h2.reset_stream(stream, PROTOCOL_ERROR)
            self._guard.charge_reset()
            return
        streaming = head.path in self._streaming
        most = self._longest.get(head.path, self._max_message)
        call = self._calls[stream] = OpenCall(stream, head, streaming=streaming, max_message=most)
        call.head = size
        self._heads += size
        if head.method != "POST":
            self._answers.end(call, ((":status", "405"), ("allow", "POST")))
        elif not head.fields.get("content-type", "").startswith(CONTENT_TYPE):
            self._answers.end(call, ((":status", "415"),))
        elif streaming:
            self._events.append((events.OPENED, stream, head.path, head.fields))

    def _trailers(self, event: h2_events.TrailersReceived) -> None:
        try:
            for name, value in event.headers:
                check_header(name, value)
        except HeadersMalformed:
            self._h2.reset_stream(event.stream_id, PROTOCOL_ERROR)
            self._broken(self._calls[event.stream_id], PROTOCOL_ERROR)

    def _data(self, event: h2_events.DataReceived) -> None:
        length = event.flow_controlled_length
        self._owed += length
        if self._owed >= self._give_back_at:
            self._h2.increment_flow_control_window(self._owed)
            self._owed = 0
        call = self._calls[event.stream_id]
        if call.trailers is not None:  # answered, and its client does not know yet
            return
        call.owed += length - len(event.data)
        try:
            self._read(call, event.data)
        except CallRefused as refused:
            self._refuse(call, refused)
            return
        self._intake.set_held(call, call.reader.held)
        while (last := self._intake.request_to_refuse()) is not None:
            self._refuse(
                self._calls[last.stream], CallRefused(events.RESOURCE_EXHAUSTED, "too many unfinished requests")
            )
        self._let_in()

    def _read(self, call: OpenCall, data: bytes) -> None:
        reader = call.reader
        reader.add(data)
        while reader.has_message and call.streaming:
            size = reader.size
            self._events.append((events.MESSAGE, call.stream, reader.take_message()))
            call.owed += size - call.granted
            self._intake.release_grant(call)
            reader.read_prefix()
        if reader.held > reader.size > 0 and not call.streaming:
            raise CallRefused(events.INTERNAL, "the request has more than one message")
        if reader.size and not reader.has_message:
            self._intake.request_room(call, reader.size)
        if call.owed >= self._give_stream_back_at:
            self._h2.increment_flow_control_window(call.owed, call.stream)
            call.owed = 0

    def _let_in(self) -> None:
        for request in self._intake.admit_waiting():
            self._h2.increment_flow_control_window(request.granted, request.stream)

    def _end(self, event: h2_events.StreamEnded) -> None:
        call = self._calls.get(event.stream_id)
        if call is None:  # reset with its headers
            return
        call.ended = True
        if call.trailers is not None:
            return
        try:
            if call.streaming:
                call.reader.check_end()
                self._events.append((events.ENDED, call.stream))
            else:
                self._events.append((events.CALL, call.stream, call.path, call.fields, call.reader.take_only_message()))
        except CallRefused as refused:
            self._refuse(call, refused)
        self._intake.forget(call)
        self._let_in()

    def _refuse(self, call: OpenCall, refused: CallRefused) -> None:
        """Answer a call that cannot be read any further."""
        if isinstance(refused, MessageTooLong):
            self._events.append((events.TOO_LONG, call.stream, refused.length))
        if call.streaming:
            self._events.append((events.RESET, call.stream, PROTOCOL_ERROR))
        self._intake.forget(call)
        self._let_in()
        self._answers.finish(call, refused.status, str(refused))

    def _over(self, event: h2_events.StreamReset) -> None:
        if not event.remote_reset:
            self._guard.charge_reset()
        call = self._calls.get(event.stream_id)
        if call is not None:
            self._broken(call, int(event.error_code or 0))

    def _broken(self, call: OpenCall, code: int) -> None:
        undelivered = call.trailers is None or bool(call.out)
        if undelivered and (call.streaming or call.ended):
            self._events.append((events.RESET, call.stream, code))
        self._forget(call)

    def _forget(self, call: OpenCall) -> None:
        del self._calls[call.stream]
        self._heads -= call.head
        self._answers.drop(call)
        self._intake.forget(call)
        if not self._failed:
            self._let_in()

    def _window_updated(self, event: h2_events.WindowUpdated) -> None:
        if event.stream_id:
            self._answers.unblock(self._calls[event.stream_id])

    def _settings_changed(self, event: h2_events.RemoteSettingsChanged) -> None:
        if SettingCodes.INITIAL_WINDOW_SIZE in event.changed_settings:
            self._answers.unblock_all()

    def _unfinished(self, stream: int) -> OpenCall | None:
        call = self._calls.get(stream)
        return None if call is None or call.trailers is not None else call

    def unary(self, stream: int, payload: bytes) -> None:
        """See `Http2`."""
        self.message(stream, payload)
        self.finish(stream, events.OK)

    def unary_each(self, answers: list[tuple[int, bytes]]) -> None:
        """See `Http2`."""
        for stream, payload in answers:
            self.unary(stream, payload)

    def answer(self, stream: int, payloads: list[bytes]) -> None:
        """See `Http2`."""
        for payload in payloads:
            self.message(stream, payload)
        self.finish(stream, events.OK)

    def message(self, stream: int, payload: bytes) -> None:
        """See `Http2`."""
        call = self._unfinished(stream)
        if call is not None:
            self._answers.message(call, payload)

    def finish(self, stream: int, status: int, text: str = "") -> None:
        """See `Http2`."""
        call = self._unfinished(stream)
        if call is not None:
            self._answers.finish(call, status, text)

    def reset(self, stream: int, code: int) -> None:
        """See `Http2`."""
        call = self._unfinished(stream)
        if call is not None:
            self._h2.reset_stream(stream, code)
            self._forget(call)

    def goaway(self, code: int = NO_ERROR) -> None:
        """See `Http2`."""
        if self._failed or self._last is not None:
            return
        self._last = self._h2.highest_inbound_stream_id  # not by h2, which sends no answers after a GOAWAY
        self._answers.send_ends()
        self._send_goaway(self._last, code)

    def _send_goaway(self, last: int, code: int) -> None:
        self._out += self._h2.data_to_send()
        self._out += GoAwayFrame(0, last_stream_id=last, error_code=code).serialize()

    def output(self, most: int) -> bytes:
        """See `Http2`."""
        if not self._failed:
            self._answers.send_ends()
        self._out += self._h2.data_to_send()
        while not self._failed and len(self._out) < most and self._answers.send_frame():
            self._out += self._h2.data_to_send()
        data = bytes(memoryview(self._out)[:most])
        del self._out[:most]
        return data


def _size(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """How many bytes headers have, as SETTINGS_MAX_HEADER_LIST_SIZE counts them."""
    return sum(len(name) + len(value) + 32 for name, value in headers)
