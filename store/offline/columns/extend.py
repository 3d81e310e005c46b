"""Making the columns of a store, extending them to the present end of its log, and making a damaged segment again."""

from __future__ import annotations

import fcntl
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import crc32c
import numpy as np
from numpy.typing import NDArray

from rocketwire.store.offline.columns.manifest import ColumnSegment, ColumnsUnusable, Manifest, load, save
from rocketwire.store.offline.columns.segment import COLUMNS, OpenSegment, SegmentDamaged, write
from rocketwire.store.offline.read.directory import StoreDirectory
from rocketwire.store.offline.read.log import CommitLogReader, RecordBlock
from rocketwire.store.offline.read.opening import FileGone
from rocketwire.store.offline.read.scan import ReadProblem, ReportProblem, scan
from rocketwire.store.records.columns import topics_of
from rocketwire.store.records.property_columns import hashed_properties
from rocketwire.wire.facts import properties as names
from rocketwire.wire.java import INT32_MAX
from rocketwire.wire.properties import decode_stored_properties

#: Rows of a segment: they are in memory while it is made.
_TAGS: Final = names.TAGS.encode()
_MOST_ROWS: Final = 4 << 20
_MINUTE: Final = 60_000
_PREFIX: Final = "segment-"
#: A segment is merged with the one before it if that has at most so many times its rows.
_NEAR: Final = 2

_Columns = dict[str, NDArray[Any]]


def fit(directory: StoreDirectory, manifest: Manifest) -> None:
    """Check that columns are of this store.

    Raises:
        ColumnsUnusable: they are of another, or its log was cut.
        StoreUnreadable: the log cannot be read.
    """
    if manifest.last < 0:
        return
    with CommitLogReader(directory.commit_log) as log:
        try:
            record = log.read(manifest.last, manifest.end - manifest.last)
        except FileGone:
            record = b""
    if crc32c.crc32c(record) != manifest.witness:
        raise ColumnsUnusable("the log has not the message that they end with: it is another store, or was cut")


def extend(
    directory: StoreDirectory, folder: Path, report: ReportProblem, *, rebuild: bool = False, rows: int = _MOST_ROWS
) -> Manifest:
    """Bring the columns in a folder, which is made if needed, up to the end of the log.

    Args:
        directory: The store.
        folder: Where the columns are.
        report: Called with each damaged part of the log: it is in no column.
        rebuild: Drop the existing columns first.
        rows: Most rows of a segment, or of smaller ones that are merged.

    Raises:
        ColumnsUnusable: the columns do not fit the store, or a process is extending them: nothing was changed.
        StoreUnreadable: the log cannot be read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        manifest = None if rebuild else load(folder)
        if manifest is None:
            manifest = Manifest()
        fit(directory, manifest)
        for blocks, damaged in _batches(directory, manifest, report, rows):
            if damaged and manifest.segments:  # it may be before the first block
                manifest.segments[-1] = replace(manifest.segments[-1], damaged=True)
            manifest.segments.append(_written(folder, blocks, damaged=damaged))
            save(folder, manifest)
            _merge(directory, folder, manifest, rows)
        left = [segment for segment, _ in manifest.within(directory.start, manifest.end)]
        if rebuild or left != manifest.segments:
            manifest.segments = left
            save(folder, manifest)
        _remove_unlisted(folder, manifest)
    return manifest


def remake(directory: StoreDirectory, folder: Path, damaged: ColumnSegment) -> Manifest:
    """Make a damaged segment again from its part of the log; the manifest then, or that of who did it before.

    Raises:
        ColumnsUnusable: the manifest is damaged, or a process is extending the columns.
        StoreUnreadable: the log cannot be read.
        OSError: the folder cannot be written.
    """
    manifest = load(folder) or Manifest()
    if not _has(manifest, damaged):
        return manifest
    with _locked(folder):
        manifest = load(folder) or Manifest()
        if _has(manifest, damaged):
            _put_again(directory, folder, manifest, damaged)
            save(folder, manifest)
            _remove_unlisted(folder, manifest)
    return manifest


def _has(manifest: Manifest, segment: ColumnSegment) -> bool:
    return any(each.name == segment.name for each in manifest.segments)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ColumnsUnusable("another process is extending them") from error
        yield


def _remove_unlisted(folder: Path, manifest: Manifest) -> None:
    kept = {segment.name for segment in manifest.segments}
    for path in folder.glob(f"{_PREFIX}*"):
        if path.name not in kept:
            shutil.rmtree(path)


class _Coder:
    """Turns blocks of the log into columns; new topics and tags get the manifest's next codes."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._topics = {topic: code for code, topic in enumerate(manifest.topics)}
        self._tags = {tag: code for code, tag in enumerate(manifest.tags)}

    def columns(self, block: RecordBlock) -> _Columns:
        """The columns of a block, with those of its keys."""
        records = block.records
        found = {name: getattr(records, name) for name in COLUMNS if name not in ("topic", "tag", "minute")}
        codes, texts = topics_of(block.buffer, records)
        found["topic"] = np.array([_code(self._topics, self._manifest.topics, text) for text in texts], np.int32)[codes]
        starts = records.properties_position.tolist()
        ends = (records.properties_position + records.properties_length).tolist()
        tags = [_tag(block.buffer[start:end]) for start, end in zip(starts, ends, strict=True)]
        found["tag"] = np.array([_code(self._tags, self._manifest.tags, tag) for tag in tags], np.int32)
        found["minute"] = np.clip(records.store_timestamp // _MINUTE, -INT32_MAX, INT32_MAX)
        keys = hashed_properties(block.buffer, records).keys
        found["key_hash"] = keys.hash.astype(np.int32)
        found["key_row"] = keys.record
        return found


class _DamageReporter:
    """Forwards reports of damage; `any` is true after the first."""

    def __init__(self, report: ReportProblem) -> None:
        self.any = False
        self._report = report

    def __call__(self, what: ReadProblem) -> None:
        self.any = True
        self._report(what)


def _batches(
    directory: StoreDirectory, manifest: Manifest, report: ReportProblem, rows: int
) -> Iterator[tuple[list[_Columns], bool]]:
    """The columns of each segment, and whether the log is damaged in it, or before it."""
    coder = _Coder(manifest)
    reporter = _DamageReporter(report)
    waiting: list[_Columns] = []
    count = 0
    for block in scan(directory, reporter, start=manifest.end):
        waiting.append(coder.columns(block))
        count += len(block.records.position)
        last = len(block.records.position) - 1
        record = block.record(last)
        manifest.last = int(block.records.physical_offset[last])
        manifest.end = manifest.last + len(record)
        manifest.witness = crc32c.crc32c(record)
        if count >= rows:
            yield waiting, reporter.any
            waiting, count, reporter.any = [], 0, False
    if waiting:
        yield waiting, reporter.any


def _code(codes: dict[Any, int], texts: list[Any], text: str | None) -> int:
    code = codes.get(text)
    if code is None:
        code = codes[text] = len(texts)
        texts.append(text)
    return code


def _tag(properties: bytes) -> str | None:
    # Most texts have the name once, or not at all: those need not be taken apart to see that there is none.
    if _TAGS not in properties:
        return None
    return decode_stored_properties(properties).get(names.TAGS)


def _written(folder: Path, blocks: list[_Columns], *, damaged: bool) -> ColumnSegment:
    sizes = [len(block["topic"]) for block in blocks]
    before = np.cumsum([0, *sizes])[:-1].tolist()
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in COLUMNS}
    hashes = np.concatenate([block["key_hash"] for block in blocks])
    rows = np.concatenate([block["key_row"] + at for block, at in zip(blocks, before, strict=True)])
    segment = write(folder / f"{_PREFIX}{uuid.uuid4().hex}", columns, hashes, rows)
    return replace(segment, damaged=damaged)


def _merge(directory: StoreDirectory, folder: Path, manifest: Manifest, most: int) -> None:
    """Merge the last segments while they are small: so many short extensions leave few of them."""
    mended: set[int] = set()
    while len(manifest.segments) > 1:
        before, last = manifest.segments[-2:]
        if before.rows > _NEAR * last.rows or before.rows + last.rows > most:
            return
        try:
            both = [_read(folder, before), _read(folder, last)]
            merged = _written(folder, both, damaged=before.damaged or last.damaged)
        except SegmentDamaged as damage:
            if damage.segment.first in mended:
                raise
            mended.add(damage.segment.first)
            _put_again(directory, folder, manifest, damage.segment)
        else:
            manifest.segments[-2:] = [merged]
        save(folder, manifest)


def _read(folder: Path, segment: ColumnSegment) -> _Columns:
    opened = OpenSegment(folder, segment)
    columns = {name: opened.whole(name) for name in COLUMNS}
    columns["key_hash"], columns["key_row"] = opened.rows_by_hash()
    return columns


def _put_again(directory: StoreDirectory, folder: Path, manifest: Manifest, damaged: ColumnSegment) -> None:
    """Put a new segment, of what the log still has, in the place of a damaged one."""
    place = [segment.name for segment in manifest.segments].index(damaged.name)
    end = manifest.ends[place]
    coder = _Coder(manifest)
    blocks: list[_Columns] = []
    reporter = _DamageReporter(lambda _: None)  # it was reported when the columns were first made
    for block in scan(directory, reporter, start=damaged.first, end=end):
        inside = block.records.physical_offset < end
        part = block if inside.all() else block._replace(records=block.records.part(inside))
        if len(part.records.position):
            blocks.append(coder.columns(part))
    is_damaged = manifest.segments[place].damaged or reporter.any
    if is_damaged and place:  # it may be before the first block
        manifest.segments[place - 1] = replace(manifest.segments[place - 1], damaged=True)
    manifest.segments[place : place + 1] = [_written(folder, blocks, damaged=is_damaged)] if blocks else []
