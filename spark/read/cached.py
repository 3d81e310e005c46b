"""Rows from columns beside a store, which are memory-mapped: of the log only holes between their messages are read.

Theory: the columns have every whole record that the log had when they were made. What lies between two of them, or
between one and the end of its file, is walked as the log is without columns: mostly it is the blank that ends a file,
and else it is damage, whose rows the walk makes. If the columns turn out to be damaged, or were made again since, the
rest of the task is walked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.columns.plain_arrays import of_numbers, of_texts, of_times, repeated
from rocketwire.spark.plan.partitions import Cache, LogSpan
from rocketwire.spark.read.rows import Rows
from rocketwire.spark.read.selecting import RowConditions
from rocketwire.spark.read.walking import walked_part
from rocketwire.spark.request.ranges import log
from rocketwire.spark.request.request import ReadRequest
from rocketwire.store.offline.columns.manifest import ColumnsUnusable, Manifest, load
from rocketwire.store.offline.columns.segment import OpenSegment

_Columns = dict[str, NDArray[Any]]
#: What the columns beside a store call otherwise than the schema does.
_NAMES: Final = {"store_size": "size", "tags": "tag"}
#: Those that tell where holes are.
_ALWAYS: Final = frozenset({"physical_offset", "size"})


def cached(span: LogSpan, cache: Cache, request: ReadRequest, rows: Rows) -> Iterator[pa.RecordBatch]:
    """The selected messages of a span.

    Raises:
        StoreUnreadable: a file of the log cannot be read.
        DataLost: a file was removed or cut where the log is read, and options make this an error.
        RecordMalformed: something is damaged, and options make this an error.
    """
    task = _Task(span, request, rows)
    try:
        yield from task.of_columns(fitting_manifest(cache), Path(cache.folder))
    except ColumnsUnusable as unfit:
        log.warning("the log is read in place of the columns in %s: %s", cache.folder, unfit)
    yield from task.rest()


def fitting_manifest(cache: Cache) -> Manifest:
    """The manifest of columns that a plan found.

    Raises:
        ColumnsUnusable: it is damaged, or others are there now.
    """
    try:
        found = load(Path(cache.folder))
    except OSError as error:
        raise ColumnsUnusable(str(error)) from error
    if found is None or (found.last, found.end, found.witness) != cache[1:]:
        raise ColumnsUnusable("they were extended or made again since the read was planned")
    return found


class _Task:
    """One task. Everything before the physical offset `done` has been read."""

    def __init__(self, span: LogSpan, request: ReadRequest, rows: Rows) -> None:
        self._span = span
        self._request = request
        self._rows = rows
        self._wanted = RowConditions(request, span.broker)
        self._done = span.start

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What is behind the last message of the columns, or of those that could be read; and damaged places."""
        yield from self._walked(self._span.end)
        yield from self._rows.rest()

    def of_columns(self, manifest: Manifest, folder: Path) -> Iterator[pa.RecordBatch]:
        """The messages of the columns, and what is in holes between them."""
        texts = _Texts(manifest)
        for segment, _ in manifest.within(self._span.start, self._span.end):
            opened = OpenSegment(folder, segment)
            for number in opened.blocks:
                columns = self._block(opened, number)
                if columns is not None:
                    yield from self._of_block(columns, texts)

    def _block(self, opened: OpenSegment, number: int) -> _Columns | None:
        """The rows of a block that are of the span; None if there are none."""
        offsets = opened.block("physical_offset", number)
        first, end = np.searchsorted(offsets, (self._span.start, self._span.end)).tolist()
        if first == end:
            return None
        wanted = {_NAMES.get(name, name) for name in self._request.columns} - {"broker", "file", "_corrupt_record"}
        names = wanted | _ALWAYS | self._wanted.cached_columns
        for name in names:
            opened.expect(name, number, number + 1)
        return {name: opened.block(name, number)[first:end] for name in names}

    def _of_block(self, columns: _Columns, texts: _Texts) -> Iterator[pa.RecordBatch]:
        offsets = columns["physical_offset"]
        ends = offsets + columns["size"]
        befores = np.concatenate([[self._done], ends[:-1]])
        for number in np.flatnonzero(befores != offsets).tolist():
            self._done = int(befores[number])
            yield from self._walked(int(offsets[number]))
        self._done = int(ends[-1])
        passed = self._wanted.of_columns(columns, texts.topic_bytes, texts.tag_bytes)
        count = int(passed.sum())
        if count:
            if count < len(passed):
                columns = {name: column[passed] for name, column in columns.items()}
            yield self._batch(columns, texts, count)

    def _walked(self, end: int) -> Iterator[pa.RecordBatch]:
        """What of the log lies between what is done and an end."""
        start = self._done
        if start >= end:
            return
        files = tuple(file for file in self._span.files if file.start < end and file.end > start)
        self._done = end
        part = replace(self._span, start=start, end=end, files=files, cache=None)
        yield from walked_part(part, self._request, self._rows, self._wanted)

    def _batch(self, columns: _Columns, texts: _Texts, count: int) -> pa.RecordBatch:
        made: dict[str, pa.Array] = {}
        for field in self._rows.schema:
            name = field.name
            if name == "broker":
                made[name] = repeated(self._span.broker, count)
            elif name == "file":
                made[name] = self._files(columns["physical_offset"])
            elif name == "topic":
                made[name] = texts.topics.take(of_numbers(columns["topic"]))
            elif name == "tags":
                made[name] = texts.tags.take(of_numbers(columns["tag"]))
            elif name.endswith("_timestamp"):
                made[name] = of_times(columns[name], field.type)
            elif _NAMES.get(name, name) in columns:
                made[name] = of_numbers(columns[_NAMES.get(name, name)])
        return self._rows.made_of(made, count)

    def _files(self, offsets: NDArray[np.int64]) -> pa.Array:
        starts = [file.start for file in self._span.files]
        numbers = np.searchsorted(starts, offsets, "right") - 1
        return of_texts(file.path for file in self._span.files).take(of_numbers(numbers))


class _Texts:
    """The topics and tags that codes in the columns stand for."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest

    @cached_property
    def topics(self) -> pa.Array:
        """Of each code the topic."""
        return of_texts(self._manifest.topics)

    @cached_property
    def tags(self) -> pa.Array:
        """Of each code the tag; null for none."""
        return of_texts(self._manifest.tags)

    @cached_property
    def topic_bytes(self) -> Sequence[bytes]:
        """The topics, encoded."""
        return [topic.encode() for topic in self._manifest.topics]

    @cached_property
    def tag_bytes(self) -> Sequence[bytes | None]:
        """The tags, encoded."""
        return [None if tag is None else tag.encode() for tag in self._manifest.tags]
