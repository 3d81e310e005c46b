"""The queue of delayed requests and answers: copies that wait for their due time, bounded in number and bytes.

One task waits for the earliest; closing a connection drops its copies.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final, Protocol

import trio

log = logging.getLogger(__name__)

MOST_HELD: Final = 10_000
MOST_HELD_BYTES: Final = 64 * 1024 * 1024
_SLACK: Final = 1024


class DelayedConnection(Protocol):
    """A connection whose requests or answers are delayed."""

    def failed(self, error: Exception) -> None:
        """Close it because of a bug in serving it."""


class _Copy:
    """One entry; `carry_out` is None once it is done or dropped."""

    __slots__ = ("carry_out", "session", "size")

    def __init__(self, session: DelayedConnection, size: int, carry_out: Callable[[], None]) -> None:
        self.session = session
        self.size = size
        self.carry_out: Callable[[], None] | None = carry_out


class DelayQueue:
    """All entries, in the order of their due times."""

    def __init__(self) -> None:
        self._numbers = count()
        self._heap: list[tuple[float, int, _Copy]] = []
        self._by_session: dict[DelayedConnection, set[_Copy]] = {}
        self._count = 0
        self._bytes = 0
        self._full = False
        self._sooner = trio.Event()

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """Bytes of all copies."""
        return self._bytes

    def hold(self, session: DelayedConnection, seconds: float, size: int, carry_out: Callable[[], None]) -> bool:
        """Call `carry_out` after so many seconds; return False if the queue has no room for `size` bytes.

        An entry of no bytes is always accepted.
        """
        if size and (self._count >= MOST_HELD or self._bytes + size > MOST_HELD_BYTES):
            if not self._full:
                log.warning(
                    "%(frames)d requests and answers are delayed, %(bytes)d bytes: others are not",
                    {"frames": self._count, "bytes": self._bytes},
                )
            self._full = True
            return False
        copy = _Copy(session, size, carry_out)
        self._by_session.setdefault(session, set()).add(copy)
        self._count += 1
        self._bytes += size
        due = trio.current_time() + seconds
        if not self._heap or due < self._heap[0][0]:
            self._sooner.set()
        heappush(self._heap, (due, next(self._numbers), copy))
        if len(self._heap) > 2 * self._count + _SLACK:  # mostly dropped entries of closed connections
            self._heap = [entry for entry in self._heap if entry[2].carry_out is not None]
            heapify(self._heap)
        return True

    def peer_closed(self, session: DelayedConnection) -> None:
        """Drop the copies of a closed connection."""
        for copy in self._by_session.pop(session, ()):
            copy.carry_out = None
            self._count -= 1
            self._bytes -= copy.size

    async def run(self) -> None:
        """Carry out each entry when it is due; never returns."""
        while True:
            while self._heap and self._heap[0][0] <= trio.current_time():
                self._release(heappop(self._heap)[2])
                await trio.lowlevel.checkpoint()
            self._sooner = trio.Event()
            with trio.move_on_at(self._heap[0][0] if self._heap else math.inf):
                await self._sooner.wait()

    def _release(self, copy: _Copy) -> None:
        carry_out, copy.carry_out = copy.carry_out, None
        if carry_out is None:
            return
        of_session = self._by_session[copy.session]
        of_session.remove(copy)
        if not of_session:
            del self._by_session[copy.session]
        self._count -= 1
        self._bytes -= copy.size
        self._full = False
        try:
            carry_out()
        except Exception as error:  # noqa: BLE001 - the session logs it: a bug in one must not end the others
            copy.session.failed(error)
