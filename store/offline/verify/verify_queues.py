"""Verifying the consume queues against the log: each message must have its entry, and each entry its message.

Records come in batches in the order of the log; the entries for a batch are one slice of a queue, compared as arrays.
Entries that match a record are noted; at the end the others are checked again.

A topic that was deleted and created again begins its offsets again, and its earlier messages are still in the log. So
an entry that points to a later message than the present one is kept for that message, and missing entries are forgiven
once an offset of their queue comes a second time.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.segment import file_name
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, HIGHEST_EXT_ADDRESS
from rocketwire.store.offline.read.by_queue import by_queue
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory
from rocketwire.store.offline.verify.checked_queue import CheckedQueue
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.verify_log import LogExpectations
from rocketwire.store.records.columns import RecordColumns
from rocketwire.store.settings import DELAY_LEVELS
from rocketwire.wire.names import SCHEDULE_TOPIC

#: Queues of which a window of entries is kept.
_MOST_KEPT: Final = 1024


class QueueColumns(NamedTuple):
    """Of records of one queue, in the order of the log."""

    queue_offset: NDArray[np.int64]
    physical_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    tags_code: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]


class QueueCheck:
    """All consume queues of a store; `entries` counts those that were compared with a record."""

    def __init__(self, directory: StoreDirectory, known: LogExpectations, report: ReportFinding, *, live: bool) -> None:
        self.entries = 0
        self.queues: dict[tuple[str, int], CheckedQueue] = {}
        #: Messages whose queue has no files: how many, and the first one's physical offset.
        self.without_queue: dict[tuple[str, int], tuple[int, int]] = {}
        self._odd: list[tuple[CheckedQueue, int, int, int]] = []
        self._report = report
        self._known = known
        self._live = live
        self._root, self._place = directory.root, directory.files
        self._extended = "consumequeue_ext" in directory.others
        self._kept: OrderedDict[CheckedQueue, None] = OrderedDict()
        for files in directory.queues:
            if files.files:
                found = self.queues[files.topic, files.queue_id] = CheckedQueue(files, report)
                found.forget_window()
                self._check_files(files, found)

    def _check_files(self, files: QueueFiles, queue: CheckedQueue) -> None:
        size = files.files[0].size
        expected: int | None = None
        for file in files.files:
            if file.size == 0 and file is files.files[-1]:
                continue
            if file.size != size or size % ENTRY_SIZE or file.start % max(size, 1):
                what = f"its size {file.size} or its name does not fit the queue's first file of {size} bytes"
                self._report_file(queue, f"{queue.path}/{file.name}", what)
            if expected is not None and file.start > expected:
                what = f"missing: the queue goes on in {file.name}"
                self._report_file(queue, f"{queue.path}/{file_name(expected)}", what)
            expected = file.end

    def feed(
        self, records: RecordColumns, topics: NDArray[np.int32], names: list[str], tags_codes: NDArray[np.int64]
    ) -> None:
        """Compare a batch of records with their entries."""
        for topic, queue_id, some in by_queue(records, topics, names):
            self._feed_queue(
                topic,
                queue_id,
                QueueColumns(
                    records.queue_offset[some],
                    records.physical_offset[some],
                    records.size[some],
                    tags_codes[some],
                    records.store_timestamp[some],
                ),
            )

    def _feed_queue(self, topic: str, queue_id: int, found: QueueColumns) -> None:
        queue = self.queues.get((topic, queue_id))
        count = len(found.queue_offset)
        if queue is None:
            if self._live and self._is_new(topic, queue_id):
                return
            before, physical_offset = self.without_queue.get((topic, queue_id), (0, int(found.physical_offset[0])))
            self.without_queue[topic, queue_id] = before + count, physical_offset
            return
        self._keep(queue)
        first = int(found.queue_offset[0])
        if topic == SCHEDULE_TOPIC:
            found = found._replace(tags_code=self._delivery_times(queue, queue_id, found))
        if first > queue.newest and bool((np.diff(found.queue_offset) == 1).all()):
            entries = queue.entries(first, count)
            if len(entries) == count and _same(entries, found):
                queue.matched.add(first, first + count)
                queue.newest = first + count - 1
                self.entries += count
                return
        for number in range(count):
            self._check_one(queue, *(int(column[number]) for column in found[:4]))

    def _is_new(self, topic: str, queue_id: int) -> bool:
        """Whether a live broker has made a queue since the directory was listed."""
        try:
            path = f"{self._root}/consumequeue/{topic}/{queue_id}"
            return bool(self._place.listing(path)(path))
        except OSError:
            return False

    def _keep(self, queue: CheckedQueue) -> None:
        self._kept[queue] = None
        self._kept.move_to_end(queue)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)[0].forget_window()

    def _delivery_times(self, queue: CheckedQueue, queue_id: int, found: QueueColumns) -> NDArray[np.int64]:
        """Tags codes in the schedule topic: store time and delay. The delays of the levels are a setting.

        One that is not the default is accepted if two entries in a row show it, and none before showed the default.
        """
        if queue.delay is None:
            queue.delay = DELAY_LEVELS[queue_id] if queue_id < len(DELAY_LEVELS) else 0
        entries = queue.entries(int(found.queue_offset[0]), len(found.queue_offset))
        if not queue.delay_is_sure:
            for delay in (entries["tags_code"] - found.store_timestamp[: len(entries)]).tolist():
                queue.delay_is_sure = delay in (queue.delay, queue.other_delay)
                if queue.delay_is_sure:
                    queue.delay = delay
                    break
                queue.other_delay = delay
        times = found.store_timestamp + queue.delay
        # A record without a level has its tag's code, as in any other topic.
        plain = entries["tags_code"] == found.tags_code[: len(entries)]
        times[: len(entries)][plain] = found.tags_code[: len(entries)][plain]
        return times

    def finish(self) -> None:
        """Report findings that were held back because they might have been a setting."""
        for queue, offset, code, timestamp in self._odd:
            assert queue.delay is not None  # noqa: S101 - it was learned before
            self._check_code(queue, offset, code, timestamp + queue.delay)

    def _check_one(self, queue: CheckedQueue, offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        if offset <= queue.newest:
            # The topic was created again: its first entries are removed, or the time of some record is wrong.
            queue.missing = [each for each in queue.missing if each.first >= physical_offset]
        queue.newest = offset
        entries = queue.entries(offset, 1)
        if not len(entries) or not entries[0]["size"]:
            # The newest messages of a live store had no entry yet when the queue was opened, or one in a newer file.
            if not self._live or (physical_offset < self._known.queued and offset < queue.room):
                queue.lacks(offset, physical_offset)
            return
        self.entries += 1
        found_offset, found_size, found_code = entries[0].tolist()
        if found_offset != physical_offset:
            if offset in queue.matched:
                what = f"so says the record at physical offset {physical_offset} too, but its entry is another's"
                self._at_entry(queue, offset, "entry of another message", what)
            else:
                queue.claimed[offset] = physical_offset
            return
        queue.matched.add(offset, offset + 1)
        if found_size != size:
            self._at_entry(
                queue, offset, "entry of a wrong size", f"its entry says {found_size} bytes, the record has {size}"
            )
        if queue.delay is None:
            self._check_code(queue, offset, found_code, tags_code)
        elif found_code != tags_code:
            self._odd.append((queue, offset, found_code, tags_code - queue.delay))

    def _check_code(self, queue: CheckedQueue, offset: int, found: int, expected: int) -> None:
        if found != expected and not (self._extended and found <= HIGHEST_EXT_ADDRESS):
            self._at_entry(
                queue,
                offset,
                "entry of a wrong tags code",
                f"its entry's tags code is {found}, by the record it is {expected}",
            )

    def _at_entry(self, queue: CheckedQueue, offset: int, thing: str, what: str) -> None:
        queue.gathered.add(thing, offset, queue.finding(FindingKind.DAMAGE, offset, 1, what))

    def _report_file(self, queue: CheckedQueue, path: str, what: str) -> None:
        topic, queue_id = queue.queue.topic, queue.queue.queue_id
        self._report(Finding(kind=FindingKind.DAMAGE, path=path, what=what, topic=topic, queue_id=queue_id))


def _same(entries: NDArray[Any], found: QueueColumns) -> bool:
    return bool(
        (entries["physical_offset"] == found.physical_offset).all()
        and (entries["size"] == found.size).all()
        and (entries["tags_code"] == found.tags_code).all()
    )
