"""Recovery: find where the log really ends, cut what is torn, and bring the consume queues up to it.

After a clean stop the last three files are read, or only the last megabytes of them when the queues tell where a
record begins. After any other stop the log is read from the newest file whose first message is older than the
checkpoint: what lies before it is on the disk, in log and queues; from there on all queue entries are made again.
If a queue turns out to miss older entries, everything is made again from the start of the log.

The log is cut at the first record that is not whole. The file it was cut in is zeroed behind the cut: a leftover that
happens to begin where a later record ends must not come back to life.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.store.checkpoint import Checkpoint
from rocketwire.store.commit_log import CommitLog
from rocketwire.store.queues import LONGEST_NAME, QueueTable, usable
from rocketwire.store.records import ScannedRecord, Scanner, store_timestamp
from rocketwire.store.settings import StoreSettings
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.message import MAGIC_AT, MAGIC_V1, MAGIC_V2, STORE_TIMESTAMP_AT_IPV4

#: Files that are read after a clean stop ...
_CLEAN_FILES: Final = 3
#: ... or this much of their end, if some of the queues say where a record begins there.
_CLEAN_BYTES: Final = 16 << 20
_CLEAN_QUEUES: Final = 64
#: A record that claims to be further behind its queue's end than this is not believed, and gets no entry.
_MOST_MISSING: Final = 1 << 20


class _QueueIncomplete(Exception):
    """A queue lacks entries of messages before the part of the log that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What recovery did: it read so many records from `start` to `end`, the last stored at `last_timestamp` (ms)."""

    start: int
    end: int
    records: int
    last_timestamp: int


def recover(
    log: CommitLog, queues: QueueTable, checkpoint: Checkpoint, settings: StoreSettings, *, clean: bool
) -> Recovered:
    """Recover a loaded log and loaded queues.

    Raises:
        DiskFull: there is no room for the consume queues.
    """
    if not len(log.segments):
        queues.remove_all()
        log.resume(0, flushed=0, clear=False)
        return Recovered(start=0, end=0, records=0, last_timestamp=0)
    scanner = Scanner(settings.delay_levels, check_crc=settings.check_crc_on_recover, keys=False)
    known = queues.physical_end()
    if known < log.start:
        start = dispatch_from = log.start
    elif clean:
        dispatch_from = known
        start = _clean_start(log, queues, known)
    else:
        start = dispatch_from = _abnormal_start(log, checkpoint)
    try:
        done = _read(log, queues, scanner, start, dispatch_from, clean=clean)
    except _QueueIncomplete:
        start = log.start
        done = _read(log, queues, scanner, start, start, clean=False)
    queues.truncate(done.end)
    log.resume(
        done.end,
        flushed=done.end if clean else start,
        clear=not clean or scanner.stop == "damaged",
    )
    queues.correct_min(log.start)
    return done


def _clean_start(log: CommitLog, queues: QueueTable, known: int) -> int:
    files = log.segments
    floor = files[max(0, len(files) - _CLEAN_FILES)].start
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


def _read(
    log: CommitLog, queues: QueueTable, scanner: Scanner, start: int, dispatch_from: int, *, clean: bool
) -> Recovered:
    if not clean:
        queues.truncate(start)
    files = log.segments
    number = next(i for i in range(len(files)) if files[i].start <= start < files[i].end)
    segment = files[number]
    position = start - segment.start
    records = last_timestamp = 0
    last: ScannedRecord | None = None
    held: ScannedRecord | None = None
    while True:
        record = scanner.read(segment, position)
        if record is not None:
            if held is not None:
                _dispatch(log, queues, held, start)
            held = record if record.physical_offset >= dispatch_from else None
            last = record
            records += 1
            last_timestamp = record.store_timestamp
            position += record.size
            continue
        if scanner.stop != "blank" or number + 1 == len(files):
            break
        number += 1
        segment.unmap()
        segment = files[number]
        position = 0
    end = segment.start + position
    if last is not None and position and scanner.properties_length and segment.view[position - 1] == 0:
        # The last record breaks off in its properties: no properties end with a zero byte.
        end = last.physical_offset
        records -= 1
        held = None
        scanner.stop = "damaged"
    if held is not None:
        _dispatch(log, queues, held, start)
    return Recovered(start=start, end=end, records=records, last_timestamp=last_timestamp)


def _dispatch(log: CommitLog, queues: QueueTable, record: ScannedRecord, start: int) -> None:
    if record.sys_flag & SysFlag.TRANSACTION_PREPARED:  # the bit that prepared and rolled back messages have
        return
    queue = queues.by_key.get((record.topic, record.queue_id))
    if queue is None:
        if record.queue_id < 0 or not usable(record.topic, LONGEST_NAME):
            return
        queue = queues.create(record.topic, record.queue_id, longest=LONGEST_NAME)
    offset = record.queue_offset
    if offset == queue.end:
        queue.put(record.physical_offset, record.size, record.tags_code)
    else:
        if offset > queue.end and start > log.start:
            raise _QueueIncomplete
        if offset < 0 or (queue.end and offset > queue.end + _MOST_MISSING):
            return
        queue.put_at(offset, record.physical_offset, record.size, record.tags_code)
    queues.dirty.add(queue)
