"""Counts messages of a task by topic, tags and time, from the counts in columns beside the store where these fit.

Theory: columns count the messages of each block by topic, tag and minute. These counts serve for a block that lies in
the task as a whole, and whose minutes are wanted as a whole or not at all; of other blocks, at most two at each end of
the task and those at an end of the time range, the rows are counted. What lies between messages is not examined, but
where the log was damaged: there the rows of the columns, and of the log between them, are counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.columns.plain_arrays import of_numbers, of_texts
from rocketwire.spark.plan.partitions import LogSpan
from rocketwire.spark.read.cached import fitting_manifest
from rocketwire.spark.read.reading import read
from rocketwire.spark.request.ranges import log
from rocketwire.spark.request.request import ReadRequest
from rocketwire.store.offline.columns.grouping import grouped
from rocketwire.store.offline.columns.manifest import ColumnsUnusable, Manifest
from rocketwire.store.offline.columns.segment import OpenSegment
from rocketwire.wire.java import INT32_MAX

#: Columns of messages that are counted by.
COUNTED: Final = ("topic", "tags", "store_timestamp")
MINUTE_US: Final = 60_000_000
_MINUTE_MS: Final = 60_000
_CODES: Final = ("topic", "tag", "minute")

#: Topic, tags, minutes since 1970 (in the range of an int32) at which a unit of time begins.
_Key = tuple[str, str | None, int]


class Counts(NamedTuple):
    """Numbers of messages, as columns: each combination of topic, tags and begin of a unit of time is there once.

    Attributes:
        minutes: Minutes since 1970 at which units of time begin.
    """

    topics: pa.Array
    tags: pa.Array
    minutes: NDArray[np.int64]
    messages: NDArray[np.int64]


def counted(span: LogSpan, request: ReadRequest, unit: int) -> Counts | None:
    """How many of the selected messages of a task there are by topic, tags and time; None if there are none.

    Args:
        span: The task.
        request: One of the columns `COUNTED`.
        unit: Of time, in minutes.

    Raises:
        SparkSourceError: a file cannot be read; messages are gone, and options make this an error.
    """
    if span.cache is not None:
        folder = Path(span.cache.folder)
        try:
            manifest = fitting_manifest(span.cache)
            if not _damaged(span, manifest):
                return _Cached(span, request, manifest, folder, unit).counts()
        except ColumnsUnusable as unfit:
            log.warning("the log is read in place of the columns in %s: %s", folder, unfit)
            span = _walk(span)
    found: Counter[_Key] = Counter()
    for batch in read(span, request):
        _add_batch(batch, found, unit)
    if not found:
        return None
    topics, tags, minutes = zip(*found, strict=True)
    messages = np.fromiter(found.values(), np.int64, len(found))
    return Counts(of_texts(topics), of_texts(tags), np.array(minutes, np.int64), messages)


def _damaged(span: LogSpan, manifest: Manifest) -> bool:
    """Whether something of a span is damaged that columns have."""
    return any(segment.damaged for segment, _ in manifest.within(span.start, span.end))


def _walk(span: LogSpan) -> LogSpan:
    return LogSpan(broker=span.broker, state=span.state, start=span.start, end=span.end, files=span.files)


def _add_batch(batch: pa.RecordBatch, found: Counter[_Key], unit: int) -> None:
    topics, tags = (batch.column(name).dictionary_encode(null_encoding="encode") for name in COUNTED[:2])
    times = batch.column(COUNTED[2]).cast(pa.int64()).to_numpy()
    minutes = _begins(np.clip(times // MINUTE_US, -INT32_MAX, INT32_MAX), unit)
    columns, counts = grouped([topics.indices.to_numpy(), tags.indices.to_numpy(), minutes])
    topic_texts, tag_texts = topics.dictionary.to_pylist(), tags.dictionary.to_pylist()
    for topic, tag, minute, count in zip(*(column.tolist() for column in columns), counts.tolist(), strict=True):
        found[topic_texts[topic], tag_texts[tag], minute] += count


def _begins(minutes: NDArray[Any], unit: int) -> NDArray[np.int64]:
    """The minutes at which the units of time of these begin."""
    return minutes.astype(np.int64) // unit * unit


class _Cached:
    """Counts the messages of a task in columns beside the store."""

    def __init__(self, span: LogSpan, request: ReadRequest, manifest: Manifest, folder: Path, unit: int) -> None:
        self._span = span
        self._request = request
        self._manifest = manifest
        self._folder = folder
        self._unit = unit
        self._topics = np.fromiter(map(request.takes_topic, manifest.topics), bool, len(manifest.topics))
        self._found: list[tuple[NDArray[np.int64], ...]] = []

    def counts(self) -> Counts | None:
        """How many there are; None if there are none.

        Raises:
            ColumnsUnusable: a block is damaged.
        """
        for segment, end in self._manifest.within(self._span.start, self._span.end):
            self._of_segment(OpenSegment(self._folder, segment), end)
        if not self._found:
            return None
        *columns, weights = (np.concatenate(parts) for parts in zip(*self._found, strict=True))
        (topics, tags, minutes), messages = grouped(columns, weights)
        of_topics, of_tags = of_texts(self._manifest.topics), of_texts(self._manifest.tags)
        return Counts(of_topics.take(of_numbers(topics)), of_tags.take(of_numbers(tags)), minutes, messages)

    def _of_segment(self, opened: OpenSegment, end: int) -> None:
        blocks, cut = self._blocks(opened, end)
        groups = opened.groups()
        if groups is None:
            by_rows = set(blocks)
        else:
            by_rows = cut | self._cut_by_times(groups)
            numbers = groups["block"]
            passed = self._topics[groups["topic"]] & (numbers >= blocks.start) & (numbers < blocks.stop)
            passed &= ~np.isin(numbers, sorted(by_rows))
            if self._request.has_times:
                starts = groups["minute"].astype(np.int64) * _MINUTE_MS
                passed &= (starts >= self._request.since) & (starts < self._request.until)
            self._add([groups[name][passed] for name in _CODES], groups["count"][passed])
        for number in sorted(by_rows.intersection(blocks)):
            self._of_rows(opened, number)

    def _blocks(self, opened: OpenSegment, end: int) -> tuple[range, set[int]]:
        """The blocks with rows of the task, and those that may have others, too."""

        def first_offset(number: int) -> int:
            return int(opened.block("physical_offset", number)[0])

        first, last = 0, len(opened.blocks)
        cut: set[int] = set()
        if opened.segment.first < self._span.start:
            first = bisect_right(opened.blocks, self._span.start, key=first_offset) - 1
            if first_offset(first) < self._span.start:
                cut.add(first)
        if end > self._span.end:
            last = bisect_left(opened.blocks, self._span.end, key=first_offset)
            if last == len(opened.blocks) or first_offset(last) > self._span.end:
                cut.add(last - 1)
        return range(first, last), cut

    def _cut_by_times(self, groups: dict[str, NDArray[np.int32]]) -> set[int]:
        """The blocks with a minute of which a part is wanted, or of which it is unknown: the first and the last."""
        if not self._request.has_times:
            return set()
        edges = [-INT32_MAX, INT32_MAX]
        edges += [edge // _MINUTE_MS for edge in (self._request.since, self._request.until) if edge % _MINUTE_MS]
        return set(groups["block"][np.isin(groups["minute"], edges)].tolist())

    def _of_rows(self, opened: OpenSegment, number: int) -> None:
        offsets = opened.block("physical_offset", number)
        codes = [opened.block(name, number) for name in _CODES]
        passed = self._topics[codes[0]] & (offsets >= self._span.start) & (offsets < self._span.end)
        if self._request.has_times:
            times = opened.block("store_timestamp", number)
            passed &= (times >= self._request.since) & (times < self._request.until)
        self._add([column[passed] for column in codes], None)

    def _add(self, columns: Sequence[NDArray[Any]], weights: NDArray[Any] | None) -> None:
        if len(columns[0]):
            topics, tags, minutes = columns
            values, counts = grouped([topics, tags, _begins(minutes, self._unit)], weights)
            self._found.append((*values, counts))
