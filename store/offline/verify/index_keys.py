"""The entries that index files should have for records: the keys of messages, and in 5.x their tags."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.records.columns import RecordColumns
from rocketwire.store.records.property_columns import HashedProperties, HashedTexts, index_hashes
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.java import string_hash


class ExpectedKeys(NamedTuple):
    """Keys of records in the order they are indexed: hash, physical offset and store time (ms) of the record."""

    hash: NDArray[np.int32]
    physical_offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]

    def part(self, chosen: Any) -> ExpectedKeys:  # noqa: ANN401 - a slice, a mask or numbers
        """Some of them."""
        return ExpectedKeys(*(column[chosen] for column in self))


class WalkedRecords(NamedTuple):
    """Records that follow one another in the log.

    Attributes:
        records: The records.
        topics: Of each record the number of its topic in `names`.
        names: Names of topics.
        properties: Of the records.
    """

    records: RecordColumns
    topics: NDArray[np.int32]
    names: list[str]
    properties: HashedProperties


class IndexKeys:
    """Finds which keys of records are indexed: of those from the physical offset `first` on."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._prefixes: dict[str, tuple[int, int]] = {}

    def plain(self, batch: WalkedRecords) -> ExpectedKeys:
        """The keys alone, as 4.x indexes them."""
        prefixes = np.array([self._prefix(name)[0] for name in batch.names], np.int64).astype(np.uint32)
        return self._expected(batch, prefixes, batch.properties.keys)

    def tagged(self, batch: WalkedRecords, plain: ExpectedKeys) -> ExpectedKeys:
        """The keys with the tags, as 5.x indexes them: behind the keys of a message its tag, as `topic#T#tag`."""
        prefixes = np.array([self._prefix(name)[1] for name in batch.names], np.int64).astype(np.uint32)
        tags = self._expected(batch, prefixes, batch.properties.tags)
        both = ExpectedKeys(
            np.concatenate([plain.hash, tags.hash]),
            np.concatenate([plain.physical_offset, tags.physical_offset]),
            np.concatenate([plain.timestamp, tags.timestamp]),
        )
        return both.part(np.argsort(both.physical_offset, kind="stable"))

    def _expected(self, batch: WalkedRecords, prefixes: NDArray[np.uint32], texts: HashedTexts) -> ExpectedKeys:
        records = batch.records
        hashes = index_hashes(prefixes[batch.topics[texts.record]], texts.hash, texts.length)
        flags = records.sys_flag[texts.record] & SysFlag.TRANSACTION_MASK
        chosen = flags != SysFlag.TRANSACTION_ROLLBACK
        chosen &= records.physical_offset[texts.record] >= self._first
        of = texts.record[chosen]
        return ExpectedKeys(hashes[chosen], records.physical_offset[of], records.store_timestamp[of])

    def _prefix(self, topic: str) -> tuple[int, int]:
        found = self._prefixes.get(topic)
        if found is None:
            found = self._prefixes[topic] = string_hash(topic + "#"), string_hash(topic + "#T#")
        return found
