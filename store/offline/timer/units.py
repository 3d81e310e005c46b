"""Reading the units of a timer log with pread, and selecting those whose messages wait.

The last 8 bytes of a unit are its outcome: 0 while the message waits, the physical offset of its copy, or -1 if there
will be no copy. Apache leaves 0 there; of its units those of past slots are done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout import timer_log
from rocketwire.store.offline.read.directory import RowFile, StoreDirectory, StoreState
from rocketwire.store.offline.read.opening import FileGone, OpenFile
from rocketwire.store.offline.read.scan import ReadProblem, ReportProblem
from rocketwire.wire.facts.record import BLANK_MAGIC

UNIT: Final = np.dtype(timer_log.UNIT_DTYPE)
_BLOCK: Final = 16 * 1024

#: A message or marker that waits. `out` is when its slot comes (ms), which is its TIMER_OUT_MS unless it has ROLL in
#: `magic`: then it rolls at that time, and is due later. `position` is that of its unit in the timer log, -1 for one
#: that has none yet; `queue_offset` is -1, and `mark` (see timer_message) 0, where only the record has it.
WAITING: Final = np.dtype(
    [
        ("out", np.int64),
        ("physical_offset", np.int64),
        ("position", np.int64),
        ("queue_offset", np.int64),
        ("mark", np.int64),
        ("size", np.int32),
        ("topic_hash", np.int32),
        ("magic", np.int32),
        ("broker", np.int32),
    ]
)


class UnitExpectations(NamedTuple):
    """What is known of the timer log's units from other files.

    Attributes:
        read_time: No slot before this time (ms) holds a message that waits,
        flushed: but units from this position of the timer log on may, when the clock was set back; None: no unit may.
        log_end: Copies at or behind this physical offset were lost with the end of the log; None when none were.
        settled: Physical offsets of records whose copies are in the log though their units may not be marked as
            settled, sorted.
    """

    read_time: int
    flushed: int | None
    log_end: int | None
    settled: NDArray[np.int64]


def units_of(file: RowFile, report: ReportProblem) -> Iterator[tuple[int, NDArray[Any]]]:
    """The units of a file in blocks, each with the position of its first in the timer log; `report` gets bad ones.

    Raises:
        FileGone: the file was removed.
        StoreUnreadable: it cannot be read.
    """
    with OpenFile(file.path, file.files) as opened:
        for at, units in unit_blocks(opened, file.size):
            bad = units["size"] != timer_log.UNIT_SIZE
            bad |= (units["magic"] & ~timer_log.MAGIC_MASK) != 0
            bad |= (units["physical_offset"] < 0) | (units["record_size"] <= 0)
            if bad.any():
                count = int(bad.argmax())
                report(
                    ReadProblem(file.path, None, f"at byte {at + count * timer_log.UNIT_SIZE}: no unit of a timer log")
                )
                yield file.start + at, units[:count]
                return
            yield file.start + at, units


def unit_blocks(file: OpenFile, size: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """What is written of a file of so many bytes, in arrays of UNIT: each with the position in the file of its first.

    Raises:
        StoreUnreadable: it cannot be read.
    """
    at = 0
    while at + timer_log.UNIT_SIZE <= size:
        data = file.read(at, _BLOCK * timer_log.UNIT_SIZE)
        units = np.frombuffer(data, UNIT, len(data) // timer_log.UNIT_SIZE)
        ended = (units["size"] == 0) | (units["magic"] == BLANK_MAGIC)
        count = int(ended.argmax()) if ended.any() else len(units)
        yield at, units[:count]
        if count < _BLOCK:
            return
        at += count * timer_log.UNIT_SIZE


def waiting_units(
    directory: StoreDirectory, known: UnitExpectations, queued: NDArray[np.int64], report: ReportProblem
) -> tuple[NDArray[Any], NDArray[np.bool_], int]:
    """The units of messages that wait.

    Args:
        directory: The store.
        known: What is known of the units from other files.
        queued: Physical offsets, sorted, of records that are to be in the timer log by now or soon.
        report: Gets what cannot be read.

    Returns:
        An array of WAITING; which of `queued` have a unit; the precision in ms by which the units were written.

    Raises:
        StoreUnreadable: a read failed.
    """
    found = [np.empty(0, WAITING)]
    has_unit = np.zeros(len(queued), bool)
    precision = 0
    for file in directory.timer_log:
        try:
            for start, units in units_of(file, report):
                precision = int(np.gcd.reduce(units["write_time"].astype(np.int64), initial=precision))
                found.append(_waiting(start, units, known))
                if len(queued):
                    at = np.searchsorted(queued, units["physical_offset"])
                    at = at[at < len(queued)]
                    has_unit[at[np.isin(queued[at], units["physical_offset"])]] = True
        except FileGone:
            if directory.state not in (StoreState.LIVE, StoreState.UNKNOWN):
                raise
    every = np.concatenate(found)
    del found  # a million are 56 MB
    # A broker that starts may make a second unit of a record.
    places, last = np.unique(every["physical_offset"][::-1], return_index=True)
    if len(places) < len(every):
        every = every[np.sort(len(every) - 1 - last)]
    return every, has_unit, precision


def _waiting(start: int, units: NDArray[Any], known: UnitExpectations) -> NDArray[Any]:
    outcome, place = units["outcome"], units["physical_offset"]
    time = units["write_time"].astype(np.int64) + units["delay"]
    # A copy cannot be before its record: then the outcome was half written.
    waits = (outcome == 0) | ((outcome > 0) & (outcome <= place))
    if known.log_end is not None:
        waits |= outcome >= known.log_end
    due_later = time >= known.read_time
    if known.flushed is not None:
        due_later[max(0, -(-(known.flushed - start) // timer_log.UNIT_SIZE)) :] = True
    numbers = np.flatnonzero(waits & due_later)
    if len(known.settled):
        numbers = numbers[~np.isin(place[numbers], known.settled)]
    found = np.zeros(len(numbers), WAITING)
    found["out"] = time[numbers]
    found["physical_offset"] = place[numbers]
    found["position"] = start + numbers * timer_log.UNIT_SIZE
    found["queue_offset"] = -1
    found["size"] = units["record_size"][numbers]
    found["topic_hash"] = units["topic_hash"][numbers]
    found["magic"] = units["magic"][numbers]
    return found
