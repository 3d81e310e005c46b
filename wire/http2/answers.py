"""Answers on their way to the client: queued until its windows allow them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.call import Call
from rocketwire.wire.http2.events import FLOW_CONTROL_ERROR, NO_ERROR, STREAM_WINDOW
from rocketwire.wire.http2.guard import Http2Violation
from rocketwire.wire.http2.header_blocks import FORGET_ALL, encode
from rocketwire.wire.http2.messages import PREFIX, encode_status_text

CONTENT_TYPE: Final = "application/grpc"

_BEGIN: Final = ((":status", "200"), ("content-type", CONTENT_TYPE))


class Answers:
    """What is to send of all calls, and the bytes that are ready to be written.

    Attributes:
        made: How many frames were made, but for those that the guard was told of.
        out: Those bytes: whole frames, but for what is taken of the first.
        waiting: Bytes of messages that are not among them yet.
        window: Bytes of messages that the client takes, of all calls together.
    """

    __slots__ = ("_blocked", "_done", "_ends", "_first", "_ready", "made", "out", "waiting", "window")

    def __init__(self, done: Callable[[Call], None]) -> None:
        """`done` is called with each call whose end is among the bytes to write."""
        self._done = done
        self._ready: deque[Call] = deque()  # have messages, and room in their windows
        self._blocked: set[Call] = set()  # have messages
        self._ends: list[Call] = []  # have nothing to send but their end, for which no window is needed
        self._first = True
        self.made = 0
        self.out = bytearray()
        self.waiting = 0
        self.window = STREAM_WINDOW

    def message(self, call: Call, payload: bytes) -> None:
        """Add a message."""
        if not call.started:
            call.started = True
            self._headers(call.stream, 0, _begin())
        if not call.out:
            self._ready.append(call)
        call.out += PREFIX.pack(0, len(payload))
        call.out += payload
        self.waiting += PREFIX.size + len(payload)

    def finish(self, call: Call, status: int, text: str) -> None:
        """Add a gRPC status: the end."""
        if text:
            trailers = [("grpc-status", str(status)), ("grpc-message", encode_status_text(text))]
            self.end(call, encode(trailers if call.started else [*_BEGIN, *trailers]))
        else:
            self.end(call, _end(status) if call.started else _begin() + _end(status))

    def finish_http(self, call: Call, headers: Sequence[tuple[str, str]]) -> None:
        """Answer with a status of HTTP."""
        self.end(call, encode(headers))

    def end(self, call: Call, trailers: bytes) -> None:
        """Add the end, whatever it is."""
        call.trailers = trailers
        if not call.out:
            self._ends.append(call)

    def drop(self, call: Call) -> None:
        """Send nothing more of a call."""
        call.over = True
        if call.out:
            self.waiting -= len(call.out)
            self._blocked.discard(call)

    def widen(self, more: int) -> bool:
        """The window of the connection has grown; False: HTTP/2 does not allow one that large."""
        self.window += more
        return self.window <= f.MOST_NUMBER

    def widen_call(self, call: Call, more: int) -> bool:
        """As `widen`, of the window of a call."""
        call.window += more
        if call in self._blocked and call.window > 0:
            self._blocked.discard(call)
            self._ready.append(call)
        return call.window <= f.MOST_NUMBER

    def widen_all(self, calls: Iterable[Call], more: int) -> None:
        """The windows of all calls have changed.

        Raises:
            Violation: one of them is larger than HTTP/2 allows.
        """
        for call in calls:
            call.window += more
            if call.window > f.MOST_NUMBER:
                raise Http2Violation(FLOW_CONTROL_ERROR, "a window is too large")
        self._ready.extend(sorted(self._blocked, key=lambda call: call.stream))
        self._blocked.clear()

    def send_ends(self) -> None:
        """Make the frames of ends that need no window."""
        if self._ends:
            ends, self._ends = self._ends, []
            for call in ends:
                if not call.over:
                    self._send_end(call)

    def send_messages(self, most: int) -> None:
        """Make frames of messages until `most` bytes are ready, as long as the windows allow it."""
        ready, out = self._ready, self.out
        while ready and len(out) < most:
            call = ready[0]
            if not call.over:
                if self.window <= 0:
                    return
                room = min(self.window, call.window, f.MOST_PAYLOAD)
                if room > 0:
                    self._send_part(call, room)
                else:
                    self._blocked.add(call)
            ready.popleft()

    def _send_part(self, call: Call, room: int) -> None:
        part = call.out if len(call.out) <= room else call.out[:room]
        length = len(part)
        self.out += f.HEADER.pack(length >> 8, length & 0xFF, f.DATA, 0, call.stream)
        self.out += part
        self.window -= length
        call.window -= length
        self.waiting -= length
        self.made += 1
        del call.out[:length]
        if call.out:
            self._ready.append(call)
        elif call.trailers is not None:
            self._send_end(call)

    def _send_end(self, call: Call) -> None:
        self._headers(call.stream, f.END_STREAM, call.trailers or b"")
        if not call.ended:  # what else its client sends is of no use
            self.out += f.rst_stream(call.stream, NO_ERROR)
        self._done(call)

    def _headers(self, stream: int, flags: int, block: bytes) -> None:
        length = len(block)
        if self._first or length > f.MOST_PAYLOAD:
            block = FORGET_ALL + block  # the client's table of headers may have as little room as it likes
            self._first = False
            self.out += f.header_frames(stream, flags, block)
        else:
            self.out += f.HEADER.pack(length >> 8, length & 0xFF, f.HEADERS, flags | f.END_HEADERS, stream)
            self.out += block
        self.made += 1


@lru_cache(maxsize=1)
def _begin() -> bytes:
    return encode(_BEGIN)


@lru_cache(maxsize=32)
def _end(status: int) -> bytes:
    return encode((("grpc-status", str(status)),))
