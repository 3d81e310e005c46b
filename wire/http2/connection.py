"""The server's side of an HTTP/2 connection: the twin of `kernel/http2`.

`guard` cuts the bytes of a connection into frames. This module says what each of them does. `calls` has the calls that
are open, `streams` knows what is over, `reading` makes events of what comes of a request, and `answers` keeps what is
queued until the client's windows allow it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.wire.http2 import events as happened
from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.call import Call
from rocketwire.wire.http2.calls import Calls
from rocketwire.wire.http2.events import FLOW_CONTROL_ERROR, NO_ERROR, PROTOCOL_ERROR, STREAM_CLOSED, Event
from rocketwire.wire.http2.guard import FrameGuard, Http2Violation
from rocketwire.wire.http2.header_blocks import HeaderBlocks
from rocketwire.wire.http2.settings import begin, new_window
from rocketwire.wire.http2.streams import How

_PRIORITY_SIZE: Final = 5  # bytes in HEADERS


class Connection:
    """Implements `Http2`, whose text describes the arguments."""

    def __init__(
        self,
        *,
        streaming: frozenset[str],
        max_message: int,
        max_header_list: int,
        max_streams: int,
        window: int,
        stream_window: int = happened.STREAM_WINDOW,
        longest: dict[str, int] | None = None,
    ) -> None:
        longest = longest or {}
        most = max([max_message, *longest.values()])
        if not happened.STREAM_WINDOW <= stream_window <= window <= f.MOST_NUMBER - most - stream_window:
            raise ValueError("windows are from 65535 bytes to 2 GiB, that of a stream no larger than the connection's")
        self._window = window
        self._guard = FrameGuard(max_header_list)
        self._blocks = HeaderBlocks(max_header_list)
        self._calls = Calls(
            self._guard,
            streaming=streaming,
            max_message=max_message,
            longest=longest,
            max_streams=max_streams,
            window=window,
            stream_window=stream_window,
        )
        self._open = self._calls.open
        self._answers = self._calls.answers
        self._reading = self._calls.reading
        self._out = self._answers.out
        self._owed = 0  # bytes of the connection's window to give back
        self._block: tuple[int, bytes] = (0, b"")  # the flags, and what has come of a block of headers
        self._left = False  # whether the client has said that it leaves
        self._failed = False
        self._out += begin(
            max_streams=max_streams, max_header_list=max_header_list, window=window, stream_window=stream_window
        )
        self._take: dict[int, Callable[[int, int, bytes], None]] = {
            f.DATA: self._data,
            f.HEADERS: self._headers,
            f.RST_STREAM: self._reset,
            f.SETTINGS: self._settings,
            f.PING: self._ping,
            f.GOAWAY: self._goaway,
            f.WINDOW_UPDATE: self._window_update,
            f.CONTINUATION: self._continuation,
        }

    @property
    def waiting(self) -> int:
        """See `Http2`."""
        return self._answers.waiting

    @property
    def held(self) -> int:
        """See `Http2`."""
        return self._reading.intake.held

    @property
    def heads(self) -> int:
        """See `Http2`."""
        return self._calls.heads

    @property
    def streams(self) -> int:
        """See `Http2`."""
        return len(self._open)

    # --- receiving

    def receive(self, data: bytes | bytearray | memoryview) -> list[Event]:
        """See `Http2`."""
        if self._failed:
            return []
        events = self._reading.events = []
        take = self._take
        self._guard.restore_credit(self._answers.made)
        self._answers.made = 0
        try:
            for kind, flags, stream, payload in self._guard.split_frames(data):
                take[kind](flags, stream, payload)
                if self._left:
                    self._check_left()
            self._answers.send_ends()
            self._check_left()
        except Http2Violation as violation:
            self._fail(violation)
        return events

    def _check_left(self) -> None:
        if self._left and not self._open:
            raise Http2Violation(NO_ERROR, "the client has left")

    def _fail(self, violation: Http2Violation) -> None:
        self._failed = True
        calls = self._calls
        self._out += f.goaway(calls.streams.last if calls.last is None else calls.last, violation.code)
        self._reading.events.append((happened.FAILED, violation.code, str(violation)))
        for call in list(self._open.values()):
            calls.forget(call, lets_in=False)

    def _headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & (f.PADDED | f.PRIORITISED):
            payload = _without_priority(_without_padding(flags, payload), flags, stream)
        if flags & f.END_HEADERS:
            self._whole_block(flags, stream, payload)
        else:
            self._block = (flags, payload)

    def _continuation(self, flags: int, stream: int, payload: bytes) -> None:
        first, block = self._block
        if flags & f.END_HEADERS:
            self._whole_block(first, stream, block + payload)
        else:
            self._block = (first, block + payload)

    def _whole_block(self, flags: int, stream: int, block: bytes) -> None:
        run, headers, size = self._blocks.decode(block)
        ended = bool(flags & f.END_STREAM)
        call = self._open.get(stream)
        if call is None:
            call = self._calls.headers(stream, run, headers, size)
        else:
            self._calls.trailers(call, headers if run is None else run.headers + headers, ended=ended)
        if ended and call is not None and not call.over:
            self._end(call)

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        length = len(payload)
        self._owed += length
        if self._owed * 2 >= self._window:  # so it is never used up, whatever the client keeps to
            self._out += f.window_update(0, self._owed)
            self._owed = 0
        if flags & f.PADDED:
            payload = _without_padding(flags, payload)
        call = self._open.get(stream)
        if call is None:
            self._calls.late_data(stream)
        elif call.ended:
            self._calls.stream_error(call, STREAM_CLOSED)
        else:
            self._data_of(call, payload, padding=length - len(payload), ended=bool(flags & f.END_STREAM))

    def _data_of(self, call: Call, data: bytes, *, padding: int, ended: bool) -> None:
        length = len(data)
        call.room -= length + padding
        if call.room < 0:
            raise Http2Violation(FLOW_CONTROL_ERROR, f"more data than the window of stream {call.stream} allows")
        if call.expected is not None:
            call.expected -= length
            if call.expected < 0:
                raise Http2Violation(PROTOCOL_ERROR, "more data than content-length says")
        if call.trailers is None:  # else it is answered, and its client does not know yet
            if ended and not call.expected and self._reading.whole(call, data):
                call.ended = True
                return
            self._reading.data(call, data, padding=padding)
        if ended:
            self._end(call)

    def _end(self, call: Call) -> None:
        if call.expected:
            raise Http2Violation(PROTOCOL_ERROR, "less data than content-length says")
        call.ended = True
        if call.trailers is None:
            self._reading.end(call)

    def _reset(self, _flags: int, stream: int, payload: bytes) -> None:
        call = self._open.get(stream)
        if call is None:
            self._calls.require_begun(stream, "reset")
        self._calls.streams.reset(stream, How.RESET_THERE)
        if call is not None:
            self._calls.broken(call, f.number(payload))

    def _settings(self, flags: int, _stream: int, payload: bytes) -> None:
        if flags & f.ACK:
            return
        window = new_window(payload)
        if window is not None:
            calls = self._calls
            more, calls.client_window = window - calls.client_window, window
            self._answers.widen_all(self._open.values(), more)
        self._out += f.frame(f.SETTINGS, f.ACK, 0, b"")

    def _ping(self, flags: int, _stream: int, payload: bytes) -> None:
        if not flags & f.ACK:
            self._out += f.frame(f.PING, f.ACK, 0, payload)

    def _goaway(self, _flags: int, _stream: int, _payload: bytes) -> None:
        self._left = True

    def _window_update(self, _flags: int, stream: int, payload: bytes) -> None:
        more = f.number(payload) & f.MOST_NUMBER
        if not more:
            raise Http2Violation(PROTOCOL_ERROR, "a window that grows by nothing")
        if not stream:
            if not self._answers.widen(more):
                raise Http2Violation(FLOW_CONTROL_ERROR, "the window of the connection is too large")
            return
        call = self._open.get(stream)
        if call is None:
            self._calls.require_begun(stream, "the window")
        elif not self._answers.widen_call(call, more):
            self._calls.stream_error(call, FLOW_CONTROL_ERROR)

    # --- answering

    def _unfinished(self, stream: int) -> Call | None:
        call = self._open.get(stream)
        return None if call is None or call.trailers is not None else call

    def unary(self, stream: int, payload: bytes) -> None:
        """See `Http2`."""
        call = self._unfinished(stream)
        if call is not None:
            self._answers.message(call, payload)
            self._answers.finish(call, happened.OK, "")

    def unary_each(self, answers: list[tuple[int, bytes]]) -> None:
        """See `Http2`."""
        for stream, payload in answers:
            self.unary(stream, payload)

    def answer(self, stream: int, payloads: list[bytes]) -> None:
        """See `Http2`."""
        for payload in payloads:
            self.message(stream, payload)
        self.finish(stream, happened.OK)

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
            self._calls.reset(stream, code)
            self._calls.forget(call)

    def goaway(self, code: int = NO_ERROR) -> None:
        """See `Http2`."""
        calls = self._calls
        if self._failed or calls.last is not None:
            return
        calls.last = calls.streams.last
        self._answers.send_ends()
        self._out += f.goaway(calls.last, code)

    def output(self, most: int) -> bytes:
        """See `Http2`."""
        if not self._failed:
            self._answers.send_ends()
            self._answers.send_messages(most)
        data = bytes(memoryview(self._out)[:most])
        del self._out[:most]
        return data


def _without_padding(flags: int, payload: bytes) -> bytes:
    if not flags & f.PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise Http2Violation(PROTOCOL_ERROR, "padding longer than its frame")
    return payload[1 : len(payload) - payload[0]]


def _without_priority(payload: bytes, flags: int, stream: int) -> bytes:
    if not flags & f.PRIORITISED:
        return payload
    if len(payload) < _PRIORITY_SIZE:
        raise Http2Violation(happened.FRAME_SIZE_ERROR, "headers too short for their priority")
    if f.number(payload[:4]) & f.MOST_NUMBER == stream:
        raise Http2Violation(PROTOCOL_ERROR, f"stream {stream} depends on itself")
    return payload[_PRIORITY_SIZE:]
