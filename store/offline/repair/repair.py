"""Repairing a store: a new directory with every whole record of the old one, which is only read.

Every record keeps its physical offset, so all references to it stay valid. Ranges without a record are filled: up to a
file's end with an end-of-file blank, else with records that no consumer gets (`filler`). Bytes behind the end of the
log are not copied.

Consume queues and index are rebuilt from the new log, as by any start after a crash. All else is copied unchanged,
except the units of lost records in the timer's files (repair_timer).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from rocketwire.store.disk.files import NO_ROOM, FileSystem
from rocketwire.store.disk.input_files import entries
from rocketwire.store.disk.segment import file_name
from rocketwire.store.errors import DiskFull, StoreForeign, StoreLocked, StoreNotWritable, StoreUnreadable
from rocketwire.store.offline.read.config import table
from rocketwire.store.offline.read.directory import StoreDirectory, StoreState, discover
from rocketwire.store.offline.read.log import BLOCK, CommitLogReader
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.offline.repair.copying import copy_directory
from rocketwire.store.offline.repair.doubtful import RekeyedRecords, RetaggedRecords
from rocketwire.store.offline.repair.misplaced import MisplacedRecords
from rocketwire.store.offline.repair.repair_timer import mend_timer
from rocketwire.store.offline.repair.settings_of import settings_of
from rocketwire.store.offline.verify.filler import fillers
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.ranges import RangeSet
from rocketwire.store.offline.verify.verify import log_expectations
from rocketwire.store.offline.verify.verify_log import LogCheck
from rocketwire.store.records.columns import topics_of
from rocketwire.store.records.property_columns import hashed_properties
from rocketwire.store.store import MessageStore
from rocketwire.wire.facts.record import BLANK_MAGIC, END_OF_FILE_BLANK

#: Made from the log, or when the store is opened.
_NOT_COPIED: Final = frozenset(
    {"abort", "abort.bak", "checkpoint", "commitlog", "consumequeue", "consumequeue_ext", "index", "lock"}
)
_HOST: Final = bytes(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """The result of a repair.

    Attributes:
        records: Records that were copied, at their physical offsets.
        filled: Ranges of the log that held no record.
        filled_bytes: Their bytes.
        lost: Messages that the old consume queues point to and the log did not have any more.
        retagged: Records whose tag does not match their old queue entries.
        rekeyed: Records whose keys do not match their old index entries.
    """

    records: int
    filled: int
    filled_bytes: int
    lost: int
    retagged: int
    rekeyed: int


def repair(
    root: str,
    target: str,
    report: ReportFinding,
    *,
    clock: Callable[[], int],
    progress: Callable[[int], None] = lambda _: None,
    files: FileSystem | None = None,
) -> RepairResult:
    """Make a repaired copy of a damaged store.

    Args:
        root: The damaged store.
        target: Where to make the new one: a directory that does not exist, or is empty.
        report: Gets what was found in the log, the messages that are lost, and those whose tag or keys are in doubt.
        clock: Gives the time in ms since 1970.
        progress: Gets the number of bytes of the log that were read since the last call.
        files: The file system to write to, if not the real one.

    Raises:
        StoreLocked: a broker uses the old store, or may use it.
        StoreForeign: the new directory is not empty, or one of the two is inside the other.
        StoreUnreadable: the old store cannot be read.
        DiskFull: there is no room; what was made so far remains.
        StoreNotWritable: the new directory cannot be written.
    """
    directory = discover(root)
    if directory.state in {StoreState.LIVE, StoreState.UNKNOWN}:
        raise StoreLocked(root)
    _check_target(root, target)
    made = _Repair(directory, target.rstrip("/") or "/", report, files or FileSystem())
    with _writing(target):
        made.write_log(progress)
        made.copy_others()
    made.rebuild(clock)
    return made.result()


def _check_target(root: str, target: str) -> None:
    old, new = Path(root).resolve(), Path(target).resolve()
    if new == old or old in new.parents or new in old.parents:
        raise StoreForeign(target, f"the repaired store must stand beside {root}, not inside it or around it")
    try:
        if entries(target):
            raise StoreForeign(target, "it is not empty; a repaired store needs a directory of its own")
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreForeign(target, error.strerror or str(error)) from error


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in NO_ROOM:
            raise DiskFull(path, reason) from error
        raise StoreNotWritable(path, reason) from error


class _Repair:
    """One repair, step by step."""

    def __init__(self, directory: StoreDirectory, target: str, report: ReportFinding, files: FileSystem) -> None:
        self._directory = directory
        self._target = target
        self._report = report
        self._files = files
        self._file_size = settings_of(directory, Path(target)).commit_log_file_size
        self._log = LogCheck(directory, log_expectations(directory), report, keep=True)
        self._filled = 0
        self._filled_bytes = 0
        self._lost = 0
        self._retagged = RetaggedRecords(directory, report, file_size=self._file_size)
        self._rekeyed = RekeyedRecords(directory, report, file_size=self._file_size)

    def result(self) -> RepairResult:
        """What was done."""
        self._report_lost()
        return RepairResult(
            records=self._log.records,
            filled=self._filled,
            filled_bytes=self._filled_bytes,
            lost=self._lost,
            retagged=self._retagged.count,
            rekeyed=self._rekeyed.count,
        )

    # --- the log ---

    def write_log(self, progress: Callable[[int], None]) -> None:
        """Read the old log and write the new one."""
        at = self._log.start
        misplaced = MisplacedRecords(self._directory)
        for block in self._log.blocks():
            of_topics = topics_of(block.buffer, block.records)
            misplaced.feed(block.records, *of_topics)
            properties = hashed_properties(block.buffer, block.records)
            self._retagged.feed(block, *of_topics, properties)
            self._rekeyed.feed(block, *of_topics, properties, log_start=self._log.removed)
            progress(block.next - at)
            at = block.next
        self._retagged.finish()
        self._rekeyed.finish()
        self._lose(misplaced)
        files = self._files
        files.make_directory(f"{self._target}/commitlog")
        # Until all files are copied, this is a store that has to be recovered.
        files.write(f"{self._target}/abort", b"")
        size = self._file_size
        first = self._log.start - self._log.start % size
        with CommitLogReader(self._directory.commit_log) as log:
            for start in range(first, self._log.end, size):
                self._write_file(log, start, start + size)
        files.sync_directory(f"{self._target}/commitlog")

    def _lose(self, misplaced: MisplacedRecords) -> None:
        found = {each.physical_offset: each for each in misplaced.find()}
        size = self._file_size
        for place, each in sorted(found.items(), reverse=True):
            start = place - place % size
            self._log.records -= 1
            if place + each.size == self._log.end:
                self._log.end = place
            self._log.lost.add(place, place + each.size)
            what = (
                f"it says that it is in another queue or at another offset than {each.topic} queue {each.queue_id} "
                f"offset {each.offset}, whose entry points to it"
            )
            path = f"commitlog/{file_name(start)}"
            self._report(Finding(kind=FindingKind.DAMAGE, path=path, position=place - start, what=what))

    def _write_file(self, log: CommitLogReader, start: int, stop: int) -> None:
        empty = RangeSet()
        for lost in (self._log.lost, self._log.blanks):
            for low, high in lost:
                empty.add(max(low, start), min(high, stop))
        end = min(self._log.end, stop)
        fd = self._files.create(f"{self._target}/commitlog/{file_name(start)}", stop - start)
        try:
            at = start
            for low, high in empty:
                self._copy(log, fd, start, at, min(low, end))
                self._fill(log, fd, start, low, min(high, end))
                at = high
            self._copy(log, fd, start, at, end)
            self._files.sync(fd)
        finally:
            self._files.close(fd)

    def _copy(self, log: CommitLogReader, fd: int, start: int, at: int, end: int) -> None:
        while at < end:
            data = log.read(at, min(BLOCK, end - at))
            if not data:
                raise StoreUnreadable(f"{self._directory.root}/commitlog", "a file became shorter meanwhile")
            self._files.write_at(fd, data, at - start)
            at += len(data)

    def _fill(self, log: CommitLogReader, fd: int, start: int, low: int, high: int) -> None:
        if low >= high:
            return
        if high - start == self._file_size:
            blank = END_OF_FILE_BLANK.build({"size": high - low, "magic": BLANK_MAGIC})
            self._files.write_at(fd, blank, low - start)
        else:
            at = low
            # A record follows: else the part would end its file, or the log.
            timestamp = log.store_time(high)
            if timestamp is None:
                raise StoreUnreadable(f"{self._directory.root}/commitlog", "it was changed meanwhile")
            for record in fillers(low, high, timestamp):
                self._files.write_at(fd, record, at - start)
                at += len(record)
        lost = sum(max(0, min(stop, high) - max(begin, low)) for begin, stop in self._log.lost)
        self._filled += lost > 0
        self._filled_bytes += lost

    # --- everything else ---

    def copy_others(self) -> None:
        """Copy what is not made from the log: config, timer, and unknown files."""
        copy_directory(self._directory.root, self._target, self._files, but=_NOT_COPIED)

    def rebuild(self, clock: Callable[[], int]) -> None:
        """Make consume queues, index and checkpoint: open the new store, which finds that it has to be recovered."""
        store = MessageStore.open(
            settings_of(self._directory, Path(self._target)), clock=clock, store_host=_HOST, files=self._files
        )
        while store.dispatch_index():
            pass
        store.close()
        with _writing(self._target):
            self._remove_deleted_topics()
            mend_timer(self._target, self._log.lost, self._log.end, self._files, self._report)

    def _remove_deleted_topics(self) -> None:
        """Messages of a deleted topic are still in the log, so the rebuild made their queues again."""
        try:
            named = table(self._directory, "topics.json", "topicConfigTable")
        except StoreUnreadable:
            return
        had = {queue.topic for queue in self._directory.queues if queue.files}
        if not had or not named:
            return
        root = f"{self._target}/consumequeue"
        for topic in self._files.names(root):
            if topic not in had and topic not in named:
                for queue in self._files.names(f"{root}/{topic}"):
                    for name in self._files.names(f"{root}/{topic}/{queue}"):
                        self._files.remove(f"{root}/{topic}/{queue}/{name}")
                    self._files.remove_directory(f"{root}/{topic}/{queue}")
                self._files.remove_directory(f"{root}/{topic}")

    def _report_lost(self) -> None:
        """Report the messages that the old queues had and the new log does not."""
        for files in self._directory.queues:
            if not files.files:
                continue
            gone = RangeSet()
            with QueueReader(files, log_start=self._directory.start) as queue:
                for offset, found in queue.blocks(queue.min, queue.end):
                    places = found["physical_offset"]
                    # An entry behind the log's end remains from a crash, or is damage; either way there is no message.
                    lost = places >= self._log.end
                    for low, high in self._log.lost:
                        lost |= (places >= low) & (places < high)
                    for number in np.flatnonzero(lost).tolist():
                        gone.add(offset + number, offset + number + 1)
            for start, stop in gone:
                self._lost += stop - start
                self._report(
                    Finding(
                        kind=FindingKind.DAMAGE,
                        path=f"consumequeue/{files.topic}/{files.queue_id}",
                        topic=files.topic,
                        queue_id=files.queue_id,
                        offset=start,
                        count=stop - start,
                        what="lost",
                    )
                )
