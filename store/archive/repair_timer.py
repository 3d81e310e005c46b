"""What a repair does to the timer's files, which name records by their place.

They are copied. Where records are gone, their units are marked as settled, so that no place that is filled, or written
anew later, is taken for a message that waits; the timer goes on at the end of its queue where that is shorter now; and
what `timercheck` says of the rest is made void, so that the next start reads the whole timer log. A timer log that is
damaged itself is left out: the next start makes it from the messages.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from rocketwire.store.archive.directory import Directory, discover
from rocketwire.store.archive.findings import Finding, Kind, Report
from rocketwire.store.archive.queues import Queue
from rocketwire.store.archive.ranges import Ranges
from rocketwire.store.archive.scan import Trouble
from rocketwire.store.archive.timer import read_check
from rocketwire.store.archive.timer_units import units_of
from rocketwire.store.files import FileSystem
from rocketwire.store.layout import timer_log
from rocketwire.store.layout.derive import field_offsets
from rocketwire.store.layout.timer_check import CHECK_STRUCT, FILE_SIZE
from rocketwire.wire.names import TIMER_TOPIC

_OUTCOME_AT: Final = field_offsets(timer_log.UNIT)["outcome"]
_SETTLED: Final = timer_log.NO_COPY.to_bytes(8, "big", signed=True)


def mend_timer(root: str, lost: Ranges, end: int, files: FileSystem, report: Report) -> None:
    """Make the timer's files fit a store whose log was repaired.

    Args:
        root: The repaired store, whose consume queues are made.
        lost: Physical offsets that held no record and were filled.
        end: Physical offset at which the log ends.
        files: The file system.
        report: Told when the timer log is left out.

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
        report(Finding(kind=Kind.DAMAGE, path="timerlog", what=what))
        return
    if torn is not None:
        # A crash left half of what was not on the disk yet.
        _cut(directory, torn, files)
    settled = _settle(discover(root), lost, end, files)
    if check is None:
        return
    offset = min(check.last_queue_offset, _queue_end(directory))
    own = check.extension
    void = own is not None and (torn is not None or settled > 0 or any(lost) or own.log_place > end)
    if offset == check.last_queue_offset and not void:
        return
    fields = CHECK_STRUCT.pack(
        check.last_read_time,
        check.last_log_flushed,
        offset,
        min(check.master_queue_offset, offset),
        check.state_version,
        check.timestamp,
        check.counter + 1,
    )
    files.write(f"{root}/config/timercheck", fields.ljust(FILE_SIZE, b"\0"))


def _torn_at(directory: Directory) -> int | None:
    """Position behind the last unit that can be read, where there are others behind it, or a file is missing."""
    troubles: list[Trouble] = []
    expected = directory.timer_log[0].start if directory.timer_log else 0
    for file in directory.timer_log:
        if file.start != expected:
            return expected
        expected = file.end
        for start, units in units_of(file, troubles.append):
            if troubles:
                return start + len(units) * timer_log.UNIT_SIZE
    return None


def _cut(directory: Directory, torn: int, files: FileSystem) -> None:
    """Take away the units from a position on, and the wheel, which the next start makes of the others."""
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


def _leave_out(directory: Directory, files: FileSystem) -> None:
    paths = [file.path for file in directory.timer_log]
    paths += [file.path for file in directory.config if file.name in ("timercheck", "timercheck.bak")]
    paths += [] if directory.timer_wheel is None else [directory.timer_wheel.path]
    for path in paths:
        files.remove(path)


def _settle(directory: Directory, lost: Ranges, end: int, files: FileSystem) -> int:
    """Mark the units that wait for records which are gone; give how many."""
    count = 0
    for file in directory.timer_log:
        gone: list[int] = []
        for start, units in units_of(file, lambda _: None):
            places = units["physical_offset"]
            missing = places >= end
            for low, high in lost:
                missing |= (places >= low) & (places < high)
            missing &= units["outcome"] == timer_log.WAITS
            gone += (start - file.start + np.flatnonzero(missing) * timer_log.UNIT_SIZE).tolist()
        if gone:
            fd = files.open(file.path)
            try:
                for at in gone:
                    files.write_at(fd, _SETTLED, at + _OUTCOME_AT)
                files.sync(fd)
            finally:
                files.close(fd)
        count += len(gone)
    return count


def _queue_end(directory: Directory) -> int:
    for queue_files in directory.queues_of(TIMER_TOPIC)[:1]:
        with Queue(queue_files) as queue:
            return queue.end
    return 0
