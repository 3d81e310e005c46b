"""Records that differ from what points to them: in their tag from the queue's entry, in their keys from the index's.

Neither side has a checksum, so it is unknown which of the two is wrong. The new entry is made from the record, as by
every start after a crash; so the report names the record and both values.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.segment import file_name
from rocketwire.store.layout.consume_queue import HIGHEST_EXT_ADDRESS
from rocketwire.store.offline.read.by_queue import by_queue, entries_at, is_of
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory
from rocketwire.store.offline.read.log import RecordBlock
from rocketwire.store.offline.verify.findings import MOST, Finding, FindingKind, FindingMerger, ReportFinding
from rocketwire.store.offline.verify.verify_index import IndexCheck
from rocketwire.store.records.property_columns import HashedProperties
from rocketwire.wire.facts.properties import KEYS, TAGS, UNIQ_KEY
from rocketwire.wire.names import SCHEDULE_TOPIC
from rocketwire.wire.properties import decode_stored_properties, split_keys

_CHOICE: Final = "one of the two is wrong; the new entry is made from the record"


def _finding(block: RecordBlock, number: int, topic: str, file_size: int, what: str) -> Finding:
    records = block.records
    place = int(records.physical_offset[number])
    start = place - place % file_size
    return Finding(
        kind=FindingKind.DAMAGE,
        path=f"commitlog/{file_name(start)}",
        position=place - start,
        topic=topic,
        queue_id=int(records.queue_id[number]),
        offset=int(records.queue_offset[number]),
        what=f"{what}: {_CHOICE}",
    )


def _properties(block: RecordBlock, number: int) -> dict[str, str]:
    start = int(block.records.properties_position[number])
    return decode_stored_properties(block.buffer[start : start + int(block.records.properties_length[number])])


class RetaggedRecords:
    """Finds and reports records of another tag: `feed` gets the records, in their order.

    Attributes:
        count: How many there were.
    """

    def __init__(self, directory: StoreDirectory, report: ReportFinding, *, file_size: int) -> None:
        # In the schedule topic an entry has the time of delivery in place of the tag.
        self._queues = {
            (files.topic, files.queue_id): files
            for files in directory.queues
            if files.files and files.topic != SCHEDULE_TOPIC
        }
        self._extended = "consumequeue_ext" in directory.others
        self._report = report
        self._file_size = file_size
        self._gathered: dict[tuple[str, int], FindingMerger] = {}
        self.count = 0

    def feed(
        self, block: RecordBlock, topics: NDArray[np.int32], names: list[str], properties: HashedProperties
    ) -> None:
        """Compare a block of records with their entries.

        Raises:
            StoreUnreadable: a read failed.
        """
        if not self._queues:
            return
        codes = properties.tags_codes(len(topics))
        for topic, queue_id, some in by_queue(block.records, topics, names):
            files = self._queues.get((topic, queue_id))
            if files is not None:
                self._compare(files, block, codes, some)

    def _compare(self, files: QueueFiles, block: RecordBlock, codes: NDArray[np.int64], some: NDArray[np.intp]) -> None:
        entries = entries_at(files, block.records.queue_offset[some])
        wrong = is_of(entries, block.records, some) & (entries["tags_code"] != codes[some])
        if self._extended:
            wrong &= entries["tags_code"] > HIGHEST_EXT_ADDRESS
        for at in np.flatnonzero(wrong).tolist():
            number = int(some[at])
            tag = _properties(block, number).get(TAGS)
            found = "no tag" if tag is None else f"the tag {tag!r}"
            what = f"its record has {found} (tags code {codes[number]}), its queue entry the tags code "
            finding = _finding(block, number, files.topic, self._file_size, f"{what}{entries['tags_code'][at]}")
            gathered = self._gathered.setdefault((files.topic, files.queue_id), FindingMerger(self._report))
            gathered.add("record of another tag", int(block.records.queue_offset[number]), finding)
            self.count += 1

    def finish(self) -> None:
        """Report what was not reported yet."""
        for gathered in self._gathered.values():
            gathered.close()


class RekeyedRecords:
    """Finds and reports records of other keys: `feed` gets the records, in their order.

    Attributes:
        count: How many there were.
    """

    def __init__(self, directory: StoreDirectory, report: ReportFinding, *, file_size: int) -> None:
        # Everything else that may be wrong with the index does not matter: it is made again.
        self._check = IndexCheck(directory, lambda _: None, live=False, differs=self._differs)
        self._report = report
        self._file_size = file_size
        self._found: dict[int, int] = {}
        self.count = 0

    def feed(
        self,
        block: RecordBlock,
        topics: NDArray[np.int32],
        names: list[str],
        properties: HashedProperties,
        *,
        log_start: int,
    ) -> None:
        """Compare a block of records with their entries.

        Raises:
            StoreUnreadable: a read failed.
        """
        self._check.feed(block.records, topics, names, properties, following=block.next, log_start=log_start)
        for place, key_hash in self._found.items():
            self.count += 1
            if self.count <= MOST:
                number = int(np.searchsorted(block.records.physical_offset, place))
                said = _properties(block, number)
                keys = [repr(key) for name in (UNIQ_KEY, KEYS) for key in split_keys(said.get(name))]
                found = f"the keys {', '.join(keys)}" if keys else "no keys"
                what = f"its record has {found}, an index entry the hash {key_hash} of none of them"
                self._report(_finding(block, number, names[int(topics[number])], self._file_size, what))
        self._found.clear()

    def finish(self) -> None:
        """Close the index, and report how many there are beside those that were named."""
        self._check.finish()
        if self.count > MOST:
            what = f"{self.count - MOST} more records have keys that their index entries do not have"
            self._report(Finding(kind=FindingKind.DAMAGE, path="index", what=what, count=self.count - MOST))

    def _differs(self, physical_offset: int, key_hash: int) -> None:
        self._found[physical_offset] = key_hash
