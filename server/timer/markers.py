"""Markers that are stored but not yet in the timer's index: they cancel messages from the moment they are stored.

A message may be about to be delivered while the marker that cancels it is still on its way through the first two
stages. So before messages are stored, the topic is looked through up to its end for markers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from rocketwire.server.timer.topic import TimerTopic
from rocketwire.store.timer.units import slot_of
from rocketwire.store.timer.waiting import Waiting

#: Entries that one look goes through.
_LOOK: Final = 256
_NONE: Final[frozenset[str]] = frozenset()


class Markers:
    """The markers among the last entries of the timer's topic.

    Attributes:
        looked: Entries before this queue offset were looked at.
    """

    def __init__(self, topic: TimerTopic, precision: int, offset: int) -> None:
        self.looked = offset
        self._topic = topic
        self._precision = precision
        #: Keys by their slot: of markers noted lately, and of those noted before `_older_end` was the place looked to.
        self._newer: dict[int, set[str]] = {}
        self._older: dict[int, set[str]] = {}
        self._older_end = offset

    def note(self, waiting: Sequence[Waiting], end: int) -> None:
        """Note the markers among messages, which stand before an offset of the queue."""
        for each in waiting:
            if each.deletes:
                key = self._topic.cancelled_by(each.physical_offset, each.record_size)
                if key is not None:
                    self._newer.setdefault(slot_of(each.out, self._precision), set()).add(key)
        self.looked = max(self.looked, end)

    def look(self) -> bool:
        """Look at some entries more; true when all are known that there are at this moment."""
        if self.looked < self._topic.end:
            group = self._topic.read(self.looked, _LOOK)
            self.note(group.waiting, group.end)
        return self.looked >= self._topic.end

    def cancelled(self, start: int) -> Collection[str]:
        """Unique keys that markers of the slot from a time in ms cancel."""
        newer, older = self._newer.get(start), self._older.get(start)
        if newer is None or older is None:
            return newer or older or _NONE
        return newer | older

    def enqueued(self, offset: int) -> None:
        """Forget those before an offset of the queue: they are in the index."""
        if offset >= self._older_end:
            self._older, self._newer = self._newer, {}
            self._older_end = self.looked
