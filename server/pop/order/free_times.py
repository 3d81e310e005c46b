"""When queues are free again that give nothing while a batch of theirs is out."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Final

from rocketwire.server.pop.ordered import PopQueue

_FEWEST: Final = 1024
"""Entries that are out of date are dropped when there are more of all than this, and than twice those that count."""


class FreeTimes:
    """One time a queue, in ms since 1970."""

    def __init__(self) -> None:
        self._times: dict[PopQueue, int] = {}
        self._heap: list[tuple[int, PopQueue]] = []

    def __len__(self) -> int:
        return len(self._times)

    def put(self, queue: PopQueue, time: int | None) -> None:
        """Set when a queue is free; None: it is now."""
        if time is None:
            self._times.pop(queue, None)
        elif self._times.get(queue) != time:
            self._times[queue] = time
            heappush(self._heap, (time, queue))
        if len(self._heap) > max(_FEWEST, 2 * len(self._times)):
            self._heap = [(each, name) for name, each in self._times.items()]
            heapify(self._heap)

    @property
    def first(self) -> int | None:
        """The earliest time, None when all queues are free."""
        while self._heap and not self._counts(*self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Iterator[PopQueue]:
        """Take out the queues that are free by now."""
        while (first := self.first) is not None and first <= now:
            _, queue = heappop(self._heap)
            del self._times[queue]
            yield queue

    def _counts(self, time: int, queue: PopQueue) -> bool:
        return self._times.get(queue) == time
