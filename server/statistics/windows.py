"""Sums of a minute, an hour and a day, from snapshots of counters, as Apache takes them.

All counters are in one array, and a snapshot is a copy of the array: it takes the same time for 100,000 topics as other
programs need for some hundred. A window holds the snapshots of its period. The sum is the difference between the newest
and the oldest one that a counter is in; a counter counts from 0 at the snapshot before its first.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

COLUMNS: Final = 3
"""Each counter has so many numbers: messages, bytes, and calls (sends or pulls)."""
CODE: Final = "q"
"""The numbers are of 64 bits."""


class StatisticsColumn(IntEnum):
    """The numbers of a counter."""

    MESSAGES = 0
    BYTES = 1
    CALLS = 2


class Sums(NamedTuple):
    """What was added to a number within a window: in all, a second, and for each call (0.0 without calls)."""

    total: int
    per_second: float
    per_call: float


NOTHING: Final = Sums(0, 0.0, 0.0)


class _Snapshot(NamedTuple):
    at: float
    numbers: array[int]

    def number(self, place: int) -> int:
        return self.numbers[place] if place < len(self.numbers) else 0


class Window:
    """The snapshots of one period.

    Args:
        seconds: The time between two snapshots.
        most: How many are kept.
    """

    def __init__(self, seconds: float, most: int) -> None:
        self.seconds = seconds
        self._snapshots: deque[_Snapshot] = deque(maxlen=most)
        self._taken = 0
        #: For each counter, how many snapshots there were when it began.
        self._began = array(CODE)

    def begin(self, slot: int) -> None:
        """Have a counter begin at 0."""
        if slot == len(self._began):
            self._began.append(self._taken)
            return
        self._began[slot] = self._taken
        for snapshot in self._snapshots:  # of the counter that had the slot before
            for place in range(slot * COLUMNS, min((slot + 1) * COLUMNS, len(snapshot.numbers))):
                snapshot.numbers[place] = 0

    def take(self, numbers: array[int], now: float) -> None:
        """Take a snapshot at a time in seconds."""
        if not self._taken:  # everything was 0 one interval ago
            self._snapshots.append(_Snapshot(now - self.seconds, array(CODE)))
            self._taken = 1
        self._snapshots.append(_Snapshot(now, numbers[:]))
        self._taken += 1

    def sums(self, slot: int, column: StatisticsColumn) -> Sums:
        """The sums of a number; zeros before a counter's first snapshot."""
        first = self._first(slot)
        if first is None:
            return NOTHING
        before, last = self._snapshots[first], self._snapshots[-1]
        total, calls = (
            last.number(place) - before.number(place)
            for place in (slot * COLUMNS + column, slot * COLUMNS + StatisticsColumn.CALLS)
        )
        return Sums(total, total / (last.at - before.at), total / calls if calls > 0 else 0.0)

    def _first(self, slot: int) -> int | None:
        """The place of the snapshot that a counter counts from; None: it is in none yet."""
        began = self._began[slot]
        if self._taken <= max(began, 1):
            return None
        return max(0, max(began - 1, 0) - (self._taken - len(self._snapshots)))

    def idle(self, numbers: array[int], slots: Sequence[int]) -> list[int]:
        """Those of some counters that are in all snapshots of a full window and did not change meanwhile."""
        if len(self._snapshots) < (self._snapshots.maxlen or 0):
            return []
        oldest = self._snapshots[0]
        since = self._taken - len(self._snapshots)
        places = ((slot, slot * COLUMNS + StatisticsColumn.MESSAGES) for slot in slots)
        return [s for s, place in places if self._began[s] <= since and oldest.number(place) == numbers[place]]
