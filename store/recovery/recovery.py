"""Recovery: find the end of the log, cut off torn writes, and bring the consume queues up to date.

After a clean stop the last three files are read, or only the last megabytes of them if the queues show where a record
begins; more only if the queues end before. After a crash the log is read from the newest file whose first message is
older than the checkpoint: what is before it is flushed, in log and queues; from there on all queue entries are made
again. If a queue turns out to lack older entries, or the queues point to a place without a record, everything is made
again from the start of the log.

The log is cut at the first record that is not whole. The rest of that file is zeroed, so that a leftover which happens
to begin where a later record ends does not come back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.log.checkpoint import Checkpoint
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.queues import QueueTable
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.facts.record import MAGIC_AT, MAGIC_V1, MAGIC_V2, STORE_TIMESTAMP_AT_IPV4

#: Files that are read after a clean stop ...
_CLEAN_FILES: Final = 3
#: ... or this much of their end, if a queue shows where a record begins there.
_CLEAN_BYTES: Final = 16 << 20
_CLEAN_QUEUES: Final = 64
NONE_DELETED: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryResult:
    """The result of recovery: it read `records` from `start` to `end`, the last stored at `last_timestamp` (ms).

    `clean`: the last stop was a clean one.
    """

    start: int
    end: int
    records: int
    last_timestamp: int
    clean: bool = True


def recover(
    log: CommitLog,
    queues: QueueTable,
    checkpoint: Checkpoint,
    settings: StoreSettings,
    *,
    clean: bool,
    topics: Callable[[], Container[str] | None],
    dead_before: Mapping[str, int] = NONE_DELETED,
) -> RecoveryResult:
    """Recover a loaded log and loaded queues.

    Args:
        log: The log.
        queues: The queues.
        checkpoint: The checkpoint.
        settings: The store's.
        clean: Whether the last stop was a clean one.
        topics: Gives the topics that exist, None if that is not known.
        dead_before: By deleted topic the physical offset before which its messages get no entries.

    Raises:
        ConfigInvalid: the topics are wanted and cannot be read.
        DiskFull: there is no room for the consume queues.
        OSError: the rest of a deleted topic's queue cannot be removed.
    """
    if not len(log.segments):
        queues.remove_all()
        log.resume(0, flushed=0, clear=False)
        return RecoveryResult(start=0, end=0, records=0, last_timestamp=0, clean=clean)
    topics = functools.cache(topics)
    _finish_deletions(queues, dead_before)
    from rocketwire.store.recovery.replay import (  # noqa: PLC0415 - needs numpy, an empty store does not
        KnownTopics,
        QueueIncomplete,
        replay,
    )

    known = min(queues.physical_end(), log.segments[-1].end)
    if known < log.start:
        start = dispatch_from = log.start
    elif clean:
        dispatch_from = known
        start = _clean_start(log, queues, known)
    else:
        start = dispatch_from = _abnormal_start(log, checkpoint)
    if not clean:
        queues.truncate(start)
    known_topics = KnownTopics(topics, dead_before)
    try:
        done = replay(log, queues, settings, clean=clean, start=start, dispatch_from=dispatch_from, topics=known_topics)
        again = clean and not done.found and start > log.start
    except QueueIncomplete:
        again = True
    if again:
        start = log.start
        queues.truncate(start)
        done = replay(log, queues, settings, clean=clean, start=start, dispatch_from=start, topics=known_topics)
    queues.truncate(done.end)
    log.resume(done.end, flushed=done.end if clean else start, clear=not clean or done.damaged)
    queues.correct_min(log.start)
    return RecoveryResult(
        start=start, end=done.end, records=done.records, last_timestamp=done.last_timestamp, clean=clean
    )


def _finish_deletions(queues: QueueTable, dead_before: Mapping[str, int]) -> None:
    """Remove the queues that a deletion left because it was killed: they begin with a dead message."""
    for queue in [queue for queue in queues if queue.key[0] in dead_before and queue.end > queue.first_offset]:
        if queue.entry(queue.first_offset)[0] < dead_before[queue.key[0]]:
            queues.remove(queue)


def _clean_start(log: CommitLog, queues: QueueTable, known: int) -> int:
    files = log.segments
    floor = files[max(0, len(files) - _CLEAN_FILES)].start
    if known < floor:
        return known
    wanted = known - _CLEAN_BYTES
    if wanted <= floor:
        return floor
    newest = sorted(queues, key=lambda queue: queue.physical_end(), reverse=True)[:_CLEAN_QUEUES]
    return max(floor, *(queue.last_record_before(wanted) for queue in newest))


def _abnormal_start(log: CommitLog, checkpoint: Checkpoint) -> int:
    files = log.segments
    for number in range(len(files) - 1, 0, -1):
        view = files[number].view
        magic = int.from_bytes(view[MAGIC_AT : MAGIC_AT + 4], signed=True)
        if magic in (MAGIC_V1, MAGIC_V2) and files[number].size > STORE_TIMESTAMP_AT_IPV4 + 20:
            timestamp = store_timestamp(view)
            if 0 < timestamp <= checkpoint.recover_from:
                return files[number].start
        files[number].unmap()
    return log.start
