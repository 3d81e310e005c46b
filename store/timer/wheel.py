"""The timer wheel (layout.timer_wheel): where the units of each slot are in the timer log.

The file has a place for every slot, reused in each lap; it is created when the first slot is written. Slot numbers are
times in ms divided by the precision. Disk space is allocated before a slot is written, so that a full disk is an error,
not the end of the process (SIGBUS).
"""

from __future__ import annotations

import mmap
from collections.abc import Container, Iterator
from typing import Final, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segment import Segment
from rocketwire.store.layout.timer_log import NO_UNIT
from rocketwire.store.layout.timer_wheel import SLOT_COUNT, SLOT_SIZE, SLOT_STRUCT

#: Disk space is allocated by so many bytes.
_WINDOW: Final = 1 << 16
#: So many bytes without any slot are skipped at once.
_BLOCK: Final = 4096
_NOTHING: Final = bytes(_WINDOW)


class Slot(NamedTuple):
    """A slot as in the file; `time` is its number, `messages` its count."""

    time: int
    first_position: int
    last_position: int
    messages: int
    magic: int


def empty(number: int) -> Slot:
    """A slot without units."""
    return Slot(number, NO_UNIT, NO_UNIT, 0, 0)


class TimerWheel:
    """The wheel's file; missing parts read as empty.

    Attributes:
        slots: How many there are: a slot's place is its number modulo these.
        exists: Whether there is a file.
    """

    slots = SLOT_COUNT

    def __init__(self, path: str, files: FileSystem) -> None:
        self.path = path
        self._files = files
        self._size = self.slots * SLOT_SIZE
        self._segment = Segment(path, 0, self._size, files, scattered=True)
        self._reserved: set[int] = set()
        self.exists = files.size(path) == self._size

    def _place(self, number: int) -> int:
        return number % self.slots * SLOT_SIZE

    def get(self, number: int) -> Slot | None:
        """A slot, None when it was not used in this lap."""
        slot = self.at(number)
        return slot if slot is not None and slot.time == number else None

    def at(self, number: int) -> Slot | None:
        """The slot of any lap that is in a slot's place; None when the place is empty."""
        if not self.exists:
            return None
        slot = Slot._make(SLOT_STRUCT.unpack_from(self._segment.mapping, self._place(number)))
        return slot if slot.time else None

    def reserve(self, number: int) -> None:
        """Make room for a slot; creates the file.

        Raises:
            DiskFull: there is none; nothing changed.
        """
        at = self._place(number)
        window = at // _WINDOW
        if window in self._reserved:
            return
        if not self.exists:
            self._files.remove(self.path)  # one of another size
            self._segment.create()
            self.exists = True
        start = window * _WINDOW
        length = min(_WINDOW, self._size - start)
        self._segment.reserve_range(start, length)
        self._segment.populate_written(start, length)
        self._reserved.add(window)

    def put(self, slot: Slot) -> None:
        """Write a slot, for which room was reserved."""
        at = self._place(slot.time)
        self._segment.mapping[at : at + SLOT_SIZE] = SLOT_STRUCT.pack(*slot)

    def next(self, start: int, end: int) -> int | None:
        """Number of the first slot from `start` on, and before `end`, that was used in this lap; None when none was."""
        if not self.exists:
            return None
        mapping = self._segment.mapping
        end = min(end, start + self.slots)
        while start < end:
            at = self._place(start)
            stop = min(at - at % _BLOCK + _BLOCK, at + (end - start) * SLOT_SIZE)
            block = mapping[at:stop]
            if block != _NOTHING[: len(block)]:
                for number, slot in enumerate(SLOT_STRUCT.iter_unpack(block), start):
                    if slot[0] == number:
                        return number
            start += len(block) // SLOT_SIZE
        return None

    @property
    def mapping(self) -> mmap.mmap:
        """All places of the file, which there is."""
        return self._segment.mapping

    def forget_from(self, oldest: int, kept: Container[int]) -> Iterator[None]:
        """Take out all slots from number `oldest` on but those `kept`, a part of the file at a time."""
        if not self.exists:
            return
        mapping = self._segment.mapping
        for start in range(0, self._size, _WINDOW):
            block = mapping[start : start + _WINDOW]
            if block == _NOTHING[: len(block)]:
                continue
            for at, slot in enumerate(SLOT_STRUCT.iter_unpack(block)):
                if slot[0] >= oldest and slot[0] not in kept:
                    place = start + at * SLOT_SIZE
                    mapping[place : place + SLOT_SIZE] = _NOTHING[:SLOT_SIZE]
            yield

    def sync(self) -> None:
        """Put the file on the disk. Safe in a thread."""
        if self.exists:
            self._segment.sync()

    def unmap(self) -> None:
        """Forget the mapping until the next use."""
        self._segment.unmap()
