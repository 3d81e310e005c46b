"""A whole timer log as numpy columns, for recovery: a million units are nothing unusual.

Only units that recovery may have to change are kept; `write` writes the changes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout import timer_log
from rocketwire.store.layout.timer_log import FILLER, NO_RECORD, UNIT_SIZE, UnitMagic
from rocketwire.store.timer.log import TimerLog
from rocketwire.store.timer.units import TimerUnit

_UNIT: Final = np.dtype(timer_log.UNIT_DTYPE)
#: Units that are checked in one step.
_BLOCK: Final = 1 << 15
#: Units that are compared with their record, singly, in one step.
_STRICT_BLOCK: Final = 1 << 10


class UnitTable:
    """The relevant units of a log; those without a record are included only with `every`.

    Attributes:
        end: Position behind the last valid unit of the log.
        position, physical_offset, record_size, topic_hash, magic, outcome: Columns of the units kept, as in the log.
        number: Column of their slots' numbers: time in ms divided by the precision.
    """

    def __init__(self, log: TimerLog, precision: int, *, every: bool = False) -> None:
        self._log = log
        self._every = every
        self._precision = precision
        self.end = log.start
        self._kept: list[dict[str, NDArray[Any]]] = []
        self.position = self.physical_offset = self.record_size = self.number = np.empty(0, np.int64)
        self.topic_hash = self.magic = self.outcome = self._found = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.position)

    def read(
        self,
        *,
        strict_from: int,
        is_whole: Callable[[TimerUnit], bool],
        oldest: int,
        first_offset: int,
        copies_from: int,
    ) -> Iterator[None]:
        """Read the log up to the first unit that is not valid.

        Args:
            strict_from: Units at or behind this position are also checked with `is_whole`.
            is_whole: Whether a unit fits its record.
            oldest: A time in ms: settled units of slots before it are not kept,
            first_offset: except those of records at or behind this physical offset,
            copies_from: and those whose copies are at or behind this one.
        """
        for segment in self._log.segments:
            at = 0
            while at < self._log.units_a_file:
                position = segment.start + at * UNIT_SIZE
                strict = position + _STRICT_BLOCK * UNIT_SIZE > strict_from
                most = min(_STRICT_BLOCK if strict else _BLOCK, self._log.units_a_file - at)
                rows = np.frombuffer(self._log.mapping_of(position), _UNIT, most, at * UNIT_SIZE)
                believed = _count_whole(rows, position)
                if strict:
                    believed = self._count_strictly(rows[:believed], position, strict_from, is_whole)
                self._keep(rows[:believed], position, oldest, first_offset, copies_from)
                self.end = position + believed * UNIT_SIZE
                if believed < most:
                    self._gather()
                    return
                at += most
                yield
            self.end = segment.end
        self._gather()

    def _count_strictly(
        self, rows: NDArray[Any], position: int, strict_from: int, is_whole: Callable[[TimerUnit], bool]
    ) -> int:
        for number in range(max(0, -(-(strict_from - position) // UNIT_SIZE)), len(rows)):
            if not is_whole(TimerUnit(position + number * UNIT_SIZE, *rows[number].tolist()[1:])):
                return number
        return len(rows)

    def _keep(self, rows: NDArray[Any], position: int, oldest: int, first_offset: int, copies_from: int) -> None:
        number = (rows["write_time"].astype(np.int64) + rows["delay"]) // self._precision
        outcome = rows["outcome"].astype(np.int64)
        matters = (outcome == 0) | (number * self._precision >= oldest) | (rows["physical_offset"] >= first_offset)
        matters |= outcome >= copies_from
        if not self._every:
            matters &= (outcome != FILLER) & (outcome != NO_RECORD)
        if matters.any():
            columns = {
                name: rows[name][matters].astype(np.int64)
                for name in ("physical_offset", "record_size", "topic_hash", "magic")
            }
            columns["position"] = position + np.flatnonzero(matters) * UNIT_SIZE
            columns["number"] = number[matters]
            columns["outcome"] = outcome[matters]
            self._kept.append(columns)

    def _gather(self) -> None:
        if self._kept:
            for name in tuple(self._kept[0]):
                setattr(self, name, np.concatenate([columns.pop(name) for columns in self._kept]))
        self._kept = []
        self._found = self.outcome.copy()

    @property
    def deletes(self) -> NDArray[np.bool_]:
        """Which of them are markers."""
        marked: NDArray[np.bool_] = (self.magic & UnitMagic.DELETE) != 0
        return marked

    @property
    def waits(self) -> NDArray[np.bool_]:
        """Which of them wait."""
        waiting: NDArray[np.bool_] = self.outcome == timer_log.WAITS
        return waiting

    def settle_doubles(self) -> None:
        """Of units of one record settle all but the last; all if one of them is settled by a copy."""
        _, group, count = np.unique(self.physical_offset, return_inverse=True, return_counts=True)
        if not (count > 1).any():
            return
        last = np.zeros(len(count), np.int64)
        np.maximum.at(last, group, np.arange(len(group)))
        copied = np.zeros(len(count), bool)
        copied[group[self.outcome > 0]] = True
        superseded = copied[group] | (last[group] != np.arange(len(group)))
        self.outcome[self.waits & superseded] = timer_log.NO_COPY

    def roll_at(self, indexes: NDArray[np.int64], numbers: NDArray[np.int64], now: int) -> None:
        """Make units, given by their indices, roll in slots before their own; slots and `now` are slot numbers.

        Their write time becomes `now`, because it may be far ahead of it.
        """
        size = self.file_size
        starts = self.position[indexes] // size * size
        for start in np.unique(starts).tolist():
            here = starts == start
            rows = np.frombuffer(self._log.mapping_of(start), _UNIT, self._log.units_a_file)
            places = (self.position[indexes[here]] - start) // UNIT_SIZE
            # First that they roll: a unit with only this is not delivered in its slot, but stored again.
            rows["magic"][places] |= UnitMagic.ROLL
            rows["write_time"][places] = now * self._precision
            rows["delay"][places] = (numbers[here] - now) * self._precision
            self._log.note_written(start)
        self.magic[indexes] |= UnitMagic.ROLL
        self.number[indexes] = numbers

    @property
    def file_size(self) -> int:
        """Bytes of a file of the log: positions of it begin at multiples."""
        return self._log.segments.file_size

    def unit(self, index: int) -> TimerUnit:
        """One of them, as in the log."""
        unit = self._log.unit(int(self.position[index]))
        assert unit is not None  # noqa: S101 - it was read there
        return unit

    def write(self) -> Iterator[None]:
        """Write the outcomes that were changed; the log must already end at `end`."""
        changed = np.flatnonzero(self.outcome != self._found)
        positions, outcomes = self.position[changed].tolist(), self.outcome[changed].tolist()
        pairs = list(zip(positions, outcomes, strict=True))
        for first in range(0, len(pairs), _BLOCK):
            self._log.settle(pairs[first : first + _BLOCK])
            yield
        self._found = self.outcome.copy()

    def link(self, indexes: NDArray[np.int64], previous: NDArray[np.int64]) -> None:
        """Make units, given by their indices in the columns, follow others, given by positions."""
        size = self.file_size
        starts = self.position[indexes] // size * size
        for start in np.unique(starts).tolist():
            here = starts == start
            rows = np.frombuffer(self._log.mapping_of(start), _UNIT, self._log.units_a_file)
            numbers = (self.position[indexes[here]] - start) // UNIT_SIZE
            wanted = previous[here]
            other = rows["previous"][numbers] != wanted
            if other.any():
                rows["previous"][numbers[other]] = wanted[other]
                self._log.note_written(start)


class ByRecord:
    """The units of a table by the physical offset of their record; only their outcomes may change."""

    def __init__(self, units: UnitTable) -> None:
        self._units = units
        self._order: NDArray[np.int64] = np.argsort(units.physical_offset, kind="stable")
        self._offsets: NDArray[np.int64] = units.physical_offset[self._order]

    def settle(self, physical_offset: int, copy_at: int) -> bool:
        """Settle the units of a record; false when it has none."""
        first = at = int(np.searchsorted(self._offsets, physical_offset))
        while at < len(self._offsets) and self._offsets[at] == physical_offset:
            self._units.outcome[self._order[at]] = copy_at
            at += 1
        return at > first


def _count_whole(rows: NDArray[Any], position: int) -> int:
    """How many of the first units have the form of one."""
    positions = position + np.arange(len(rows), dtype=np.int64) * UNIT_SIZE
    whole = (rows["size"] == UNIT_SIZE) & ((rows["magic"] & ~timer_log.MAGIC_MASK) == 0)
    whole &= (rows["magic"] & UnitMagic.DEFAULT) != 0
    whole &= (rows["previous"] >= timer_log.NO_UNIT) & (rows["previous"] < positions)
    whole &= (rows["physical_offset"] >= 0) & (rows["record_size"] > 0)
    return len(rows) if whole.all() else int(whole.argmin())


def remove_settled_files(log: TimerLog) -> int:
    """Remove the oldest files of a log without waiting units, except the last one; returns how many.

    Raises:
        OSError: one cannot be removed.
    """
    removed = 0
    while len(log.segments) > 1 and not log.first_unsynced and not _waits_in_first_file(log):
        log.remove_first()
        removed += 1
    return removed


def _waits_in_first_file(log: TimerLog) -> bool:
    rows = np.frombuffer(log.mapping_of(log.start), _UNIT, log.units_a_file)
    return bool((rows["outcome"] == timer_log.WAITS).any())
