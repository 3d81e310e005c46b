"""Query plans: find the wanted messages the cheapest way. Every plan finds the same, in the order of the log.

- an offset message id: one read at that physical offset
- a key, or a unique key as message id: the index, and a scan of the parts of the log that it does not cover
- topics that have consume queues: their entries
- else a scan of the log; for a time range only of the commit log files that can hold it

After a crash queues and index may lack what the log has, so then the log is scanned. Store times are assumed to rise
along the log, except that the clock may have been set back by up to a minute.

Messages of a deleted topic are found by a scan, and when the topic is named. If the topic was created again, its new
queues do not lead to its former messages. A key without a topic is looked up in the topics that still exist.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.errors import StoreUnreadable
from rocketwire.store.offline.plan.select import FOREVER, MessageConditions
from rocketwire.store.offline.read.config import topic_names
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory, StoreState
from rocketwire.store.offline.read.heads import promised_size
from rocketwire.store.offline.read.index_files import IndexedPart, look_up
from rocketwire.store.offline.read.log import CommitLogReader, LogFileReader, RecordBlock, RecordPlace
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE, QueueReader
from rocketwire.store.offline.read.scan import ReadProblem, ReportProblem, scan
from rocketwire.store.offline.read.selected import SelectedMessage, with_properties
from rocketwire.wire.errors import MessageIdInvalid, WireError
from rocketwire.wire.message import MessageRecord, decode_record
from rocketwire.wire.message_id import parse_offset_message_id
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX

_CLOCK_MARGIN: Final = 60_000
#: Entries held at once over all queues, and the least of one.
_MOST_ENTRIES: Final = 1 << 17
_LEAST_ENTRIES: Final = 64


def find(directory: StoreDirectory, wanted: MessageConditions, report: ReportProblem) -> Iterator[SelectedMessage]:
    """The wanted messages in the order of the log.

    Args:
        directory: The store; what is appended to a live one later is not looked for.
        wanted: What they must have.
        report: Gets every damaged record that is found on the way, and files that were removed meanwhile.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    return plan(directory, wanted, report).run(report)


def known_topics(directory: StoreDirectory, report: ReportProblem) -> set[str]:
    """See `topic_names`; those with a directory among the consume queues, and a report, if topics.json is damaged."""
    try:
        return topic_names(directory)
    except StoreUnreadable as error:
        report(ReadProblem(error.path, None, f"{error.reason}; the topics are taken from consumequeue"))
        return set(directory.topics)


def plan(
    directory: StoreDirectory, wanted: MessageConditions, report: ReportProblem
) -> SearchById | SearchByKey | SearchQueues | SearchLog:
    """The cheapest plan for the wanted messages; `report` gets a topics.json that is needed and damaged.

    Raises:
        StoreUnreadable: a file cannot be read.
    """
    if wanted.message_id is not None:
        found = _by_offset_id(directory, wanted.message_id)
        if found is not None:
            return SearchById(wanted, found)
    if directory.state in (StoreState.CRASHED, StoreState.UNKNOWN):
        return SearchLog(directory, wanted)
    key = wanted.message_id if wanted.key is None else wanted.key
    # Without a topic it is looked for in all that are known: those with a directory, at least.
    if key is not None and directory.index and (wanted.topics is not None or directory.topics):
        topics = wanted.topics
        if topics is None:
            topics = frozenset(filter(wanted.matches_topic, known_topics(directory, report)))
        places, covered = look_up(directory.index, [(topic, key) for topic in topics])
        if covered:
            return SearchByKey(directory, wanted, places, covered)
    if wanted.topics is not None:
        queues = [directory.queues_of(topic) for topic in sorted(wanted.topics)]
        if all(queues):
            return SearchQueues(directory, wanted, [queue for some in queues for queue in some])
    return SearchLog(directory, wanted)


def _by_offset_id(directory: StoreDirectory, message_id: str) -> SelectedMessage | None:
    """The message at the physical offset in an id, if it has that id: a unique key looks just the same."""
    try:
        _, offset = parse_offset_message_id(message_id)
    except MessageIdInvalid:
        return None
    with CommitLogReader(directory.commit_log) as log:
        try:
            data = log.record(offset)
        except FileGone:
            return None
    if data is None:
        return None
    try:
        found = with_properties(decode_record(data), len(data))
    except WireError:
        return None
    return found if found.offset_message_id == message_id.upper() else None


@dataclass(frozen=True, slots=True)
class SearchById:
    """The one message that an offset message id names."""

    wanted: MessageConditions
    found: SelectedMessage

    def run(self, report: ReportProblem) -> Iterator[SelectedMessage]:  # noqa: ARG002 - as the others
        """See `find`."""
        if self.wanted.matches(self.found):
            yield self.found


@dataclass(frozen=True, slots=True)
class SearchLog:
    """The whole log, or the files of a time range."""

    directory: StoreDirectory
    wanted: MessageConditions

    def run(self, report: ReportProblem) -> Iterator[SelectedMessage]:
        """See `find`."""
        return _walk(self.directory, self.wanted, report, self._first_file(), FOREVER)

    def blocks(self, report: ReportProblem) -> Iterator[tuple[RecordBlock, NDArray[np.intp]]]:
        """Blocks of records, each with the numbers of those that are wanted by their columns: no text is read."""
        return _blocks(self.directory, self.wanted, report, self._first_file(), FOREVER)

    def _first_file(self) -> int:
        since = self.wanted.since - _CLOCK_MARGIN
        for file in reversed(self.directory.commit_log if since > 0 else ()):
            try:
                with LogFileReader(file) as opened:
                    first = opened.first_store_time()
            except FileGone:
                break
            if first is not None and first <= since:
                return file.start
        return 0


def _blocks(
    directory: StoreDirectory, wanted: MessageConditions, report: ReportProblem, start: int, end: int
) -> Iterator[tuple[RecordBlock, NDArray[np.intp]]]:
    """The blocks of a part of the log, each with those of its records that pass by their columns."""
    for block in scan(directory, report, start=start, end=end):
        records = block.records
        numbers = wanted.candidates(block)
        yield block, numbers[records.physical_offset[numbers] < end]
        if int(records.store_timestamp.min()) - _CLOCK_MARGIN >= wanted.until:
            return


def _walk(
    directory: StoreDirectory, wanted: MessageConditions, report: ReportProblem, start: int, end: int
) -> Iterator[SelectedMessage]:
    for block, numbers in _blocks(directory, wanted, report, start, end):
        records = block.records
        for number in numbers:
            properties = int(records.properties_position[number])
            if not wanted.may_match(block.buffer[properties : properties + int(records.properties_length[number])]):
                continue
            data = block.record(number)
            one = with_properties(decode_record(data, check_crc=False), len(data))
            if wanted.matches(one):
                yield one


@dataclass(frozen=True, slots=True)
class SearchByKey:
    """Places that the index gave, and a walk over what it does not cover."""

    directory: StoreDirectory
    wanted: MessageConditions
    places: Sequence[int]
    covered: Sequence[IndexedPart]

    def run(self, report: ReportProblem) -> Iterator[SelectedMessage]:
        """See `find`."""
        at = 0
        for part in sorted(self.covered):
            if part.start > at:
                yield from _walk(self.directory, self.wanted, report, at, part.start)
            yield from self._looked_up(max(at, part.start), part.end, report)
            at = max(at, part.end)
        yield from _walk(self.directory, self.wanted, report, at, FOREVER)

    def _looked_up(self, start: int, end: int, report: ReportProblem) -> Iterator[SelectedMessage]:
        with CommitLogReader(self.directory.commit_log) as log:
            for place in self.places[bisect_left(self.places, start) : bisect_left(self.places, end)]:
                file = log.file_of(place)
                if file is None:
                    continue  # older than the log
                try:
                    data = log.record(place)
                except FileGone:
                    report(ReadProblem(file.path, place, "it was removed meanwhile", gone=True))
                    continue
                one = _decoded(data, file.path, place, report)
                if one is not None and self.wanted.matches(one):
                    yield one


def _decoded(data: bytes | None, path: str, place: int, report: ReportProblem) -> SelectedMessage | None:
    """The message of a record; None, and a report, if it is damaged."""
    if data is None:
        report(ReadProblem(path, place, "there is no record"))
        return None
    try:
        message = decode_record(data)
    except WireError as error:
        report(ReadProblem(path, place, str(error)))
        return None
    return with_properties(message, len(data))


@dataclass(frozen=True, slots=True)
class SearchQueues:
    """The entries of consume queues."""

    directory: StoreDirectory
    wanted: MessageConditions
    files: Sequence[QueueFiles]

    def run(self, report: ReportProblem) -> Iterator[SelectedMessage]:
        """See `find`."""
        gone: set[str] = set()
        # Topic and queue are known from the queue and not checked in the record: messages of several queues (5.x's
        # multi-dispatch) keep the topic that they were sent to.
        left = replace(self.wanted, topics=None, system_topics=True, queue_ids=None, first_offset=0, end_offset=FOREVER)
        with CommitLogReader(self.directory.commit_log) as log:
            wanted = [files for files in self.files if self.wanted.matches_queue(files.queue_id)]
            queues = [self._opened(files) for files in wanted]
            most = max(_LEAST_ENTRIES, _MOST_ENTRIES // max(1, len(queues)))
            places = [self._places(number, queue, log, most) for number, queue in enumerate(queues)]
            for place, data in log.gather(heapq.merge(*places)):
                if len(data) < place.size or promised_size(data, 0, place.physical_offset) != place.size:
                    if not self._is_new(log, place, data):
                        self._missing(log, queues[place.queue], place, gone, report)
                    continue
                file = log.file_of(place.physical_offset)
                one = _decoded(data, "" if file is None else file.path, place.physical_offset, report)
                if one is None or not self._belongs(one.message, queues[place.queue], place, report):
                    continue
                if left.matches(one):
                    yield one

    def _opened(self, files: QueueFiles) -> QueueReader:
        with QueueReader(files, log_start=self.directory.start) as queue:
            return queue  # closed: there may be more queues than a process may have files; reading opens it again

    def _places(self, number: int, queue: QueueReader, log: CommitLogReader, most: int) -> Iterator[RecordPlace]:
        wanted = self.wanted
        since, until = wanted.since - _CLOCK_MARGIN, wanted.until + _CLOCK_MARGIN
        # If a time cannot be read, the range gets wider.
        first, end = queue.within(
            wanted.first_offset,
            wanted.end_offset,
            (lambda place: (log.store_time(place) or FOREVER) < since) if wanted.since > 0 else None,
            (lambda place: (log.store_time(place) or 0) < until) if wanted.until < FOREVER else None,
        )
        for at, entries in queue.blocks(first, end, most):
            queue.close()
            offsets, sizes = entries["physical_offset"].tolist(), entries["size"].tolist()
            for queue_offset, (offset, size) in enumerate(zip(offsets, sizes, strict=True), start=at):
                if size != BLANK_SIZE:
                    yield RecordPlace(offset, size, queue_offset, number)

    def _is_new(self, log: CommitLogReader, place: RecordPlace, data: bytes) -> bool:
        """Whether an entry is of a message that a broker stores right now: entries may be written before the record."""
        if self.directory.state is not StoreState.LIVE or not log.files:
            return False
        last = log.files[-1]
        return place.physical_offset >= last.end or (place.physical_offset >= last.start and not any(data[:4]))

    def _missing(
        self, log: CommitLogReader, queue: QueueReader, place: RecordPlace, gone: set[str], report: ReportProblem
    ) -> None:
        if not place.size:
            what = f"entry {place.queue_offset} of {queue.topic}, queue {queue.queue_id}, was never written"
            report(ReadProblem(queue.path, None, what))
            return
        file = log.file_of(place.physical_offset)
        entry = f"entry {place.queue_offset} of {queue.topic}, queue {queue.queue_id}, leads"
        if file is None:
            report(ReadProblem(queue.path, place.physical_offset, f"{entry} out of the log"))
            return
        try:
            log.read(place.physical_offset, 1)
        except FileGone:
            if file.path not in gone:
                gone.add(file.path)
                report(ReadProblem(file.path, place.physical_offset, "it was removed meanwhile", gone=True))
        else:
            report(ReadProblem(file.path, place.physical_offset, f"{entry} to what is no record of {place.size} bytes"))

    def _belongs(self, message: MessageRecord, queue: QueueReader, place: RecordPlace, report: ReportProblem) -> bool:
        if queue.topic.startswith(LIGHT_QUEUE_PREFIX):
            return True
        found = (message.topic, message.queue_id, message.queue_offset)
        if found == (queue.topic, queue.queue_id, place.queue_offset):
            return True
        says = "entry {} leads to a message of {}, queue {}, offset {}".format(place.queue_offset, *found)
        report(ReadProblem(queue.path, place.physical_offset, says))
        return False
