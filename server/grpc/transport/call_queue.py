"""What waits to be served on one connection: events of HTTP/2, and the requests that calls were translated into."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any, Final

import trio

from rocketwire.server.core.request import Request
from rocketwire.server.grpc.transport.request_bounds import REFUSED_CALL, request_bytes
from rocketwire.wire.http2.events import CALL, MESSAGE, OPENED, Event

_AT_ONCE: Final = 64
"""The most calls that are begun before their requests are served."""
_EVENT_BYTES: Final = 256
"""What an event costs that waits, beside its message."""
_ROUNDS: Final = 4
"""How often this is done before other tasks run."""
_SECONDS: Final = 0.002
"""How long other calls are begun before other tasks run: a large request alone may take that long."""
_MAY_BE_ANSWERED: Final = frozenset({CALL, REFUSED_CALL, OPENED, MESSAGE})
"""Events that wait while too much waits for the client."""


class _State(Enum):
    IDLE = auto()
    SCHEDULED = auto()
    """A task is to serve what waits."""
    SERVING = auto()


class CallQueue:
    """Begins calls and has their requests served, in steps between which other tasks run.

    Args:
        handle: Handles an event; returns how many calls it counts as.
        serve_requests: Serves requests; returns how many were served before it had to pause.
        waits: Whether so much waits for the client that nothing more is to be answered now.
        schedule: Has `serve` called in a task: requests have come while nothing was being served.

    Attributes:
        size: Bytes of the events that wait.
        should_yield: Whether other tasks are to run before more is served.
    """

    __slots__ = ("_events", "_handle", "_requests", "_schedule", "_serve", "_state", "_waits", "should_yield", "size")

    def __init__(
        self,
        *,
        handle: Callable[[Event], int],
        serve_requests: Callable[[Sequence[Request[Any]]], int],
        waits: Callable[[], bool],
        schedule: Callable[[], None],
    ) -> None:
        self._handle = handle
        self._serve = serve_requests
        self._waits = waits
        self._schedule = schedule
        self._events: deque[Event] = deque()
        self._requests: list[Request[Any]] = []
        self._state = _State.IDLE
        self.size = 0
        self.should_yield = False

    def __bool__(self) -> bool:
        """Whether anything waits, if only for the client."""
        return bool(self._events or self._requests)

    @property
    def may_be_served(self) -> bool:
        """Whether something waits that may be served now."""
        return (bool(self._requests) and not self._waits()) or self._has_next_event

    @property
    def _has_next_event(self) -> bool:
        events = self._events
        return bool(events) and (events[0][0] not in _MAY_BE_ANSWERED or not self._waits())

    def add_events(self, events: list[Event]) -> None:
        """Add what a read has brought; `serve` follows."""
        self._events += events
        self.size += sum(map(_size_of, events))

    def add_requests(self, requests: Sequence[Request[Any]]) -> None:
        """Add requests, which are served next, or soon."""
        self._requests += requests
        self.wake()

    def wake(self) -> None:
        """Serve what waits, in a task: unless it is being served, or will be."""
        if self._state is _State.IDLE:
            self._state = _State.SCHEDULED
            self._schedule()

    def clear(self) -> None:
        """Drop the events: the connection is closed."""
        self._events.clear()
        self.size = 0

    def serve(self) -> None:
        """Serve what waits, as far as one step goes."""
        self.should_yield = False
        if not self:
            self._state = _State.IDLE
            return  # as after most reads: all their calls were served on the fast path
        self._state = _State.SERVING
        until = trio.current_time() + _SECONDS
        try:
            for _ in range(_ROUNDS):
                self._begin_some(until)
                self._serve_requests()
                if self._requests or not self._has_next_event or self.should_yield:
                    break
        finally:
            self._state = _State.IDLE

    def _begin_some(self, until: float) -> None:
        """Handle events, until so many calls are begun that their requests are to be served first."""
        begun = 0
        while begun < _AT_ONCE and self._has_next_event:
            event = self._events.popleft()
            self.size -= _size_of(event)
            begun += self._handle(event)
            if trio.current_time() > until:
                self.should_yield = True
                break

    def _serve_requests(self) -> None:
        if not self._requests:
            return
        until = trio.current_time() + _SECONDS
        while self._requests and not self._waits():
            requests, self._requests = self._requests, []
            served = self._serve(requests)
            if served < len(requests):
                self._requests[:0] = requests[served:]
                return
            if trio.current_time() > until:
                self.should_yield = True  # calls of many steps cause further requests with each answer
                return


def _size_of(event: Event) -> int:
    """Bytes of memory of an event that waits."""
    return _EVENT_BYTES + request_bytes(event)
