"""Counts of very many messages from columns beside a store: `table` = `counts`, grouped by topic, tags and hour.

Nobody waits for so many messages to be written: the columns are made by themselves, of random topics and tags, and the
store has of its log the record that they end with alone, by which they are known to fit; all else of it is holes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import crc32c
import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from bench.spark.beside_kafka import PYTHON
from bench.spark.made_store import GIB, NOW, QUEUE_FILE
from bench.spark.reads import RoundCounts, go_round
from bench.spark.tables import BenchRow
from bench.spark.usage import ActionCost, cost_of
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.offline.columns.manifest import Manifest, save
from rocketwire.store.offline.columns.segment import write
from rocketwire.wire.message import MessageRecord, encode_record

MESSAGES: Final = 100_000_000
TOPICS: Final = 20
TAGS: Final = 10
_QUEUES: Final = 8
_SIZE: Final = 200  # bytes of a record
_STEP_MS: Final = 6  # so 100 million are of a week
_SEGMENT: Final = 4 << 20
_BAR: Final = "under 2"
_UNITS: Final = ("hour", "minute")


def make(store: Path, columns: Path, messages: int = MESSAGES) -> None:
    """Make the columns, and a store that they fit."""
    for folder in (store / "commitlog", store / "consumequeue" / "T0" / "0", columns):
        folder.mkdir(parents=True)
    end = messages * _SIZE
    manifest = Manifest(last=end - _SIZE, end=end)
    manifest.topics = [f"T{number}" for number in range(TOPICS)]
    manifest.tags = [None, *(f"Tag{number}" for number in range(1, TAGS))]
    none = np.zeros(0, np.int64)
    random = np.random.default_rng(1)
    for first in range(0, messages, _SEGMENT):
        rows = np.arange(first, min(first + _SEGMENT, messages), dtype=np.int64)
        segment = write(columns / f"segment-{uuid.uuid4().hex}", _columns(rows, random), none, none)
        manifest.segments.append(segment)
    record = _record(manifest.last)
    manifest.witness = crc32c.crc32c(record)
    for start in range(0, end, GIB):
        with (store / "commitlog" / f"{start:020d}").open("wb") as file:
            file.truncate(GIB)
            file.write(_record(start))  # as a store's file begins
            if start <= manifest.last < start + GIB:
                file.seek(manifest.last - start)
                file.write(record)
    entry = ENTRY_STRUCT.pack(manifest.last, _SIZE, 0)
    (store / "consumequeue" / "T0" / "0" / f"{0:020d}").write_bytes(entry.ljust(QUEUE_FILE, b"\0"))
    save(columns, manifest)


def _columns(rows: NDArray[np.int64], random: np.random.Generator) -> dict[str, NDArray[np.int64]]:
    times = NOW + rows * _STEP_MS
    return {
        "physical_offset": rows * _SIZE,
        "size": np.full(len(rows), _SIZE),
        "topic": random.integers(0, TOPICS, len(rows)),
        "tag": random.integers(0, TAGS, len(rows)),
        "queue_id": rows % _QUEUES,
        "queue_offset": rows // (TOPICS * _QUEUES),
        "store_timestamp": times,
        "born_timestamp": times,
        "minute": times // 60_000,
    }


def _record(place: int) -> bytes:
    def of_body(size: int) -> bytes:
        return encode_record(
            MessageRecord(topic="T0", queue_id=0, body=b"x" * size, physical_offset=place, store_timestamp=NOW)
        )

    return of_body(_SIZE - len(of_body(0)))


def measure(spark: SparkSession, store: Path, columns: Path, turns: RoundCounts) -> list[BenchRow]:
    """What counts by topic, tags and hour cost, from counts by hour and by minute."""
    rows = [
        BenchRow(what=f"counts by hour, `countsPer` = `{unit}`", size=0, bar=_BAR if unit == "hour" else "")
        for unit in _UNITS
    ]
    asked: list[Callable[[], ActionCost]] = [
        partial(cost_of, partial(_counted, spark, store, columns, unit)) for unit in _UNITS
    ]
    go_round(rows, asked, turns)
    return rows


def _counted(spark: SparkSession, store: Path, columns: Path, unit: str) -> Sequence[object]:
    options = {"table": "counts", "countsPer": unit, "columnCache": str(columns), "failOnDataLoss": "false"}
    read = spark.read.format(PYTHON).options(**options).load(str(store))
    hours = F.date_trunc("hour", "time")
    return read.groupBy("topic", "tags", hours).agg(F.sum("messages")).collect()
