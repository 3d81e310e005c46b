"""Records whose tag does not match the tags code of their consume queue entry.

Neither has a checksum, so nothing tells which of the two is wrong. The new entry is made from the record, as by every
start after a crash; so the report names both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.segment import file_name
from rocketwire.store.layout.consume_queue import HIGHEST_EXT_ADDRESS
from rocketwire.store.offline.read.by_queue import by_queue, entries_at, is_of
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory
from rocketwire.store.offline.read.log import RecordBlock
from rocketwire.store.offline.verify.findings import Finding, FindingKind, FindingMerger, ReportFinding
from rocketwire.store.records.property_columns import HashedProperties
from rocketwire.wire.facts.properties import TAGS
from rocketwire.wire.names import SCHEDULE_TOPIC
from rocketwire.wire.properties import decode_stored_properties


class RetaggedRecords:
    """Finds and reports them: `feed` gets the records, in their order.

    Attributes:
        count: How many there were.
    """

    def __init__(self, directory: StoreDirectory, report: ReportFinding, *, file_size: int) -> None:
        # In the schedule topic an entry tells the time of delivery in place of the tag.
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
        records = block.records
        codes = properties.tags_codes(len(topics))
        for topic, queue_id, some in by_queue(records, topics, names):
            files = self._queues.get((topic, queue_id))
            if files is not None:
                self._compare(files, block, codes, some)

    def _compare(self, files: QueueFiles, block: RecordBlock, codes: NDArray[np.int64], some: NDArray[np.intp]) -> None:
        entries = entries_at(files, block.records.queue_offset[some])
        wrong = is_of(entries, block.records, some) & (entries["tags_code"] != codes[some])
        if self._extended:
            wrong &= entries["tags_code"] > HIGHEST_EXT_ADDRESS
        for number in np.flatnonzero(wrong).tolist():
            self._say(files, block, int(some[number]), int(codes[some[number]]), int(entries["tags_code"][number]))

    def _say(self, files: QueueFiles, block: RecordBlock, number: int, code: int, found: int) -> None:
        records = block.records
        place, offset = int(records.physical_offset[number]), int(records.queue_offset[number])
        start = place - place % self._file_size
        finding = Finding(
            kind=FindingKind.DAMAGE,
            path=f"commitlog/{file_name(start)}",
            position=place - start,
            topic=files.topic,
            queue_id=files.queue_id,
            offset=offset,
            what=f"its record has {_tag(block, number)} (tags code {code}), its queue entry the tags code {found}: "
            "one of the two is wrong; the new entry is made from the record",
        )
        gathered = self._gathered.setdefault((files.topic, files.queue_id), FindingMerger(self._report))
        gathered.add("record of another tag", offset, finding)
        self.count += 1

    def finish(self) -> None:
        """Report what is left."""
        for gathered in self._gathered.values():
            gathered.close()


def _tag(block: RecordBlock, number: int) -> str:
    start = int(block.records.properties_position[number])
    text = block.buffer[start : start + int(block.records.properties_length[number])]
    tag = decode_stored_properties(text).get(TAGS)
    return "no tag" if tag is None else f"the tag {tag!r}"
