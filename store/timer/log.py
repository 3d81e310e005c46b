"""The timer log: units of 52 bytes in a row of mapped files (layout.timer_log).

A file holds a fixed number of units, so it is known for every position whether a unit can begin there. Units never
change except `previous`, which recovery may set, and `outcome`, which is set when the message is settled. Positions
that were never written are zero.

What was written since the last `take_unsynced` has to be synced by `sync`, which may run in a thread.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from collections.abc import Iterable
from typing import Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.disk.segment import Segment
from rocketwire.store.disk.segments import Segments
from rocketwire.store.errors import DiskFull
from rocketwire.store.layout.timer_log import BLANK_SIZE, NO_UNIT, UNIT_SIZE, UNIT_STRUCT, blank
from rocketwire.store.timer.unit_access import due_units, settle_units
from rocketwire.store.timer.units import DueTimerUnit, TimerUnit

SIZE_SETTING: Final = "mappedFileSizeTimerLog"
_REMEDY: Final = "remove the timer's files (timerlog/, timerwheel, config/timercheck): they are made again from the log"
#: Disk space is allocated this many bytes ahead of the writer.
_WINDOW: Final = 256 << 10
#: A file holds two million units: many more are never of use at once.
_MOST_MAPPED: Final = 16
#: All fields but the size.
_FIELDS: Final = struct.Struct(">4x" + UNIT_STRUCT.format[2:])
_WHOLE: Final = 1 << 31


class TimerLog:
    """The log in one directory.

    Attributes:
        end: Where the next unit goes.
        segments: Its files.
        units_a_file: How many units a file takes.
    """

    def __init__(self, directory: str, file_size: int, files: FileSystem) -> None:
        self.segments = Segments(directory, file_size, files, most_mapped=_MOST_MAPPED)
        self.units_a_file = (file_size - BLANK_SIZE) // UNIT_SIZE
        self.end = 0
        self._unsynced: set[int] = set()
        # The file that was used last.
        self._low = self._high = -1
        self._mapping: mmap.mmap | None = None

    def load(self) -> None:
        """Find the files; recovery finds the end of the log (`resume`).

        Raises:
            StoreForeign: a file has another size, or the row has a gap.
        """
        self.segments.load(SIZE_SETTING, remedy=_REMEDY)
        self.end = self.start

    @property
    def start(self) -> int:
        """Position of the oldest unit; 0 for an empty log."""
        first = self.segments.first
        return first.start if first is not None else 0

    @property
    def files_end(self) -> int:
        """Where the last file ends; 0 for an empty log."""
        last = self.segments.last
        return last.end if last is not None else 0

    def resume(self, end: int, *, clear: bool) -> None:
        """Continue at `end`: files after it are removed, and with `clear` the rest of its file is zeroed."""
        self.end = end
        self.forget_mapping()
        self.segments.truncate(end, clear=clear)
        last = self.segments.last
        if clear and last is not None:
            self._unsynced.add(last.start)

    # --- appending ---

    def make_room(self, count: int) -> int:
        """Make room for up to `count` units at `end`, which may move to the next file; return for how many.

        Raises:
            DiskFull: there is none for one unit; the same call may succeed later.
        """
        segments = self.segments
        last = segments.last
        if last is None or self.end >= last.start + self.units_a_file * UNIT_SIZE:
            last = self._next_file(last)
        at = self.end - last.start
        if not last.reserved:
            last.reserved = at
        count = min(count, self.units_a_file - at // UNIT_SIZE)
        upto = at + count * UNIT_SIZE + BLANK_SIZE
        if upto > last.reserved:
            before = last.reserved
            try:
                last.reserve(upto, _WINDOW)
                segments.pin(last)
                last.disable_read_ahead_from(at)
                last.populate_written(before, last.reserved - before)
            except DiskFull:
                last.reserved = before  # also if the space is allocated and touching a page of it failed
                count = (before - BLANK_SIZE - at) // UNIT_SIZE
                if count <= 0:
                    raise
        return count

    def _next_file(self, last: Segment | None) -> Segment:
        start = 0
        if last is not None:
            start = last.end
            at = self.units_a_file * UNIT_SIZE
            if not last.is_mapped:
                segments_view = self.segments.find(last.start)
                assert segments_view is last  # noqa: S101 - it is the newest
            last.mapping[at : at + BLANK_SIZE] = blank(last.size - at)
            self._unsynced.add(last.start)
        following = self.segments.append(start)
        self.segments.pin(following)
        if last is not None:
            self.segments.unpin(last)
        self.end = start
        return following

    def append(self, rows: bytes | bytearray) -> int:
        """Append whole units, for which there is room; return the position of the first."""
        position = self.end
        segment = self.segments.last
        assert segment is not None  # noqa: S101 - make_room made it
        at = position - segment.start
        segment.mapping[at : at + len(rows)] = rows
        self._unsynced.add(segment.start)
        self.end += len(rows)
        if self.end == segment.start + self.units_a_file * UNIT_SIZE:
            self.end = segment.end
        return position

    # --- single units ---

    def unit(self, position: int) -> TimerUnit | None:
        """The unit at a position; None when the log has none there."""
        if not self.start <= position < self.end:
            return None
        mapping = self.mapping_of(position)
        return TimerUnit(position, *UNIT_STRUCT.unpack_from(mapping, position - self._low)[1:])

    def last_unit(self) -> TimerUnit | None:
        """The newest unit; None for an empty log."""
        end = self.end
        if end > self.start and end % self.segments.file_size == 0:
            end += self.units_a_file * UNIT_SIZE - self.segments.file_size
        return self.unit(end - UNIT_SIZE)

    def mapping_of(self, position: int) -> mmap.mmap:
        """The mapped file that holds a position of the log."""
        if not self._low <= position < self._high or self._mapping is None:
            segment = self.segments.find(position)
            assert segment is not None  # noqa: S101 - the caller looked
            self._mapping = segment.mapping
            self._low, self._high = segment.start, segment.end
        return self._mapping

    def due_units(self, positions: array[int]) -> list[DueTimerUnit]:
        """The units at some positions, where the log has units.

        Raises:
            IndexError: no unit can begin at one of them.
        """
        units: list[DueTimerUnit] = []
        while left := positions[len(units) :]:
            found = due_units(DueTimerUnit, self.mapping_of(left[0]), self._low, left)
            if not found:
                raise IndexError(left[0])
            units += found
        return units

    def settle(self, outcomes: list[tuple[int, int]]) -> dict[int, int]:
        """Set outcomes of units, given by their positions.

        Returns:
            how many of them waited, markers not counted, by the hashes of their topics.

        Raises:
            IndexError: no unit can begin at one of the positions.
        """
        counts: dict[int, int] = {}
        done = 0
        while done < len(outcomes):
            before, position = done, outcomes[done][0]
            mapping = self.mapping_of(position)
            self._unsynced.add(self._low)
            done = settle_units(mapping, self._low, outcomes, before, counts)
            if done == before:
                raise IndexError(position)
        return counts

    def rewrite(self, unit: TimerUnit) -> None:
        """Overwrite a unit in place, with other fields."""
        at = unit.position - unit.position % self.segments.file_size
        mapping = self.mapping_of(unit.position)
        mapping[unit.position - at : unit.position - at + UNIT_SIZE] = UNIT_STRUCT.pack(UNIT_SIZE, *unit[1:])
        self._unsynced.add(at)

    def note_written(self, position: int) -> None:
        """Mark the file that begins at a position for the next sync: it was written through its mapping."""
        self._unsynced.add(position)

    def chain(self, position: int) -> list[TimerUnit]:
        """The units from a position backwards, newest first, waiting or not."""
        units: list[TimerUnit] = []
        while position != NO_UNIT:
            part, position = self.part_of_chain(position, _WHOLE)
            units += part
        return units

    def part_of_chain(self, position: int, most: int) -> tuple[list[TimerUnit], int]:
        """Units from a position backwards, `most` at most and of one file, and the next position, or NO_UNIT."""
        units: list[TimerUnit] = []
        if not self.start <= position < self.end:
            return units, NO_UNIT
        mapping = memoryview(self.mapping_of(position))
        low = self._low
        add, unpack, make, row = units.append, _FIELDS.unpack_from, tuple.__new__, TimerUnit
        for _ in range(min(most, self.units_a_file)):
            fields = unpack(mapping, position - low)
            add(make(row, (position, *fields)))
            previous = fields[0]
            if previous >= position:  # damage
                return units, NO_UNIT
            position = previous
            if position < low:
                break
        return units, position

    # --- the disk ---

    @property
    def unsynced(self) -> bool:
        """Whether something was written since `take_unsynced`."""
        return bool(self._unsynced)

    @property
    def first_unsynced(self) -> bool:
        """Whether the oldest file is among what was written since `take_unsynced`."""
        return self.start in self._unsynced

    def take_unsynced(self) -> list[Segment]:
        """The files that were written since the last call; they are to be synced."""
        taken = self._unsynced
        self._unsynced = set()
        return [segment for segment in self.segments if segment.start in taken]

    def put_back(self, segments: Iterable[Segment]) -> None:
        """Mark files for the next sync again, because this one failed. Safe in a thread."""
        self._unsynced.update([segment.start for segment in segments])

    def sync(self, segments: Iterable[Segment]) -> None:
        """Flush files and their directory. Blocking; safe in a thread.

        Raises:
            OSError: the disk reported an error.
        """
        self.segments.sync_directory()
        for segment in segments:
            segment.sync()

    def remove_first(self) -> None:
        """Remove the oldest file.

        Raises:
            OSError: it cannot be removed, and is in its place still.
        """
        self.forget_mapping()
        self.segments.remove_first()

    def forget_mapping(self) -> None:
        """Search the file again at the next read."""
        self._low = self._high = -1
        self._mapping = None

    def close(self) -> None:
        """Forget all mappings."""
        self.forget_mapping()
        self.segments.unmap_all()
