"""Answers on their way: in HTTP/2 until the client's windows allow them, then in the output until its socket does."""

from __future__ import annotations

import math
from collections import deque

import trio

from rocketwire.server.grpc.calls import Call
from rocketwire.server.net.output import HIGH_WATER, Output
from rocketwire.wire.http2.events import Http2


class AnswerOutput:
    """The answers of one connection.

    Attributes:
        http2: The protocol's state; that of a closed connection has no calls.
        unread_since: When the client last made room for answers that wait; infinite: none wait.
    """

    __slots__ = ("_leaving", "_moved", "_output", "_watched", "http2", "unread_since")

    def __init__(self, http2: Http2, output: Output) -> None:
        self.http2 = http2
        self.unread_since = math.inf
        self._output = output
        # Answered calls that are undone if the answer does not go out: those with HTTP/2, and those in the output, each
        # with how many bytes were moved there by then.
        self._watched: dict[int, Call] = {}
        self._leaving: deque[tuple[int, Call]] = deque()
        self._moved = 0

    @property
    def waits(self) -> bool:
        """Whether so much waits for the client that no further call is begun, and no request of one served."""
        return self._output.size + self.http2.waiting > HIGH_WATER

    @property
    def held(self) -> int:
        """Bytes that HTTP/2 holds."""
        http2 = self.http2
        # What is popped is kept beside the answer, to be given back if that does not go out.
        waiting = 2 * http2.waiting if self._watched else http2.waiting
        return waiting + http2.held + http2.heads

    def watch(self, call: Call) -> None:
        """Have an answered call undone if its answer is not sent."""
        self._watched[call.stream] = call

    def take_watched(self, stream: int) -> Call | None:
        """Take back the call of a stream whose answer HTTP/2 still holds."""
        return self._watched.pop(stream, None)

    def take_unsent(self) -> list[Call]:
        """Take back all calls whose answers were not sent."""
        unsent = [*self._watched.values(), *(call for _, call in self._leaving)]
        self._watched.clear()
        self._leaving.clear()
        return unsent

    def move(self) -> None:
        """Move what HTTP/2 may send now into the output."""
        waiting = self.http2.waiting
        data = self.http2.output(HIGH_WATER)
        unsent = self.http2.waiting
        if not unsent:
            self.unread_since = math.inf
        elif unsent < waiting or self.unread_since == math.inf:
            self.unread_since = trio.current_time()
        if data:
            self._moved += len(data)
            self._output.write(data)
        if self._watched and not unsent:
            self._leaving.extend((self._moved, call) for call in self._watched.values())
            self._watched.clear()

    def forget_sent(self) -> None:
        """Forget the calls whose answers the socket has taken."""
        leaving, sent = self._leaving, self._moved - self._output.size
        while leaving and leaving[0][0] <= sent:
            _, call = leaving.popleft()
            call.undo = None  # it holds the call and all messages: a cycle, which only the collector would find
