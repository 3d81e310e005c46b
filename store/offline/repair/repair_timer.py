"""Repairing the timer's files, which refer to records by physical offset.

They are copied. Units whose record is lost are marked as settled, so that no range that is filled, or written again
later, is mistaken for a waiting message; messages whose copy is lost wait again. The timer continues at the end of its
queue where that is shorter now, and the rest of `timercheck` is made void, so that the next start reads the whole timer
log. A damaged timer log is not copied: the next start rebuilds it from the messages.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.layout import timer_log
from rocketwire.store.layout.timer_check import CHECK_STRUCT, FILE_SIZE
from rocketwire.store.offline.read.directory import StoreDirectory, discover
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.offline.read.scan import ReadProblem
from rocketwire.store.offline.timer.timer import read_check
from rocketwire.store.offline.timer.units import units_of
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.ranges import RangeSet
from rocketwire.wire.facts.layout import positions
from rocketwire.wire.names import TIMER_TOPIC

_OUTCOME_AT: Final = positions(timer_log.UNIT)["outcome"]
_SECOND: Final = 1000  # a multiple of every precision
_WAITS: Final = timer_log.WAITS.to_bytes(8)
_SETTLED: Final = timer_log.NO_COPY.to_bytes(8, "big", signed=True)


def mend_timer(root: str, lost: RangeSet, end: int, files: FileSystem, report: ReportFinding) -> None:
    """Make the timer's files fit a store whose log was repaired.

    Args:
        root: The repaired store, whose consume queues are made.
        lost: Physical offsets that held no record and were filled.
        end: Physical offset at which the log ends.
        files: The file system.
        report: Gets a finding if the timer log is not copied.

    Raises:
        OSError: a file cannot be written.
        StoreUnreadable: a file cannot be read.
    """
    directory = discover(root)
    check = read_check(directory)
    torn = _torn_at(directory)
    if torn is not None and (check is None or torn < check.last_log_flushed):
        _leave_out(directory, files)
        what = "damaged, and left out: the next start makes it from the messages that wait"
        report(Finding(kind=FindingKind.DAMAGE, path="timerlog", what=what))
        return
    if torn is not None:
        # A crash left half of what was not on the disk yet.
        _cut(directory, torn, files)
    mended, earliest = _mend_units(discover(root), lost, end, files)
    if check is None:
        return
    offset = min(check.last_queue_offset, _queue_end(directory))
    own = check.extension
    void = own is not None and (torn is not None or mended or any(lost) or own.log_place > end)
    if offset == check.last_queue_offset and earliest is None and not void:
        return
    read_time = check.last_read_time
    if earliest is not None:
        read_time = min(read_time, earliest - earliest % _SECOND)
    fields = CHECK_STRUCT.pack(
        read_time,
        check.last_log_flushed,
        offset,
        min(check.master_queue_offset, offset),
        check.state_version,
        check.timestamp,
        check.counter + 1,
    )
    files.write(f"{root}/config/timercheck", fields.ljust(FILE_SIZE, b"\0"))


def _torn_at(directory: StoreDirectory) -> int | None:
    """Position behind the last readable unit, if more units follow there or a file is missing."""
    troubles: list[ReadProblem] = []
    expected = directory.timer_log[0].start if directory.timer_log else 0
    for file in directory.timer_log:
        if file.start != expected:
            return expected
        expected = file.end
        for start, units in units_of(file, troubles.append):
            if troubles:
                return start + len(units) * timer_log.UNIT_SIZE
    return None


def _cut(directory: StoreDirectory, torn: int, files: FileSystem) -> None:
    """Remove the units from a position on, and the wheel, which the next start rebuilds from the others."""
    for file in directory.timer_log:
        if file.start >= torn:
            files.remove(file.path)
        elif file.end > torn:
            fd = files.open(file.path)
            try:
                files.clear(fd, torn - file.start, file.end - torn)
                files.sync(fd)
            finally:
                files.close(fd)
    if directory.timer_wheel is not None:
        files.remove(directory.timer_wheel.path)


def _leave_out(directory: StoreDirectory, files: FileSystem) -> None:
    paths = [file.path for file in directory.timer_log]
    paths += [file.path for file in directory.config if file.name in ("timercheck", "timercheck.bak")]
    paths += [] if directory.timer_wheel is None else [directory.timer_wheel.path]
    for path in paths:
        files.remove(path)


def _mend_units(directory: StoreDirectory, lost: RangeSet, end: int, files: FileSystem) -> tuple[bool, int | None]:
    """Settle units whose record is lost, and make those wait again whose copy is lost.

    Returns:
        Whether there were any; the earliest time of a slot, in ms, of those that wait again.
    """
    any_changed, earliest = False, None
    for file in directory.timer_log:
        changes: list[tuple[int, bytes]] = []
        for start, units in units_of(file, lambda _: None):
            is_lost = _is_lost(units["physical_offset"], lost, end)
            again = ~is_lost & (units["outcome"] > timer_log.WAITS) & _is_lost(units["outcome"], lost, end)
            places = start - file.start + np.arange(len(units)) * timer_log.UNIT_SIZE + _OUTCOME_AT
            is_lost &= units["outcome"] == timer_log.WAITS
            changes += [(at, _SETTLED) for at in places[is_lost].tolist()]
            changes += [(at, _WAITS) for at in places[again].tolist()]
            if again.any():
                first = int((units["write_time"].astype(np.int64) + units["delay"])[again].min())
                earliest = first if earliest is None else min(earliest, first)
        if changes:
            fd = files.open(file.path)
            try:
                for at, outcome in changes:
                    files.write_at(fd, outcome, at)
                files.sync(fd)
            finally:
                files.close(fd)
        any_changed = any_changed or bool(changes)
    return any_changed, earliest


def _is_lost(places: NDArray[np.int64], lost: RangeSet, end: int) -> NDArray[np.bool_]:
    """Which physical offsets no longer hold a record."""
    is_lost: NDArray[np.bool_] = places >= end
    for low, high in lost:
        is_lost |= (places >= low) & (places < high)
    return is_lost


def _queue_end(directory: StoreDirectory) -> int:
    for queue_files in directory.queues_of(TIMER_TOPIC)[:1]:
        with QueueReader(queue_files) as queue:
            return queue.end
    return 0
