"""Plans reads of columns beside a store (`rocketwire store columns`) in place of its log.

The log is read behind the end of the columns only. Tasks are cut between files of the log, in which no record goes on
from one to the next: so nothing of it is read to find where they may be cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocketwire.spark.plan.partitions import Cache, LogSpan
from rocketwire.spark.plan.walk_plan import parts_of_files, plan_walk
from rocketwire.spark.request.ranges import log
from rocketwire.spark.request.request import Request
from rocketwire.spark.stores.snapshot import StoreSnapshot
from rocketwire.store.archive.columns.extend import fit
from rocketwire.store.archive.columns.manifest import ColumnsUnfit, load
from rocketwire.store.archive.read.directory import RowFile

#: Bytes of log whose columns take as long to read as a byte of the log, about.
_LIGHTER: Final = 16


def plan_cached(store: StoreSnapshot, request: Request, least: int) -> list[LogSpan] | None:
    """The tasks that read columns, and those that walk what is behind them; None, with a warning, if no columns fit.

    Raises:
        StoreUnreadable: a file cannot be read.
        DataLost: a part of the log is missing, and options make this an error.
    """
    cache = _fitting(store, request)
    if cache is None:
        return None
    edge = max(store.start, min(cache.end, store.end))
    spans = list(_spans(store, request, cache, edge, least))
    return spans + plan_walk(store, request, max(1, least - len(spans)), [(edge, store.end)])


def _fitting(store: StoreSnapshot, request: Request) -> Cache | None:
    """The columns that are of the store."""
    reasons: list[str] = []
    for folder in request.options.column_cache:
        try:
            manifest = load(Path(folder))
            if manifest is not None:
                fit(store.directory, manifest)
                return Cache(folder, manifest.last, manifest.end, manifest.witness)
            reasons.append(f"{folder}: there are none")
        except (ColumnsUnfit, OSError) as error:
            reasons.append(f"{folder}: {error}")
    what = "; ".join(reasons)
    log.warning("the log of %s is read: no columns of the option columnCache fit (%s)", store.broker, what)
    return None


def _spans(store: StoreSnapshot, request: Request, cache: Cache, edge: int, least: int) -> Iterator[LogSpan]:
    size = max(1, min(request.options.max_bytes_per_partition * _LIGHTER, -(-(edge - store.start) // least)))
    together: list[tuple[RowFile, int, int]] = []
    for part in parts_of_files(store, request, store.start, edge):
        if together and (part[2] - together[0][1] > size or part[1] > together[-1][2]):
            yield _span(store, cache, together)
            together = []
        together.append(part)
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
