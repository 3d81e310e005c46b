"""An export without Spark: tasks run one after the other, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from rocketwire.spark.export import ExportResult, export
from rocketwire.spark.request.option_parsing import read_options


class Context:
    """Passes for a SparkContext."""

    def __init__(self) -> None:
        self.cancelled = False
        self._numbered: Sequence[Any] = ()

    def parallelize(self, numbered: Sequence[Any], slices: int) -> Context:
        assert len(numbered) == slices
        self._numbered = numbered
        return self

    def foreach(self, task: Callable[[Any], None]) -> None:
        for one in self._numbered:
            if not self.cancelled:
                task(one)

    def cancelAllJobs(self) -> None:  # noqa: N802 - Spark's name
        self.cancelled = True


class Session:
    """Passes for a session of Spark."""

    def __init__(self) -> None:
        self.sparkContext = Context()


class Bar:
    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0

    def advance(self, count: int) -> None:
        self.done += count


def exported(store: Path, to: Path | str, *, bars: list[Bar] | None = None, **options: str) -> ExportResult:
    @contextlib.contextmanager
    def bar(total: int) -> Iterator[Bar]:
        one = Bar(total)
        if bars is not None:
            bars.append(one)
        yield one

    given = {"path": str(store), "columns": "*", "maxBytesPerPartition": "2k", **options}
    session: Any = Session
    return export(session, read_options(given), str(to), bar=bar)


def rows(to: Path) -> list[dict[str, Any]]:
    """All rows, with the values that the folders' names are."""
    found = []
    for path in sorted(to.glob("topic=*/day=*/*.parquet")):
        topic, day = (part.partition("=")[2] for part in path.relative_to(to).parts[:2])
        for row in pq.ParquetFile(path).read().to_pylist():
            assert "topic" not in row
            found.append({"topic": topic.replace("%25", "%"), "day": day, **row})
    return found


def ids_of(to: Path) -> list[str]:
    return sorted(row["message_id"] for row in rows(to))
