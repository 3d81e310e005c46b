"""Verifying 5.x's timer: wheel slots, the units in the timer log that they point to, and the records of these.

Slots are never cleared, and units and records of past times are removed with their files. So a missing one is an error
only for times that were not due yet when the timer last saved its progress (config/timercheck).

The records are checked while the log is read: the units' physical offsets are a sorted array, and a batch of records is
a slice of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.segment import file_name
from rocketwire.store.layout import timer_check, timer_log, timer_wheel
from rocketwire.store.offline.read.directory import RowFile, StoreDirectory
from rocketwire.store.offline.read.opening import FileGone, OpenFile, read_whole
from rocketwire.store.offline.timer.units import UNIT, unit_blocks
from rocketwire.store.offline.verify.filler import is_filler
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.ranges import RangeSet
from rocketwire.store.records.columns import RecordColumns
from rocketwire.wire.facts.properties import REAL_TOPIC, TIMER_OUT_MS
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_stored_properties

_CHECK_PATH: Final = "config/timercheck"
_BLOCK: Final = 1 << 20
_SLOT: Final = np.dtype(timer_wheel.SLOT_DTYPE)
#: Every precision that a broker accepts is a multiple of this (ms).
_FINEST: Final = 100
_LOST: Final = "its message was lost, and is missing from the log since it was repaired"


class TimerCheck:
    """The timer of one store; `units` counts those of the timer log."""

    def __init__(self, directory: StoreDirectory, report: ReportFinding, *, live: bool) -> None:
        self.units = 0
        self._directory = directory
        self._report = report
        self._live = live
        self._read_until = 0
        self._files = directory.timer_log
        # Of every unit: position in the timer log, and its fields; sorted by the record it points to.
        self._places: NDArray[np.int64] = np.empty(0, np.int64)
        self._units: NDArray[Any] = np.empty(0, UNIT)
        self._found: NDArray[np.bool_] = np.empty(0, bool)
        self._due_later: NDArray[np.bool_] = np.empty(0, bool)
        self._over: NDArray[np.bool_] = np.empty(0, bool)

    def read(self) -> None:
        """Read timer log, wheel and timercheck.

        Raises:
            StoreUnreadable: one of them cannot be read.
        """
        if not self._files and self._directory.timer_wheel is None:
            return
        self._read_check()
        places, units = self._read_log()
        self.units = len(units)
        self._check_wheel(places, units)
        order = np.argsort(units["physical_offset"], kind="stable")
        self._places, self._units = places[order], units[order]
        due = self._units["write_time"].astype(np.int64) + self._units["delay"]
        self._due_later = (due > self._read_until) & (self._units["outcome"] == timer_log.WAITS)
        # Records of units that are settled without a copy are not checked: they may have been lost.
        self._over = self._units["outcome"] < timer_log.WAITS
        self._found = np.zeros(len(order), bool)

    def _read_check(self) -> None:
        files = {file.name: file for file in self._directory.config}
        file = files.get("timercheck")
        if file is None:
            return
        data = read_whole(file.path, timer_check.FILE_SIZE, file.files)
        if len(data) < timer_check.CHECK_STRUCT.size:
            self._add_finding(_CHECK_PATH, None, f"it has {len(data)} bytes and should have {timer_check.FILE_SIZE}")
            return
        self._read_until, flushed, *_ = timer_check.CHECK_STRUCT.unpack_from(data)
        end = self._files[-1].end if self._files else 0
        if not 0 <= flushed <= end and not self._live:
            self._add_finding(_CHECK_PATH, 8, f"the timer log is flushed up to {flushed}, its files end at {end}")

    # --- the timer log ---

    def _read_log(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        places: list[NDArray[np.int64]] = []
        units: list[NDArray[Any]] = []
        expected: int | None = None
        for file in self._directory.timer_log:
            if expected is not None and file.start != expected:
                what = f"missing: the next file begins at {file.start}"
                self._add_finding(f"timerlog/{file_name(expected)}", None, what)
            expected = file.end
            try:
                for start, found in self._units_of(file):
                    places.append(start + np.arange(len(found), dtype=np.int64) * timer_log.UNIT_SIZE)
                    units.append(found)
            except FileGone:
                if not self._live:
                    raise
                # A live broker removes its oldest files.
                self._files = tuple(each for each in self._files if each.start > file.start)
        if not units:
            return np.empty(0, np.int64), np.empty(0, UNIT)
        return np.concatenate(places), np.concatenate(units)

    def _units_of(self, file: RowFile) -> Iterator[tuple[int, NDArray[Any]]]:
        end = 0
        with OpenFile(file.path, file.files) as opened:
            for at, units in unit_blocks(opened, file.size):
                self._check_units(file, at, units)
                yield file.start + at, units
                end = at + len(units) * timer_log.UNIT_SIZE
            if end + timer_log.UNIT_SIZE <= file.size:
                self._check_blank(file, end, opened.read(end, timer_log.BLANK_SIZE))

    def _check_units(self, file: RowFile, at: int, units: NDArray[Any]) -> None:
        wrong = units["size"] != timer_log.UNIT_SIZE
        wrong |= (units["magic"] & ~timer_log.MAGIC_MASK) != 0
        wrong |= (units["magic"] & timer_log.UnitMagic.DEFAULT) == 0
        positions = file.start + at + np.arange(len(units), dtype=np.int64) * timer_log.UNIT_SIZE
        wrong |= (units["previous"] < timer_log.NO_UNIT) | (units["previous"] >= positions)
        wrong |= (units["physical_offset"] < 0) | (units["record_size"] <= 0) | (units["outcome"] < timer_log.NO_RECORD)
        wrong |= units["write_time"] % _FINEST != 0
        # The copy of a record is behind it in the log.
        wrong |= (units["outcome"] > timer_log.WAITS) & (units["outcome"] <= units["physical_offset"])
        for number in np.flatnonzero(wrong).tolist():
            unit = units[number]
            what = (
                f"no unit of the timer log: size {unit['size']}, previous {unit['previous']}, magic {unit['magic']}, "
                f"record at {unit['physical_offset']} of {unit['record_size']} bytes, outcome {unit['outcome']}"
            )
            self._add_finding(f"timerlog/{file.name}", at + number * timer_log.UNIT_SIZE, what)

    def _check_blank(self, file: RowFile, at: int, head: bytes) -> None:
        if len(head) == timer_log.BLANK_SIZE and any(head) and head != timer_log.blank(file.size - at):
            size, zero, _ = timer_log.BLANK_STRUCT.unpack(head)
            what = f"the blank at its end says {size} bytes and {zero}, not {file.size - at} and 0"
            self._add_finding(f"timerlog/{file.name}", at, what)

    # --- the wheel ---

    def _check_wheel(self, places: NDArray[np.int64], units: NDArray[Any]) -> None:
        wheel = self._directory.timer_wheel
        if wheel is None:
            return
        if wheel.size != timer_wheel.FILE_SIZE:
            self._add_finding("timerwheel", None, f"it has {wheel.size} bytes and should have {timer_wheel.FILE_SIZE}")
        precision = 0
        chained = RangeSet()
        with OpenFile(wheel.path, wheel.files) as file:
            for at in range(0, wheel.size, _BLOCK):
                data = file.read(at, _BLOCK)
                if not data.count(0) - len(data):
                    continue
                slots = np.frombuffer(data, _SLOT, len(data) // timer_wheel.SLOT_SIZE)
                for number in np.flatnonzero(slots["time"] | slots["first_position"] | slots["last_position"]).tolist():
                    slot = slots[number]
                    precision = precision or self._precision(slot, places, units)
                    what = self._slot(at // timer_wheel.SLOT_SIZE + number, slot, precision, places, units, chained)
                    if what:
                        self._add_finding("timerwheel", at + number * timer_wheel.SLOT_SIZE, what)

    def _precision(self, slot: NDArray[Any], places: NDArray[np.int64], units: NDArray[Any]) -> int:
        """Milliseconds of a slot (timerPrecisionMs), derived from the time of the slot's unit."""
        unit = _at(int(slot["last_position"]), places, units)
        if unit is None or slot["time"] <= 0:
            return 0
        return round((int(unit["write_time"]) + int(unit["delay"])) / int(slot["time"]))

    def _slot(
        self,
        number: int,
        slot: NDArray[Any],
        precision: int,
        places: NDArray[np.int64],
        units: NDArray[Any],
        chained: RangeSet,
    ) -> str:
        """What is wrong with a slot; empty when nothing is."""
        time, first, last, count, _ = slot.tolist()
        if timer_wheel.slot_number(time) != number:
            return f"slot {number} says that it is of time {time}, whose slot is {timer_wheel.slot_number(time)}"
        due = time * precision
        start = self._files[0].start if self._files else 0
        if due <= self._read_until and last < start:
            return ""
        position, length, passed = last, 0, first
        while position != timer_log.NO_UNIT:
            unit = _at(position, places, units)
            if unit is None:
                if position < start and (due <= self._read_until or length):
                    return ""
                return f"slot {number} (time {time}) leads to the timer log's byte {position}, where no unit is"
            if not _is_of(unit, time, precision):
                return (
                    f"slot {number} (time {time}) leads to a unit of another time, at the timer log's byte {position}"
                )
            chained.add(position, position + 1)
            length, passed = length + 1, position
            previous = int(unit["previous"])
            if previous >= position:
                return f"slot {number} (time {time}): its chain goes forward at the timer log's byte {position}"
            position = previous
        # Apache's brokers keep the first position when they rebuild a slot whose chain rocketwire began again.
        if passed < first or (first >= start and not _is_of(_at(first, places, units), time, precision)):
            return f"slot {number} (time {time}): its chain ends at {passed}, not at {first}"
        if count > length and due > self._read_until:
            return f"slot {number} (time {time}) counts {count} messages, its chain has {length} units"
        return ""

    # --- the records ---

    def feed(self, buffer: bytes, records: RecordColumns, topics: NDArray[np.int32], names: list[str]) -> None:
        """Check a batch of records against the units that point to it."""
        if not len(self._places):
            return
        offsets = self._units["physical_offset"]
        low, high = np.searchsorted(
            offsets, [int(records.physical_offset[0]), int(records.physical_offset[-1])], side="left"
        ).tolist()
        high = int(np.searchsorted(offsets, records.physical_offset[-1], side="right"))
        for number in range(low, high):
            if self._over[number]:
                continue
            unit = self._units[number]
            at = int(np.searchsorted(records.physical_offset, unit["physical_offset"]))
            if int(records.physical_offset[at]) != int(unit["physical_offset"]):
                continue
            self._found[number] = True
            place, topic = int(self._places[number]), names[topics[at]]
            if is_filler(topic, int(records.sys_flag[at])):
                self._at_unit(FindingKind.NOTE, place, _LOST)
            elif what := self._record(buffer, records, at, topic, unit):
                self._at_unit(FindingKind.DAMAGE, place, what)

    def _record(self, buffer: bytes, records: RecordColumns, at: int, topic: str, unit: NDArray[Any]) -> str:
        place = f"the record at physical offset {int(unit['physical_offset'])}"
        if topic != TIMER_TOPIC:
            return f"{place} is of topic {topic}"
        size = int(records.size[at])
        if size != int(unit["record_size"]):
            return f"{place} has {size} bytes, the unit says {int(unit['record_size'])}"
        start = int(records.properties_position[at])
        properties = decode_stored_properties(buffer[start : start + int(records.properties_length[at])])
        out = properties.get(TIMER_OUT_MS, "")
        time = int(unit["write_time"]) + int(unit["delay"])
        if time % _FINEST > 1 and str(time) != out:  # one that was late is put at the first moment of a slot
            return f"{place} is to come at {out}, the unit says {time}"
        real = properties.get(REAL_TOPIC)
        if real is not None and string_hash(real) != int(unit["topic_hash"]):
            return f"{place} is for topic {real}, whose hash is not {int(unit['topic_hash'])}"
        return ""

    def finish(self, *, log_start: int, log_end: int, blanks: RangeSet) -> None:
        """Report units that point to no record; a lost record may have been behind an end-of-file blank."""
        offsets = self._units["physical_offset"].astype(np.int64)
        lost = ~self._found & ~self._over & (self._due_later | (offsets >= log_start))
        if self._live:
            lost &= (offsets >= log_start) & (offsets < log_end)
        for number in np.flatnonzero(lost).tolist():
            place, offset = int(self._places[number]), int(offsets[number])
            if offset in blanks:
                self._at_unit(FindingKind.NOTE, place, _LOST)
            else:
                self._at_unit(FindingKind.DAMAGE, place, f"no record begins at physical offset {offset}")

    def _at_unit(self, kind: FindingKind, place: int, what: str) -> None:
        for file in self._files:
            if file.start <= place < file.end:
                self._add_finding(f"timerlog/{file.name}", place - file.start, what, kind)

    def _add_finding(self, path: str, position: int | None, what: str, kind: FindingKind = FindingKind.DAMAGE) -> None:
        self._report(Finding(kind=kind, path=path, position=position, what=what))


def _at(place: int, places: NDArray[np.int64], units: NDArray[Any]) -> NDArray[Any] | None:
    number = int(np.searchsorted(places, place))
    return units[number] if number < len(places) and int(places[number]) == place else None


def _is_of(unit: NDArray[Any] | None, time: int, precision: int) -> bool:
    return unit is not None and (int(unit["write_time"]) + int(unit["delay"])) // precision == time
