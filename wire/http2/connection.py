"""The server's side of an HTTP/2 connection: the twin of `kernel/http2`.

`guard` cuts the bytes of a connection into frames. This module says what each of them does: it knows which streams are
open, and what is over (`streams`). `reading` makes events of what comes of a request, `answers` keeps what is queued
until the client's windows allow it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.wire.http2 import events as happened
from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.answers import CONTENT_TYPE, Answers
from rocketwire.wire.http2.calls import Call
from rocketwire.wire.http2.events import (
    FLOW_CONTROL_ERROR,
    NO_ERROR,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    STREAM_CLOSED,
    Event,
)
from rocketwire.wire.http2.guard import Guard, Violation
from rocketwire.wire.http2.header_blocks import HeaderBlocks, Headers
from rocketwire.wire.http2.reading import Reading
from rocketwire.wire.http2.requests import Malformed, check_field, content_length, read_head
from rocketwire.wire.http2.settings import begin, new_window
from rocketwire.wire.http2.streams import How, Streams

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
    ) -> None:
        if not happened.STREAM_WINDOW <= stream_window <= window <= f.MOST_NUMBER - max_message - stream_window:
            raise ValueError("windows are from 65535 bytes to 2 GiB, that of a stream no larger than the connection's")
        self._streaming = streaming
        self._max_streams = max_streams
        self._window = window
        self._stream_window = stream_window
        self._guard = Guard(max_header_list)
        self._blocks = HeaderBlocks(max_header_list)
        self._answers = Answers(self._guard, self._answered)
        self._out = self._answers.out
        self._reading = Reading(self._answers, max_message=max_message, window=window, stream_window=stream_window)
        self._streams = Streams()
        self._calls: dict[int, Call] = {}
        self._heads = 0  # bytes of the headers of all calls
        self._owed = 0  # bytes of the connection's window to give back
        self._client_window = happened.STREAM_WINDOW  # of each new stream
        self._block: tuple[int, int, bytes] | None = None  # stream, flags, what has come of a block of headers
        self._last: int | None = None  # the last stream to serve
        self._left = False  # whether the client has said that it leaves
        self._failed = False
        self._out += begin(
            max_streams=max_streams, max_header_list=max_header_list, window=window, stream_window=stream_window
        )
        self._take: dict[int, Callable[[int, int, bytes], None]] = {
            f.DATA: self._data,
            f.HEADERS: self._headers,
            f.RST_STREAM: self._reset_by_client,
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
        return self._heads

    @property
    def streams(self) -> int:
        """See `Http2`."""
        return len(self._calls)

    # --- receiving

    def receive(self, data: bytes | bytearray | memoryview) -> list[Event]:
        """See `Http2`."""
        if self._failed:
            return []
        events = self._reading.events = []
        take = self._take
        try:
            for kind, flags, stream, payload in self._guard.frames(data):
                take[kind](flags, stream, payload)
                if self._left:
                    self._check_left()
            self._answers.send_ends()
            self._check_left()
        except Violation as violation:
            self._out += f.goaway(self._streams.last if self._last is None else self._last, violation.code)
            self._fail(str(violation))
        return events

    def _check_left(self) -> None:
        if self._left and not self._calls:
            raise Violation(NO_ERROR, "the client has left")

    def _fail(self, text: str) -> None:
        self._failed = True
        self._reading.events.append((happened.FAILED, 0, text))
        for call in list(self._calls.values()):
            self._forget(call)

    def _headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & (f.PADDED | f.PRIORITISED):
            payload = _without_priority(_without_padding(flags, payload), flags, stream)
        if flags & f.END_HEADERS:
            self._whole_block(flags, stream, payload)
        else:
            self._block = (stream, flags, payload)

    def _continuation(self, flags: int, stream: int, payload: bytes) -> None:
        assert self._block is not None  # noqa: S101 - the guard lets no other pass
        _, first, block = self._block
        if flags & f.END_HEADERS:
            self._block = None
            self._whole_block(first, stream, block + payload)
        else:
            self._block = (stream, first, block + payload)

    def _whole_block(self, flags: int, stream: int, block: bytes) -> None:
        headers, size = self._blocks.decode(block)
        ended = bool(flags & f.END_STREAM)
        call = self._calls.get(stream)
        if call is not None:
            self._trailers(call, headers, ended=ended)
        elif stream > self._streams.last:
            self._begin(stream, headers, size)
            call = self._calls.get(stream)
        else:
            self._late_headers(stream)
        if ended and call is not None and not call.over:
            self._end(call)

    def _begin(self, stream: int, headers: Headers, size: int) -> None:
        self._streams.begin(stream)
        if self._last is not None:
            self._streams.reset(stream, How.RESET_HERE)  # its client learns it from the GOAWAY
            return
        if len(self._calls) >= self._max_streams or self._heads + size > self._window:
            self._reset(stream, REFUSED_STREAM)
            self._guard.charge_reset()
            return
        try:
            head = read_head(headers)
            length = head.fields.get("content-length")
            expected = None if length is None else content_length(length)
        except Malformed:
            self._reset(stream, PROTOCOL_ERROR)
            self._guard.charge_reset()
            return
        streaming = head.path in self._streaming
        call = Call(stream, head, streaming=streaming, room=self._stream_window, window=self._client_window)
        self._calls[stream] = call
        call.expected = expected
        call.head = size
        self._heads += size
        if head.method != "POST":
            self._answers.finish_http(call, ((":status", "405"), ("allow", "POST")))
        elif not head.fields.get("content-type", "").startswith(CONTENT_TYPE):
            self._answers.finish_http(call, ((":status", "415"),))
        elif streaming:
            self._reading.events.append((happened.OPENED, stream, head.path, head.fields))

    def _trailers(self, call: Call, headers: Headers, *, ended: bool) -> None:
        if call.ended:
            self._stream_error(call, STREAM_CLOSED)
            return
        if not ended:
            raise Violation(PROTOCOL_ERROR, "trailers without an end")
        try:
            for name, value in headers:
                check_field(name, value)
        except Malformed:
            self._reset(call.stream, PROTOCOL_ERROR)
            self._broken(call, PROTOCOL_ERROR)

    def _late_headers(self, stream: int) -> None:
        how = self._streams.how(stream)
        if how is How.SKIPPED:
            raise Violation(PROTOCOL_ERROR, f"stream {stream} begins after a later one")
        if how is How.ENDED:
            raise Violation(STREAM_CLOSED, f"headers of stream {stream}, which is over")
        self._late(stream, how)

    def _late(self, stream: int, how: How) -> None:
        """A frame has come for a stream that is over."""
        self._guard.charge_reset()
        if how is not How.RESET_HERE:  # else it was under way
            self._out += f.rst_stream(stream, STREAM_CLOSED)

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        length = len(payload)
        self._owed += length
        if self._owed * 2 >= self._window:
            self._give_window_back()
        if flags & f.PADDED:
            payload = _without_padding(flags, payload)
        call = self._calls.get(stream)
        if call is None:
            how = self._streams.how(stream)
            if how is How.IDLE:
                raise Violation(PROTOCOL_ERROR, f"data of stream {stream}, which has not begun")
            self._late(stream, how)
        elif call.ended:
            self._stream_error(call, STREAM_CLOSED)
        else:
            call.room -= length
            if call.room < 0:
                raise Violation(FLOW_CONTROL_ERROR, f"more data than the window of stream {stream} allows")
            if call.expected is not None:
                call.expected -= len(payload)
                if call.expected < 0:
                    raise Violation(PROTOCOL_ERROR, "more data than content-length says")
            ended = flags & f.END_STREAM
            if call.trailers is None:  # else it is answered, and its client does not know yet
                if ended and not call.expected and self._reading.whole(call, payload):
                    call.ended = True
                    return
                self._reading.data(call, payload, padding=length - len(payload))
            if ended:
                self._end(call)

    def _give_window_back(self) -> None:
        if self._owed > self._window:
            raise Violation(FLOW_CONTROL_ERROR, "more data than the window of the connection allows")
        self._out += f.window_update(0, self._owed)
        self._owed = 0

    def _end(self, call: Call) -> None:
        if call.expected:
            raise Violation(PROTOCOL_ERROR, "less data than content-length says")
        call.ended = True
        if call.trailers is None:
            self._reading.end(call)

    def _reset_by_client(self, _flags: int, stream: int, payload: bytes) -> None:
        call = self._calls.get(stream)
        if call is None and self._streams.how(stream) is How.IDLE:
            raise Violation(PROTOCOL_ERROR, f"reset of stream {stream}, which has not begun")
        self._streams.reset(stream, How.RESET_THERE)
        if call is not None:
            self._broken(call, f.number(payload))

    def _settings(self, flags: int, _stream: int, payload: bytes) -> None:
        if flags & f.ACK:
            return
        window = new_window(payload)
        if window is not None:
            more, self._client_window = window - self._client_window, window
            self._answers.widen_all(self._calls.values(), more)
        self._out += f.frame(f.SETTINGS, f.ACK, 0, b"")

    def _ping(self, flags: int, _stream: int, payload: bytes) -> None:
        if not flags & f.ACK:
            self._out += f.frame(f.PING, f.ACK, 0, payload)

    def _goaway(self, _flags: int, _stream: int, _payload: bytes) -> None:
        self._left = True

    def _window_update(self, _flags: int, stream: int, payload: bytes) -> None:
        more = f.number(payload) & f.MOST_NUMBER
        if not more:
            raise Violation(PROTOCOL_ERROR, "a window that grows by nothing")
        call = self._calls.get(stream) if stream else None
        if stream and call is None:
            if self._streams.how(stream) is How.IDLE:
                raise Violation(PROTOCOL_ERROR, f"window of stream {stream}, which has not begun")
        elif not self._answers.widen(call, more):
            if call is None:
                raise Violation(FLOW_CONTROL_ERROR, "the window of the connection is too large")
            self._stream_error(call, FLOW_CONTROL_ERROR)

    # --- the ends of calls

    def _stream_error(self, call: Call, code: int) -> None:
        self._guard.charge_reset()
        self._reset(call.stream, code)
        self._broken(call, code)

    def _broken(self, call: Call, code: int) -> None:
        undelivered = call.trailers is None or bool(call.out)
        if undelivered and (call.streaming or call.ended):
            self._reading.events.append((happened.RESET, call.stream, code))
        self._forget(call)

    def _answered(self, call: Call) -> None:
        if not call.ended:
            self._streams.reset(call.stream, How.RESET_HERE)
        self._forget(call)

    def _forget(self, call: Call) -> None:
        del self._calls[call.stream]
        self._heads -= call.head
        self._answers.drop(call)
        self._reading.drop(call, lets_in=not self._failed)

    def _reset(self, stream: int, code: int) -> None:
        self._out += f.rst_stream(stream, code)
        self._streams.reset(stream, How.RESET_HERE)

    # --- answering

    def _unfinished(self, stream: int) -> Call | None:
        call = self._calls.get(stream)
        return None if call is None or call.trailers is not None else call

    def unary(self, stream: int, payload: bytes) -> None:
        """See `Http2`."""
        call = self._unfinished(stream)
        if call is not None:
            self._answers.message(call, payload)
            self._answers.finish(call, happened.OK, "")

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
            self._reset(stream, code)
            self._forget(call)

    def goaway(self, code: int = NO_ERROR) -> None:
        """See `Http2`."""
        if self._failed or self._last is not None:
            return
        self._last = self._streams.last
        self._answers.send_ends()
        self._out += f.goaway(self._last, code)

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
        raise Violation(PROTOCOL_ERROR, "padding longer than its frame")
    return payload[1 : len(payload) - payload[0]]


def _without_priority(payload: bytes, flags: int, stream: int) -> bytes:
    if not flags & f.PRIORITISED:
        return payload
    if len(payload) < _PRIORITY_SIZE:
        raise Violation(happened.FRAME_SIZE_ERROR, "headers too short for their priority")
    if f.number(payload[:4]) & f.MOST_NUMBER == stream:
        raise Violation(PROTOCOL_ERROR, f"stream {stream} depends on itself")
    return payload[_PRIORITY_SIZE:]
