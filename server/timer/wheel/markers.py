"""Markers that are stored but not yet in the timer's index: they cancel messages from the moment they are stored.

A message may be about to be delivered while the marker that cancels it is still on its way through the first two
stages. So before messages are stored, the topic is read up to its end for markers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import trio

from rocketwire.server.timer.records import CancelledMessage
from rocketwire.server.timer.topic import TimerTopicReader
from rocketwire.store.timer.units import TimerRecord, TimerUnit, slot_of
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.java import parse_natural_number
from rocketwire.wire.properties import property_reader

#: Entries that are read at once, and while requests come.
_LOOK: Final = 256
_LOOK_IN_A_SLICE: Final = 32
STEP: Final = 0.002
"""How long one step takes, in seconds; it takes longer when more entries came meanwhile."""
_NONE: Final[frozenset[int]] = frozenset()
_out: Final = property_reader(property_names.TIMER_OUT_MS.encode())


MOST_MARKERS: Final = 128
"""Markers of one piece of a slot: the record of each is read in the log, which takes some 10 us, or ten times that."""


def split_at_markers(pieces: Iterable[Sequence[TimerUnit]]) -> Iterator[Sequence[TimerUnit]]:
    """Pieces of a slot, each read in one step: the same ones, those with many markers in smaller ones."""
    for units in pieces:
        first = 0
        markers = [number for number, unit in enumerate(units) if unit.cancels]
        for number in markers[MOST_MARKERS::MOST_MARKERS]:
            yield units[first:number]
            first = number
        yield units[first:]


class CancelMarkers:
    """The markers among the last entries of the timer's topic.

    Attributes:
        looked: Entries before this queue offset were read.
    """

    def __init__(self, topic: TimerTopicReader, precision: int, offset: int) -> None:
        self.looked = offset
        self._topic = topic
        self._precision = precision
        #: Slots by cancelled message: of recent markers, and of those before `_older_end`.
        self._newer: dict[CancelledMessage, set[int]] = {}
        self._older: dict[CancelledMessage, set[int]] = {}
        self._older_end = offset

    def note(self, waiting: Sequence[TimerRecord], end: int) -> None:
        """Remember the markers among messages before an offset of the queue."""
        if end <= self.looked:
            return  # they are known
        for each in waiting:
            if each.cancels:
                key = self._topic.cancelled_by(each.physical_offset, each.record_size)
                if key is not None:
                    self._newer.setdefault(key, set()).add(slot_of(each.out_time, self._precision))
        self.looked = end

    @property
    def behind(self) -> int:
        """How many entries `read_new` has to read."""
        return self._topic.end - self.looked

    def read_new(
        self, monotonic: Callable[[], float] = trio.current_time, *, is_busy: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Read the topic up to its end; other tasks may run after each step.

        Every step reads more entries than came since the one before, so that it reaches the end however fast others
        send. When it is exhausted, all markers of this moment are known.

        Args:
            monotonic: Gives a time in seconds.
            is_busy: Whether requests come just now: then steps are short.

        Raises:
            OSError: the topic cannot be read now; the next call continues.
        """
        end, least = self._topic.end, 0
        while True:
            most, seconds = (_LOOK_IN_A_SLICE, 0.0) if is_busy() else (_LOOK, STEP)
            until = monotonic() + seconds
            while self.looked < end and (self.looked < least or monotonic() < until):
                group = self._topic.read(self.looked, most)
                self.note(group.waiting, group.end)
            if self.looked >= end:
                return
            yield
            came = self._topic.end - end
            end, least = end + came, self.looked + came + most

    def is_cancelled(self, key: CancelledMessage, properties: bytes) -> bool:
        """Whether one of them cancels a message; its properties have its time."""
        slots = self._newer.get(key, _NONE) | self._older.get(key, _NONE)
        if not slots:
            return False
        out = parse_natural_number(_out(properties) or b"")
        return out is not None and slot_of(out, self._precision) in slots

    def enqueued(self, offset: int) -> None:
        """Forget those before an offset of the queue: they are in the index."""
        if offset >= self._older_end:
            self._older, self._newer = self._newer, {}
            self._older_end = self.looked
