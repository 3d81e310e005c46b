"""Counters by key, each with the sums of the last minute, hour and day."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable
from enum import Enum
from typing import Final, Generic, TypeVar

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.long_tasks import in_batches
from rocketwire.server.statistics.windows import CODE, COLUMNS, NOTHING, StatisticsColumn, Sums, Window

K = TypeVar("K", bound=Hashable)

MOST: Final = 100_000
"""The most keys of one table: a counter with its snapshots takes 1 kB. What comes for others is not counted."""


class Period(Enum):
    """The seconds between two snapshots of a window, and how many it keeps: Apache's."""

    MINUTE = 10.0, 7
    HOUR = 600.0, 7
    DAY = 3600.0, 25


class Counters(Generic[K]):
    """Counters of one kind."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._places: dict[K, int] = {}
        self._free: list[int] = []
        self._numbers = array(CODE)
        self._windows = {period: Window(*period.value) for period in Period}

    def add(self, key: K, messages: int, size: int = 0, calls: int = 1) -> None:
        """Count messages, their bytes, and the calls that brought or took them."""
        place = self._places.get(key)
        if place is None:
            place = self._begin(key)
            if place is None:
                return
        numbers = self._numbers
        numbers[place] += messages
        numbers[place + 1] += size
        numbers[place + 2] += calls

    def _begin(self, key: K) -> int | None:
        if self._free:
            place = self._free.pop()
        elif len(self._places) < self._most:
            place = len(self._numbers)
            self._numbers.extend([0] * COLUMNS)
        else:
            return None
        self._places[key] = place
        for window in self._windows.values():
            window.begin(place // COLUMNS)
        return place

    def __contains__(self, key: K) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def total(self, key: K, column: StatisticsColumn = StatisticsColumn.MESSAGES) -> int:
        """All that was counted for a key since its counter began."""
        place = self._places.get(key)
        return 0 if place is None else self._numbers[place + column]

    def sums(self, key: K, period: Period, column: StatisticsColumn = StatisticsColumn.MESSAGES) -> Sums:
        """The sums of a key within the last minute, hour or day."""
        place = self._places.get(key)
        return NOTHING if place is None else self._windows[period].sums(place // COLUMNS, column)

    def snapshot(self, period: Period, now: float) -> None:
        """Take the snapshot of a window."""
        self._windows[period].take(self._numbers, now)

    def remove(self, key: K) -> None:
        """Forget a key; another one may get its place."""
        place = self._places.pop(key)
        self._numbers[place : place + COLUMNS] = array(CODE, [0] * COLUMNS)
        self._free.append(place)

    def remove_where(self, is_obsolete: Callable[[K], bool]) -> Operation[None]:
        """Forget the keys of which a test is true."""
        for part in in_batches(list(self._places)):
            for key in part:
                if key in self._places and is_obsolete(key):
                    self.remove(key)
            yield None

    def remove_idle(self) -> Operation[None]:
        """Forget the keys that nothing was counted for in a whole day: all their sums are 0."""
        day = self._windows[Period.DAY]
        for part in in_batches(list(self._places.items())):
            slots = {place // COLUMNS: key for key, place in part if self._places.get(key) == place}
            for slot in day.idle(self._numbers, list(slots)):
                self.remove(slots[slot])
            yield None
