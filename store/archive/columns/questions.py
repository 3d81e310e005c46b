"""Questions to the columns of a store: which messages, and how many by topic, tag and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.archive.columns.extend import fit
from rocketwire.store.archive.columns.manifest import ColumnsUnfit, Manifest, load
from rocketwire.store.archive.columns.segment import BLOCK, OpenSegment
from rocketwire.store.archive.plan.select import Wanted
from rocketwire.store.archive.read.directory import Directory
from rocketwire.store.archive.read.log import Log, Place
from rocketwire.store.archive.read.scan import Report, Trouble
from rocketwire.store.archive.read.selected import Selected, with_properties
from rocketwire.wire.errors import WireError
from rocketwire.wire.java import string_hash
from rocketwire.wire.message import decode_record

#: What one can count by: the column, and how many of its units make one group.
GROUPS: Final = {"topic": ("topic", 1), "tag": ("tag", 1), "queue": ("queue_id", 1), "minute": ("minute", 1)} | {
    "hour": ("minute", 60),
    "day": ("minute", 1440),
}
_MINUTE: Final = 60_000


class Columns:
    """The columns of a store, for reading. They say nothing of messages stored after they were extended."""

    def __init__(self, directory: Directory, folder: Path) -> None:
        """Open them.

        Raises:
            ColumnsUnfit: there are none, they are damaged, or they do not fit the store.
            StoreUnreadable: the log cannot be read.
        """
        manifest = load(folder)
        if manifest is None:
            raise ColumnsUnfit("there are none")
        fit(directory, manifest)
        self.manifest: Manifest = manifest
        self._directory = directory
        self._segments = [OpenSegment(folder, segment) for segment in manifest.segments]

    def find(self, wanted: Wanted, report: Report) -> Iterator[Selected]:
        """The wanted messages in the order of the log, of which only they are read. `message_id` is not supported.

        Raises:
            ColumnsUnfit: a block is damaged.
            StoreUnreadable: the log cannot be read.
        """
        with Log(self._directory.commit_log) as log:
            for place, data in log.gather(self._places(wanted)):
                try:
                    one = with_properties(decode_record(data), len(data))
                except WireError as error:
                    report(Trouble(self._directory.root, place.physical_offset, str(error)))
                    continue
                if wanted.takes(one):
                    yield one

    def _places(self, wanted: Wanted) -> Iterator[Place]:
        topics = self._codes(self.manifest.topics, wanted.takes_topic)
        tags = None if wanted.tags is None else self._codes(self.manifest.tags, wanted.tags.__contains__)
        for opened in self._segments:
            segment = opened.segment
            if segment.newest < wanted.since or segment.oldest >= wanted.until:
                continue
            rows = None if wanted.key is None else opened.rows_of_key(_signed(string_hash(wanted.key)))
            for number in range(-(-segment.rows // BLOCK)):
                chosen = None if rows is None else rows[rows // BLOCK == number] - number * BLOCK
                if chosen is not None and not len(chosen):
                    continue
                yield from self._block(opened, number, chosen, wanted, topics, tags)

    def _block(
        self,
        opened: OpenSegment,
        number: int,
        chosen: NDArray[np.int64] | None,
        wanted: Wanted,
        topics: NDArray[np.bool_],
        tags: NDArray[np.bool_] | None,
    ) -> Iterator[Place]:
        passed = topics[opened.block("topic", number)]
        if tags is not None:
            passed &= tags[opened.block("tag", number)]
        if not passed.any():
            return
        times = opened.block("store_timestamp", number)
        offsets = opened.block("physical_offset", number)
        passed &= (times >= wanted.since) & (times < wanted.until) & (offsets >= self._directory.start)
        rows = np.flatnonzero(passed) if chosen is None else chosen[passed[chosen]]
        sizes = opened.block("size", number)
        for offset, size in zip(offsets[rows].tolist(), sizes[rows].tolist(), strict=True):
            yield Place(offset, size)

    @staticmethod
    def _codes(texts: Sequence[Any], takes: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - a test of one of the texts
        return np.fromiter(map(takes, texts), bool, len(texts))

    def count(self, by: Sequence[str]) -> dict[tuple[Any, ...], int]:
        """How many messages there are of each combination; names are those of `GROUPS`, times in ms.

        Raises:
            ColumnsUnfit: a block is damaged.
        """
        counted: Counter[tuple[int, ...]] = Counter()
        for opened in self._segments:
            for number in range(-(-opened.segment.rows // BLOCK)):
                self._count_block(opened, number, by, counted)
        return {tuple(map(self._shown, by, codes)): count for codes, count in counted.items()}

    def _count_block(
        self, opened: OpenSegment, number: int, by: Sequence[str], counted: Counter[tuple[int, ...]]
    ) -> None:
        columns = [opened.block(GROUPS[name][0], number) // np.int32(GROUPS[name][1]) for name in by]
        if opened.segment.first < self._directory.start:
            left = opened.block("physical_offset", number) >= self._directory.start
            columns = [column[left] for column in columns]
            if not left.any():
                return
        lows = [int(column.min()) for column in columns]
        widths = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
        if np.prod(widths, dtype=np.float64) > BLOCK * 16:
            groups, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
            for codes, count in zip(groups.T.tolist(), counts.tolist(), strict=True):
                counted[tuple(codes)] += count
            return
        cell = np.zeros(len(columns[0]), np.int32)
        for column, low, width in zip(columns, lows, widths, strict=True):
            cell *= np.int32(width)
            cell += column - np.int32(low)
        counts = np.bincount(cell)
        cells = np.flatnonzero(counts)
        parts = np.unravel_index(cells, widths)
        found = [(part + low).tolist() for part, low in zip(parts, lows, strict=True)]
        for *codes, count in zip(*found, counts[cells].tolist(), strict=True):
            counted[tuple(codes)] += count

    def _shown(self, name: str, code: int) -> Any:  # noqa: ANN401 - a text or a number
        if name == "topic":
            return self.manifest.topics[code]
        if name == "tag":
            return self.manifest.tags[code]
        column, units = GROUPS[name]
        return code * units * _MINUTE if column == "minute" else code


def _signed(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
