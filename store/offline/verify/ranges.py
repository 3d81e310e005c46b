"""Sets of mostly consecutive integers: queue offsets that were seen, physical offsets that are lost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator


class RangeSet:
    """A set as ranges [start, stop). Adding what follows the last range costs little; all else is sorted at a read."""

    __slots__ = ("_ranges", "_sorted")

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self._sorted = True

    def add(self, start: int, stop: int) -> None:
        """Add the numbers from `start` up to, not including, `stop`."""
        if stop <= start:
            return
        ranges = self._ranges
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], stop)
            return
        if ranges and start < ranges[-1][1]:
            self._sorted = False
        ranges.append((start, stop))

    def __iter__(self) -> Iterator[tuple[int, int]]:
        self._sort()
        return iter(self._ranges)

    def __contains__(self, number: int) -> bool:
        self._sort()
        at = bisect_right(self._ranges, (number, 1 << 63)) - 1
        return at >= 0 and number < self._ranges[at][1]

    def gaps(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The ranges of [start, stop) that are not in the set."""
        for low, high in self:
            if low > start:
                yield start, min(low, stop)
            start = max(start, high)
            if start >= stop:
                return
        if start < stop:
            yield start, stop

    def _sort(self) -> None:
        if self._sorted:
            return
        merged: list[tuple[int, int]] = []
        for low, high in sorted(self._ranges):
            if merged and low <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        self._ranges, self._sorted = merged, True
