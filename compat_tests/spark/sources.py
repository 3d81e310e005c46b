"""Holds both sources against each other: the jar (java/spark), used through Spark, and the Python source.

The Python source is called as Spark's workers call it, without a JVM (reference.py).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from compat_tests.spark import reference

JAR: Final = "io.github.rocketwire.spark.RocketMQProvider"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIMES: Final = ("born_timestamp", "store_timestamp")
PLACES: Final = "topic,queue_id,queue_offset,physical_offset,store_size,file,broker"
WHOLE: Final = "*,_corrupt_record"
Row = dict[str, Any]
Value = str | int | bool


def frame(spark: SparkSession, path: Path | str | None, **options: Value) -> DataFrame:
    """What the jar reads of a store; without a path, of an endpoint."""
    reader = spark.read.format(JAR).options(**options)
    return reader.load() if path is None else reader.load(str(path))


def sorted_rows(rows: list[Row]) -> list[str]:
    """Rows to compare: neither they nor the items of a map have an order."""
    return sorted(
        repr(
            [(name, sorted(value.items()) if isinstance(value, dict) else value) for name, value in sorted(row.items())]
        )
        for row in rows
    )


def of_jar(found: DataFrame) -> list[Row]:
    """All rows of a frame, with times in microseconds."""
    shown = [fn.unix_micros(name).alias(name) if name in TIMES else fn.col(name) for name in found.columns]
    rows = [row.asDict() for row in found.select(*shown).collect()]
    for row in rows:
        if row.get("body") is not None:
            row["body"] = bytes(row["body"])
    return rows


def of_python(path: Path | str | None, **options: Any) -> list[Row]:  # noqa: ANN401 - what `Read` takes
    """All rows of the Python source, with times in microseconds."""
    rows = reference.read(path, **options)
    for row in rows:
        for name in TIMES:
            if row.get(name) is not None:
                row[name] = (row[name] - EPOCH) // timedelta(microseconds=1)
        if row.get("properties") is not None:
            row["properties"] = dict(row["properties"])
    return rows


def same(spark: SparkSession, path: Path | str | None, **options: Value) -> int:
    """Compare both; the number of rows."""
    expected = sorted_rows(of_python(path, **options))
    assert sorted_rows(of_jar(frame(spark, path, **options))) == expected
    return len(expected)


def plan_of(found: DataFrame) -> str:
    """How Spark carries out a query, with the descriptions of its scans."""
    shown: str = found._jdf.queryExecution().toString()  # noqa: SLF001 - the JVM alone knows it
    return shown


def failed(action: Callable[[], object]) -> str:
    """The error of an action of Spark."""
    with pytest.raises((PySparkException, Py4JJavaError)) as raised:
        action()
    return str(raised.value)


def streamed(spark: SparkSession, source: str, path: Path | str | None, folder: Path, **options: Value) -> int:
    """Read what there is as a stream; the number of micro-batches that have rows."""
    reader = spark.readStream.format(source).options(columns="*", **options)
    given = reader.load() if path is None else reader.load(str(path))
    writer = given.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(folder / "rows"))
    query.awaitTermination()
    return sum(progress["numInputRows"] > 0 for progress in query.recentProgress)
