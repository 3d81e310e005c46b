"""Queries that need little of a store: columns beside it, the first rows of an order, a store without messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from bench.spark.reads import RoundCounts, go_round
from bench.spark.tables import BenchRow
from bench.spark.usage import cost_of
from rocketwire.store.offline.columns.extend import extend
from rocketwire.store.offline.read.directory import discover

_JAR: Final = "io.github.rocketwire.spark.RocketMQProvider"
NEWEST: Final = 10
_GROUPED: Final = ("topic", "tags", "store_timestamp")
_ORDERED: Final = ("topic", "queue_id", "queue_offset", "store_timestamp", "physical_offset")

Query = Callable[[], DataFrame]


class QueryStores:
    """The stores of the queries, and columns beside the one that has messages."""

    def __init__(self, spark: SparkSession, store: Path, folder: Path) -> None:
        """Make the empty store and the columns in a folder."""
        self._spark = spark
        self._store = store
        self._empty = folder / "empty"
        for name in ("commitlog", "consumequeue"):
            (self._empty / name).mkdir(parents=True)
        self._cache = folder / "columns"
        extend(discover(str(store)), self._cache, lambda _: None)

    def queries(self) -> Iterator[tuple[str, str | None, Query]]:
        """Each query: its name, that of another that it is held to, and how it is made."""
        yield "counts in an empty store", None, partial(_by_hour, partial(self._read, self._empty, _GROUPED))
        log = "counts of the log"
        yield log, None, partial(_by_hour, partial(self._read, self._store, _GROUPED))
        cached = partial(self._read, self._store, _GROUPED, columnCache=str(self._cache))
        yield "counts with columnCache", log, partial(_by_hour, cached)
        frame = partial(self._read, self._store, _ORDERED)
        # Spark pushes columns into a source, no expressions.
        whole = f"newest {NEWEST}, not pushed"
        yield whole, None, partial(_first, frame, (-F.col("physical_offset")).asc())
        yield f"newest {NEWEST}, pushed", whole, partial(_first, frame, F.desc("physical_offset"))

    def _read(self, path: Path, columns: tuple[str, ...], **options: str) -> DataFrame:
        return self._spark.read.format(_JAR).options(columns=",".join(columns), **options).load(str(path))


def _by_hour(read: Query) -> DataFrame:
    return read().groupBy("topic", "tags", F.date_trunc("hour", "store_timestamp")).count()


def _first(read: Query, order: Column) -> DataFrame:
    return read().orderBy(order).limit(NEWEST)


def measure(spark: SparkSession, store: Path, folder: Path, turns: RoundCounts) -> list[BenchRow]:
    """What each of the queries costs; a turn goes through all of them."""
    queries = list(QueryStores(spark, store, folder).queries())
    rows = [BenchRow(what=what, size=0, base=base) for what, base, _ in queries]
    go_round(rows, [partial(cost_of, partial(_collected, query)) for _, _, query in queries], turns)
    return rows


def _collected(query: Query) -> None:
    query().collect()
