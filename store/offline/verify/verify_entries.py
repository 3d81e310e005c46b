"""The last step of verifying consume queues: entries for which no record was found, and records without an entry."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.offline.read.log import CommitLogReader
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.queues import BLANK_SIZE
from rocketwire.store.offline.verify.checked_queue import CheckedQueue
from rocketwire.store.offline.verify.findings import Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.verify_log import LogCheck, LogExpectations
from rocketwire.store.offline.verify.verify_queues import QueueCheck
from rocketwire.store.records.columns import topics_of
from rocketwire.store.records.lost_pages import PAGE
from rocketwire.store.records.walk import walk
from rocketwire.wire.facts.properties import INNER_MULTI_DISPATCH
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX
from rocketwire.wire.properties import decode_stored_properties

#: What an entry without a matching record can be.
_BLANK, _UNWRITTEN, _REMOVED, _BEHIND, _NOWHERE, _STANDS_IN = range(6)


class EntryCheck:
    """The end of a verification of the queues."""

    def __init__(
        self,
        log: CommitLogReader,
        found: LogCheck,
        known: LogExpectations,
        report: ReportFinding,
        *,
        live: bool,
        crashed: bool,
    ) -> None:
        self._log = log
        self._found = found
        self._known = known
        self._report = report
        self._live = live
        self._crashed = crashed

    def check(self, check: QueueCheck, topics: Collection[str] | None) -> None:
        """Report on all queues; `topics` are those that topics.json has, None when that is not known.

        Raises:
            StoreUnreadable: a read failed.
        """
        for queue in check.queues.values():
            self._missing(queue)
            for start, stop in queue.matched.gaps(queue.queue.first, queue.queue.end):
                self._unmet(queue, start, stop)
            queue.gathered.close()
            queue.forget_window()
        for (topic, queue_id), (count, first) in check.without_queue.items():
            deleted = topics is not None and topic not in topics
            self._without_queue(topic, queue_id, count, first, deleted=deleted)

    def _missing(self, queue: CheckedQueue) -> None:
        for start, stop, first, last in queue.missing:
            if first < self._found.removed:
                continue  # message and entry were removed with their files, one after the other
            # The next start dispatches what it reads again, if it belongs at the end of its queue.
            again = start >= queue.queue.end and first >= self._known.recovered
            what = f"no entry for the records at physical offsets {first} to {last}"
            if stop - start == 1:
                what = f"no entry for the record at physical offset {first}"
            if again:
                what += "; the next start makes it"
            self._report(queue.finding(FindingKind.NOTE if again else FindingKind.DAMAGE, start, stop - start, what))

    def _without_queue(self, topic: str, queue_id: int, count: int, first: int, *, deleted: bool) -> None:
        what = f"missing: {count} messages have no consume queue, the first at physical offset {first}"
        again = first >= self._known.recovered
        if deleted:
            what += "; the topic was deleted"
        elif again:
            what += "; the next start makes it"
        kind = FindingKind.NOTE if deleted or again else FindingKind.DAMAGE
        path = f"consumequeue/{topic}/{queue_id}"
        self._report(Finding(kind=kind, path=path, topic=topic, queue_id=queue_id, what=what))

    def _unmet(self, queue: CheckedQueue, start: int, stop: int) -> None:
        # Recovery fills the entries of messages that are not in the log with the entry of the next message.
        following = queue.entries(stop, 1) if stop < queue.queue.end else ()
        for begin, entries in queue.queue.blocks(start, stop):
            kinds = self._classify(entries)
            if len(following) and not any(start <= each < stop for each in queue.claimed):
                kinds[entries == following] = _STANDS_IN
            if self._live:
                # Their messages may have come after the log was read.
                kinds[entries["physical_offset"] >= self._known.queued] = _BEHIND
            for first, last, kind in _runs(kinds):
                self._report_run(queue, begin + first, entries[first:last], kind)

    def _classify(self, entries: NDArray[Any]) -> NDArray[np.int8]:
        offsets, sizes = entries["physical_offset"], entries["size"]
        kinds = np.full(len(entries), _NOWHERE, np.int8)
        kinds[(offsets < self._found.removed) & (offsets >= 0)] = _REMOVED
        kinds[offsets >= self._found.end] = _BEHIND
        for start, stop in self._found.lost:
            kinds[(offsets >= start) & (offsets < stop)] = _NOWHERE
        kinds[(sizes == 0) & (offsets == 0) & (entries["tags_code"] == 0)] = _UNWRITTEN
        kinds[(sizes == BLANK_SIZE) & (offsets == 0) & (entries["tags_code"] == 0)] = _BLANK
        return kinds

    def _report_run(self, queue: CheckedQueue, offset: int, entries: NDArray[Any], kind: int) -> None:
        count = len(entries)
        # Entries before the first message in the log may belong to messages of a removed file.
        first = next(iter(queue.matched), (queue.queue.end, 0))[0]
        claimed = any(offset <= each < offset + count for each in queue.claimed)
        if kind == _BLANK:
            if offset > first:
                self._add(FindingKind.NOTE, queue, offset, count, "blank entry", "blank: there are no such messages")
        elif kind == _STANDS_IN:
            what = "there are no such messages, the next one stands in their place"
            self._add(FindingKind.NOTE, queue, offset, count, "entry of the next message", what)
        elif kind == _REMOVED and (offset < first or self._live) and not claimed:
            return
        elif kind == _UNWRITTEN:
            if not any(start < offset + count and offset < stop for start, stop, *_ in queue.missing):
                what = "never written, though later ones are"
                self._add(FindingKind.DAMAGE, queue, offset, count, "unwritten entry", what)
        elif kind == _BEHIND and not claimed:
            if self._live:
                return
            what = f"points behind the end of the log, to {int(entries[0]['physical_offset'])}"
            last = offset + count == queue.queue.end
            kept = FindingKind.NOTE if self._crashed and last else FindingKind.DAMAGE
            self._add(kept, queue, offset, count, "entry behind the end", what)
        else:
            self._nowhere(queue, offset, entries)

    def _nowhere(self, queue: CheckedQueue, offset: int, entries: NDArray[Any]) -> None:
        lost = 0
        for number, place in enumerate(entries["physical_offset"].tolist()):
            if place in self._found.lost:
                lost += 1
                continue
            self._report_lost(queue, offset + number, lost)
            lost = 0
            what = self._what_is_at(queue, place, int(entries[number]["size"]))
            if what:
                claimed = queue.claimed.get(offset + number)
                if claimed is not None:
                    what += f"; the message's record is at {claimed}"
                self._add(FindingKind.DAMAGE, queue, offset + number, 1, "entry astray", what)
        self._report_lost(queue, offset + len(entries), lost)

    def _report_lost(self, queue: CheckedQueue, stop: int, count: int) -> None:
        if count:
            what = "lost: its record is in a damaged or missing part of the log"
            self._add(FindingKind.DAMAGE, queue, stop - count, count, "lost message", what)

    def _what_is_at(self, queue: CheckedQueue, place: int, size: int) -> str:
        """What is wrong with an entry that points to a place in the log; empty when nothing is."""
        file = self._log.file_of(place)
        if file is None or size <= 0:
            return f"points to physical offset {place}, where no record is"
        before = (place - file.start) % PAGE
        try:
            buffer = self._log.read(place - before, before + size)
        except FileGone:
            return ""
        walked = walk(buffer, base=place - before, position=before, whole=True, most=1)
        records = walked.records
        if not len(records.position):
            return f"points to physical offset {place}, where no whole record of {size} bytes begins"
        _, (name,) = topics_of(buffer, records)
        if queue.queue.topic.startswith(LIGHT_QUEUE_PREFIX):
            start = int(records.properties_position[0])
            properties = decode_stored_properties(buffer[start : start + int(records.properties_length[0])])
            if queue.queue.topic in properties.get(INNER_MULTI_DISPATCH, "").split(","):
                return ""
        return (
            f"points to physical offset {place}, the record of {name} queue {int(records.queue_id[0])} "
            f"offset {int(records.queue_offset[0])}"
        )

    def _add(self, kind: FindingKind, queue: CheckedQueue, offset: int, count: int, thing: str, what: str) -> None:
        queue.gathered.add(thing, offset, queue.finding(kind, offset, count, what))


def _runs(kinds: NDArray[np.int8]) -> Iterator[tuple[int, int, int]]:
    bounds = [0, *(np.flatnonzero(kinds[1:] != kinds[:-1]) + 1).tolist(), len(kinds)]
    for first, last in itertools.pairwise(bounds):
        yield first, last, int(kinds[first])
