"""Calls, and their answers on their way to the client: queued until its windows allow them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from rocketwire.wire.http2.events import NO_ERROR
from rocketwire.wire.http2.guard import MOST_PAYLOAD, FrameGuard
from rocketwire.wire.http2.intake import IncomingRequest
from rocketwire.wire.http2.library import Library
from rocketwire.wire.http2.messages import MessageReader, add_prefix, encode_status_text
from rocketwire.wire.http2.requests import RequestHead

CONTENT_TYPE: Final = "application/grpc"

_Headers: TypeAlias = Sequence[tuple[str, str]]
_BEGIN: Final = ((":status", "200"), ("content-type", CONTENT_TYPE))


class OpenCall(IncomingRequest):
    """A call whose answer is not finished.

    Attributes:
        path: Its method.
        fields: Its metadata.
        streaming: Whether its request is a stream of messages.
        reader: What has come of the request.
        owed: Bytes of the stream's window to give back.
        ended: Whether the client has ended the request.
        started: Whether the answer has begun.
        out: Messages of the answer that are to send.
        trailers: The end of the answer; None: more may be added.
        over: Whether it is answered or reset.
    """

    __slots__ = ("ended", "fields", "out", "over", "owed", "path", "reader", "started", "streaming", "trailers")

    def __init__(self, stream: int, head: RequestHead, *, streaming: bool, max_message: int) -> None:
        super().__init__(stream)
        self.path = head.path
        self.fields = head.fields
        self.streaming = streaming
        self.reader = MessageReader(max_message)
        self.owed = 0
        self.ended = self.started = self.over = False
        self.out = bytearray()
        self.trailers: _Headers | None = None


class AnswerQueue:
    """What is to send of all calls; `done` is called with each whose end is sent.

    Attributes:
        waiting: Bytes of messages.
    """

    __slots__ = ("_blocked", "_done", "_ends", "_guard", "_library", "_ready", "waiting")

    def __init__(self, library: Library, guard: FrameGuard, done: Callable[[OpenCall], None]) -> None:
        self._library = library
        self._guard = guard
        self._done = done
        self._ready: deque[OpenCall] = deque()  # have messages, and room in their windows
        self._blocked: set[OpenCall] = set()  # have messages
        self._ends: list[OpenCall] = []  # have nothing to send but their end, for which no window is needed
        self.waiting = 0

    def message(self, call: OpenCall, payload: bytes) -> None:
        """Add a message."""
        if not call.started:
            call.started = True
            self._library.send_headers(call.stream, _BEGIN)
            self._guard.restore_credit()
        if not call.out:
            self._ready.append(call)
        data = add_prefix(payload)
        call.out += data
        self.waiting += len(data)

    def finish(self, call: OpenCall, status: int, text: str) -> None:
        """Add a gRPC status: the end."""
        trailers = [("grpc-status", str(status))]
        if text:
            trailers.append(("grpc-message", encode_status_text(text)))
        self.end(call, trailers if call.started else [*_BEGIN, *trailers])

    def end(self, call: OpenCall, trailers: _Headers) -> None:
        """Add the end, whatever it is."""
        call.trailers = trailers
        if not call.out:
            self._ends.append(call)

    def drop(self, call: OpenCall) -> None:
        """Send nothing more of a call."""
        call.over = True
        self.waiting -= len(call.out)
        self._blocked.discard(call)

    def unblock(self, call: OpenCall) -> None:
        """The window of its stream has grown."""
        if call in self._blocked:
            self._blocked.discard(call)
            self._ready.append(call)

    def unblock_all(self) -> None:
        """The windows of all streams have changed."""
        self._ready.extend(sorted(self._blocked, key=lambda call: call.stream))
        self._blocked.clear()

    def send_ends(self) -> None:
        """Send the ends that need no window."""
        ends, self._ends = self._ends, []
        for call in ends:
            if not call.over:
                self._send_end(call)

    def send_frame(self) -> bool:
        """Send one frame of messages; False: there is none, or the window of the connection is used up."""
        while self._ready:
            call = self._ready[0]
            if not call.over:
                if self._library.outbound_flow_control_window <= 0:
                    return False
                room = min(self._library.local_flow_control_window(call.stream), MOST_PAYLOAD)
                if room > 0:
                    self._ready.popleft()
                    self._send_part(call, room)
                    return True
                self._blocked.add(call)
            self._ready.popleft()
        return False

    def _send_part(self, call: OpenCall, room: int) -> None:
        part = bytes(call.out[:room])
        del call.out[:room]
        self._library.send_data(call.stream, part)
        self._guard.restore_credit()
        self.waiting -= len(part)
        if call.out:
            self._ready.append(call)
        elif call.trailers is not None:
            self._send_end(call)

    def _send_end(self, call: OpenCall) -> None:
        self._library.send_headers(call.stream, call.trailers or (), end_stream=True)
        self._guard.restore_credit()
        if not call.ended:  # what else its client sends is of no use
            self._library.reset_stream(call.stream, NO_ERROR)
        self._done(call)
