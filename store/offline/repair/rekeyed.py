"""Records none of whose keys has the hash of their index entry.

Neither has a checksum, so nothing tells which of the two is wrong. The new entry is made from the record, as by every
start after a crash; so the report names the record, its keys and the entry's hash.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.disk.segment import file_name
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.log import RecordBlock
from rocketwire.store.offline.verify.findings import MOST, Finding, FindingKind, ReportFinding
from rocketwire.store.offline.verify.verify_index import IndexCheck
from rocketwire.store.records.property_columns import HashedProperties
from rocketwire.wire.facts.properties import KEYS, UNIQ_KEY
from rocketwire.wire.properties import decode_stored_properties, split_keys


class RekeyedRecords:
    """Finds and reports them: `feed` gets the records, in their order.

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
                self._say(block, int(np.searchsorted(block.records.physical_offset, place)), names, topics, key_hash)
        self._found.clear()

    def finish(self) -> None:
        """Close the index, and report how many there are beside those that were named."""
        self._check.finish()
        if self.count > MOST:
            what = f"{self.count - MOST} more records have keys that their index entries do not have"
            self._report(Finding(kind=FindingKind.DAMAGE, path="index", what=what, count=self.count - MOST))

    def _differs(self, physical_offset: int, key_hash: int) -> None:
        self._found[physical_offset] = key_hash

    def _say(self, block: RecordBlock, number: int, names: list[str], topics: NDArray[np.int32], key_hash: int) -> None:
        records = block.records
        place = int(records.physical_offset[number])
        start = place - place % self._file_size
        self._report(
            Finding(
                kind=FindingKind.DAMAGE,
                path=f"commitlog/{file_name(start)}",
                position=place - start,
                topic=names[int(topics[number])],
                queue_id=int(records.queue_id[number]),
                offset=int(records.queue_offset[number]),
                what=f"its record has {_keys(block, number)}, an index entry the hash {key_hash} of none of them: "
                "one of the two is wrong; the new entry is made from the record",
            )
        )


def _keys(block: RecordBlock, number: int) -> str:
    start = int(block.records.properties_position[number])
    text = block.buffer[start : start + int(block.records.properties_length[number])]
    properties = decode_stored_properties(text)
    keys = [key for name in (UNIQ_KEY, KEYS) for key in split_keys(properties.get(name))]
    return f"the keys {', '.join(map(repr, keys))}" if keys else "no keys"
