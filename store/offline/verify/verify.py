"""Verifying a whole store in one pass over the log, which compares all other files meanwhile.

Nothing is changed, locked or memory-mapped. What a broker appends after the start is not checked: up to where some
consume queue points at that moment, everything must exist. Memory is bounded: a batch of records, a window of each
queue, and one index file's slots.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.read.ahead import newest_entries
from rocketwire.store.offline.read.config import CheckpointTimes, checkpoint, table
from rocketwire.store.offline.read.directory import StoreDirectory, StoreState
from rocketwire.store.offline.read.log import CommitLogReader, LogFileReader, RecordPlace
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.salvage import is_record
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.verify_entries import EntryCheck
from rocketwire.store.offline.verify.verify_index import IndexCheck
from rocketwire.store.offline.verify.verify_log import LogCheck, LogExpectations
from rocketwire.store.offline.verify.verify_pop import PopCheck
from rocketwire.store.offline.verify.verify_queues import QueueCheck
from rocketwire.store.offline.verify.verify_small import check_checkpoint, check_small_files
from rocketwire.store.offline.verify.verify_timer import TimerCheck
from rocketwire.store.records.columns import topics_of
from rocketwire.store.records.property_columns import hashed_properties

#: Recovery goes back this much behind the checkpoint (ms).
_MARGIN: Final = 3000
_TRIES: Final = 10
_PAUSE: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifySummary:
    """What was checked, and what was found.

    Attributes:
        state: How the store was.
        log_bytes: From the first file's begin to the end of the last record.
        records, queue_entries, index_entries, timer_units: How many were checked.
        check_points, acknowledgements: How many there are in POP's revive topic.
        damages, notes: How many findings there were of each kind.
    """

    state: StoreState
    log_bytes: int
    records: int
    queue_entries: int
    index_entries: int
    timer_units: int
    check_points: int
    acknowledgements: int
    damages: int
    notes: int


def verify(
    directory: StoreDirectory,
    report: ReportFinding,
    *,
    progress: Callable[[int], None] = lambda _: None,
    pause: Callable[[], None] = lambda: time.sleep(_PAUSE),
) -> VerifySummary:
    """Verify all files of a store.

    Args:
        directory: What `discover` found.
        report: Gets every finding, as it is found.
        progress: Gets the number of bytes of the log that were read since the last call.
        pause: Waits a little for the broker that is writing a record.

    Raises:
        StoreUnreadable: a read failed, or a directory may not be read.
    """
    counts = dict.fromkeys(FindingKind, 0)

    def counted(finding: Finding) -> None:
        counts[finding.kind] += 1
        report(finding)

    live = directory.state in {StoreState.LIVE, StoreState.UNKNOWN}
    known = log_expectations(directory, pause=pause)
    check_small_files(directory, counted)
    index = IndexCheck(directory, counted, live=live)
    queues = QueueCheck(directory, known, counted, live=live)
    timer = TimerCheck(directory, counted, live=live)
    timer.read()
    pop = PopCheck(directory, counted)
    log = LogCheck(directory, known, counted)
    at = log.start
    for block in log.blocks():
        records = block.records
        topics, names = topics_of(block.buffer, records)
        properties = hashed_properties(block.buffer, records)
        queues.feed(records, topics, names, properties.tags_codes(len(topics)))
        index.feed(records, topics, names, properties, following=block.next, log_start=log.removed)
        timer.feed(block.buffer, records, topics, names)
        pop.feed(block.buffer, records, topics, names)
        progress(block.next - at)
        at = block.next
    pop.finish()
    queues.finish()
    index.finish()
    timer.finish(log_start=log.removed, log_end=log.end, blanks=log.blanks)
    with CommitLogReader(directory.commit_log) as places:
        ends = EntryCheck(places, log, known, counted, live=live, crashed=directory.state is StoreState.CRASHED)
        ends.check(queues, _topics(directory))
    check_checkpoint(directory, log.newest_timestamp, counted)
    return VerifySummary(
        state=directory.state,
        log_bytes=log.end - log.start,
        records=log.records,
        queue_entries=queues.entries,
        index_entries=index.entries,
        timer_units=timer.units,
        check_points=pop.check_points,
        acknowledgements=pop.acknowledgements,
        damages=counts[FindingKind.DAMAGE],
        notes=counts[FindingKind.NOTE],
    )


def log_expectations(directory: StoreDirectory, *, pause: Callable[[], None] = lambda: None) -> LogExpectations:
    """What is known of the log from consume queues and checkpoint.

    A broker may write a queue's entry before its record; `pause` waits for that.

    Raises:
        StoreUnreadable: a read failed.
    """
    newest = _newest_entry(directory)
    if directory.state in {StoreState.LIVE, StoreState.UNKNOWN}:
        for _ in range(_TRIES):
            if newest is None or _is_written(directory, newest):
                break
            pause()
            newest = _newest_entry(directory)
    queued = -1 if newest is None else newest.end
    times = _times(directory)
    crashed = directory.state is StoreState.CRASHED
    recovered = _recovery_start(directory, times) if crashed else max(queued, directory.start)
    return LogExpectations(queued=queued, flushed=times.commit_log, recovered=recovered)


def _newest_entry(directory: StoreDirectory) -> RecordPlace | None:
    """The entry of all consume queues that points farthest into the log."""
    places = (place for _, place in newest_entries(directory, directory.queues))
    return max(places, key=lambda place: place.end, default=None)


def _is_written(directory: StoreDirectory, place: RecordPlace) -> bool:
    """Whether a record is written, or in a file that is newer than the directory listing."""
    for file in directory.commit_log:
        if file.start <= place.physical_offset < file.end:
            try:
                with LogFileReader(file) as opened:
                    return is_record(opened, place.physical_offset)
            except FileGone:
                break
    return True


def _times(directory: StoreDirectory) -> CheckpointTimes:
    try:
        found = checkpoint(directory)
    except StoreUnreadable:
        found = None
    return found or CheckpointTimes(commit_log=0, consume_queue=0, index=0)


def _recovery_start(directory: StoreDirectory, times: CheckpointTimes) -> int:
    """The file from which a start after a crash reads, as store.recovery chooses it."""
    recover_from = max(0, min(times.commit_log, times.consume_queue) - _MARGIN)
    for row_file in reversed(directory.commit_log[1:]):
        with LogFileReader(row_file) as file:
            timestamp = file.first_store_time()
        if timestamp is not None and 0 < timestamp <= recover_from:
            return row_file.start
    return directory.start


def _topics(directory: StoreDirectory) -> set[str] | None:
    try:
        found = set(table(directory, "topics.json", "topicConfigTable"))
    except StoreUnreadable:
        return None
    return found or None
