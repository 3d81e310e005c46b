"""Plans reads of columns beside a store (`rocketwire store columns`) in place of its log.

The log is read behind the end of the columns only. Tasks are cut at records that begin a block of the columns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from rocketwire.spark.plan.partitions import Cache, LogSpan
from rocketwire.spark.plan.walk_plan import parts_of_files, plan_walk
from rocketwire.spark.request.ranges import log
from rocketwire.spark.request.request import ReadRequest
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.offline.columns.extend import fit
from rocketwire.store.offline.columns.manifest import ColumnsUnusable, Manifest, load
from rocketwire.store.offline.columns.segment import OpenSegment
from rocketwire.store.offline.read.directory import RowFile

#: The most rows of a task.
_MOST_ROWS: Final = 1 << 20
#: The most messages that a task counts.
_MOST_COUNTED: Final = 1 << 24
#: Bytes of log whose columns take as long to read as a byte of the log, about.
_LIGHTER: Final = 16


def plan_cached(store: StoreSnapshot, request: ReadRequest, least: int, *, counts: bool) -> list[LogSpan] | None:
    """The tasks that read columns, and those that walk what is behind them; None, with a warning, if no columns fit.

    Args:
        store: The store.
        request: The request.
        least: No fewer tasks, if there are so many places to cut at.
        counts: No row is made of a message: they are counted, which takes a task hardly any time.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: a part of the log is missing, and options make this an error.
    """
    found = _fitting(store, request)
    if found is None:
        return None
    cache, manifest = found
    edge = max(store.start, min(cache.end, store.end))
    cuts = _cuts(store, manifest, cache.folder, request, least, most_rows=_MOST_COUNTED if counts else _MOST_ROWS)
    spans = list(_spans(store, request, cache, edge, cuts))
    return spans + plan_walk(store, request, max(1, least - len(spans)), [(edge, store.end)])


def _fitting(store: StoreSnapshot, request: ReadRequest) -> tuple[Cache, Manifest] | None:
    """The columns that are of the store."""
    reasons: list[str] = []
    for folder in request.options.column_cache:
        try:
            manifest = load(Path(folder))
            if manifest is not None:
                fit(store.directory, manifest)
                return Cache(folder, manifest.last, manifest.end, manifest.witness), manifest
            reasons.append(f"{folder}: there are none")
        except (ColumnsUnusable, OSError) as error:
            reasons.append(f"{folder}: {error}")
    what = "; ".join(reasons)
    log.warning("the log of %s is read: no columns of the option columnCache fit (%s)", store.broker, what)
    return None


def _cuts(
    store: StoreSnapshot, manifest: Manifest, folder: str, request: ReadRequest, least: int, *, most_rows: int
) -> set[int]:
    """Physical offsets of records with which tasks begin: of a block that would be too much for the task before."""
    segments = [segment for segment, _ in manifest.within(store.start, manifest.end)]
    if not segments:
        return set()
    all_rows = sum(segment.rows for segment in segments)
    as_log = all_rows * _log_of_task(request) // (manifest.end - segments[0].first)
    most = min(most_rows, as_log, -(-all_rows // least))
    cuts: set[int] = set()
    rows = 0
    for segment in segments:
        with contextlib.suppress(ColumnsUnusable):  # a damaged block: its task will find it
            opened = OpenSegment(Path(folder), segment)
            for number in opened.blocks:
                if rows and rows + opened.rows_of(number) > most:
                    cuts.add(int(opened.block("physical_offset", number)[0]))
                    rows = 0
                rows += opened.rows_of(number)
    return cuts


def _log_of_task(request: ReadRequest) -> int:
    """The bytes of log whose columns a task reads at most, but for those of one block, or of one file."""
    return request.options.max_bytes_per_partition * _LIGHTER


def _spans(store: StoreSnapshot, request: ReadRequest, cache: Cache, edge: int, cuts: set[int]) -> Iterator[LogSpan]:
    together: list[tuple[RowFile, int, int]] = []
    for file, start, end in parts_of_files(store, request, store.start, edge):
        inside = sorted(cut for cut in cuts if start < cut < end)
        for first, last in pairwise([start, *inside, end]):
            large = first == start and bool(together) and first - together[0][1] >= _log_of_task(request)
            if together and (large or first in cuts or first > together[-1][2]):
                yield _span(store, cache, together)
                together = []
            together.append((file, first, last))
    if together:
        yield _span(store, cache, together)


def _span(store: StoreSnapshot, cache: Cache, parts: list[tuple[RowFile, int, int]]) -> LogSpan:
    return LogSpan(
        broker=store.broker,
        state=store.directory.state,
        start=parts[0][1],
        end=parts[-1][2],
        files=tuple(file for file, _, _ in parts),
        cache=cache,
    )
