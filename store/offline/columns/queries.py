"""Queries of the columns of a store: which messages, and how many by topic, tag and time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.offline.columns.extend import fit, remake
from rocketwire.store.offline.columns.manifest import ColumnsUnusable, Manifest, load
from rocketwire.store.offline.columns.segment import BLOCK, OpenSegment, SegmentDamaged, grouped
from rocketwire.store.offline.plan.select import MessageConditions
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.log import CommitLogReader, RecordPlace
from rocketwire.store.offline.read.scan import ReadProblem, ReportProblem
from rocketwire.store.offline.read.selected import SelectedMessage, with_properties
from rocketwire.wire.errors import WireError
from rocketwire.wire.java import INT32_MAX, string_hash
from rocketwire.wire.message import decode_record

#: What one can count by: the column, and how many of its units make one group.
GROUPS: Final = {"topic": ("topic", 1), "tag": ("tag", 1), "queue": ("queue_id", 1), "minute": ("minute", 1)} | {
    "hour": ("minute", 60),
    "day": ("minute", 1440),
}
_MINUTE: Final = 60_000


#: The columns that a segment's groups contain.
_GROUPED: Final = frozenset(GROUPS) - {"queue"}


class StoreColumns:
    """The columns of a store, for reading. They have no messages stored after the last extension.

    A segment that turns out to be damaged is made again from the log, once.
    """

    def __init__(self, directory: StoreDirectory, folder: Path) -> None:
        """Open them.

        Raises:
            ColumnsUnusable: there are none, the manifest is damaged, or they do not fit the store.
            StoreUnreadable: the log cannot be read.
        """
        manifest = load(folder)
        if manifest is None:
            raise ColumnsUnusable("there are none")
        fit(directory, manifest)
        self._directory = directory
        self._folder = folder
        self._mended: set[int] = set()
        self._open(manifest)

    def _open(self, manifest: Manifest) -> None:
        self.manifest: Manifest = manifest
        self._segments = [OpenSegment(self._folder, segment) for segment in manifest.segments]

    def _mend(self, damage: SegmentDamaged) -> None:
        """Continue with the segment made again.

        Raises:
            ColumnsUnusable: it was made again before, or cannot be.
        """
        if damage.segment.first in self._mended:
            raise damage
        self._mended.add(damage.segment.first)
        try:
            self._open(remake(self._directory, self._folder, damage.segment))
        except OSError as error:
            raise ColumnsUnusable(f"{damage}, and it cannot be made again: {error}") from error

    def find(self, wanted: MessageConditions, report: ReportProblem) -> Iterator[SelectedMessage]:
        """The wanted messages in the order of the log, of which only they are read. `message_id` is not supported.

        Raises:
            ColumnsUnusable: a segment is damaged, and cannot be made again.
            StoreUnreadable: the log cannot be read.
        """
        with CommitLogReader(self._directory.commit_log) as log:
            for place, data in log.gather(self._places(wanted)):
                try:
                    one = with_properties(decode_record(data), len(data))
                except WireError as error:
                    report(ReadProblem(self._directory.root, place.physical_offset, str(error)))
                    continue
                if wanted.matches(one):
                    yield one

    def _places(self, wanted: MessageConditions) -> Iterator[RecordPlace]:
        done = -1
        while True:
            try:
                for place in self._places_from(done + 1, wanted):
                    done = place.physical_offset
                    yield place
            except SegmentDamaged as damage:
                self._mend(damage)
            else:
                return

    def _places_from(self, start: int, wanted: MessageConditions) -> Iterator[RecordPlace]:
        start = max(start, self._directory.start)
        topics = self._codes(self.manifest.topics, wanted.matches_topic)
        tags = None if wanted.tags is None else self._codes(self.manifest.tags, wanted.tags.__contains__)
        some = [
            opened
            for opened, end in zip(self._segments, self.manifest.ends, strict=True)
            if opened.segment.newest >= wanted.since and opened.segment.oldest < wanted.until and end > start
        ]
        if wanted.key is None:
            for opened in some:
                for number in self._blocks(opened, wanted, topics, tags):
                    yield from self._block(opened, number, None, start, wanted, topics, tags)
            return
        key = _signed(string_hash(wanted.key))
        for opened in some:
            opened.expect_key(key)
        for opened in some:
            rows = opened.rows_of_key(key)
            for number in np.unique(rows // BLOCK).tolist():
                chosen = rows[rows // BLOCK == number] - number * BLOCK
                yield from self._block(opened, number, chosen, start, wanted, topics, tags)

    @staticmethod
    def _blocks(
        opened: OpenSegment, wanted: MessageConditions, topics: NDArray[np.bool_], tags: NDArray[np.bool_] | None
    ) -> Sequence[int]:
        """The blocks of a segment that can have wanted rows."""
        groups = opened.groups()
        if groups is None:
            return opened.blocks
        passed = topics[groups["topic"]]
        if tags is not None:
            passed &= tags[groups["tag"]]
        minutes = groups["minute"]
        passed &= (minutes >= min(wanted.since // _MINUTE, INT32_MAX)) & (minutes <= wanted.until // _MINUTE)
        return np.unique(groups["block"][passed]).tolist()  # type: ignore[no-any-return]

    def _block(
        self,
        opened: OpenSegment,
        number: int,
        chosen: NDArray[np.int64] | None,
        start: int,
        wanted: MessageConditions,
        topics: NDArray[np.bool_],
        tags: NDArray[np.bool_] | None,
    ) -> Iterator[RecordPlace]:
        for name in ("topic", "tag", "store_timestamp", "physical_offset", "size"):
            opened.expect(name, number, number + 1)
        passed = topics[opened.block("topic", number)]
        if tags is not None:
            passed &= tags[opened.block("tag", number)]
        if not passed.any():
            return
        times = opened.block("store_timestamp", number)
        offsets = opened.block("physical_offset", number)
        passed &= (times >= wanted.since) & (times < wanted.until) & (offsets >= start)
        rows = np.flatnonzero(passed) if chosen is None else chosen[passed[chosen]]
        sizes = opened.block("size", number)
        for offset, size in zip(offsets[rows].tolist(), sizes[rows].tolist(), strict=True):
            yield RecordPlace(offset, size)

    @staticmethod
    def _codes(texts: Sequence[Any], takes: Any) -> NDArray[np.bool_]:  # noqa: ANN401 - a test of one of the texts
        return np.fromiter(map(takes, texts), bool, len(texts))

    def count(self, by: Sequence[str]) -> dict[tuple[Any, ...], int]:
        """How many messages there are of each combination; names are those of `GROUPS`, times in ms.

        Raises:
            ColumnsUnusable: a segment is damaged, and cannot be made again.
            StoreUnreadable: the log cannot be read.
        """
        while True:
            counted: Counter[tuple[int, ...]] = Counter()
            try:
                for opened, end in zip(self._segments, self.manifest.ends, strict=True):
                    if end > self._directory.start:
                        self._count(opened, by, counted)
            except SegmentDamaged as damage:
                self._mend(damage)
            else:
                return {tuple(map(self._shown, by, codes)): count for codes, count in counted.items()}

    def _count(self, opened: OpenSegment, by: Sequence[str], counted: Counter[tuple[int, ...]]) -> None:
        cut = opened.segment.first < self._directory.start
        groups = opened.groups() if not cut and _GROUPED.issuperset(by) else None
        if groups is not None:
            _add([_in_units(groups[GROUPS[name][0]], name) for name in by], groups["count"], counted)
            return
        for number in opened.blocks:
            columns = [_in_units(opened.block(GROUPS[name][0], number), name) for name in by]
            if cut:
                left = opened.block("physical_offset", number) >= self._directory.start
                columns = [column[left] for column in columns]
            if len(columns[0]):
                _add(columns, None, counted)

    def _shown(self, name: str, code: int) -> Any:  # noqa: ANN401 - a text or a number
        if name == "topic":
            return self.manifest.topics[code]
        if name == "tag":
            return self.manifest.tags[code]
        column, units = GROUPS[name]
        return code * units * _MINUTE if column == "minute" else code


def _in_units(column: NDArray[Any], name: str) -> NDArray[Any]:
    units = GROUPS[name][1]
    return column if units == 1 else column // np.int32(units)


def _add(columns: Sequence[NDArray[Any]], weights: NDArray[Any] | None, counted: Counter[tuple[int, ...]]) -> None:
    values, counts = grouped(columns, weights)
    for *codes, count in zip(*(column.tolist() for column in values), counts.tolist(), strict=True):
        counted[tuple(codes)] += count


def _signed(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)
