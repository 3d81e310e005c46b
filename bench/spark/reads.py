"""Reading through Spark, compared with `cat` and a copy out of a mapping of the same files."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from bench.spark.made_store import MIB
from bench.spark.tables import BenchRow
from bench.spark.usage import ActionCost, cost_of
from rocketwire.spark.schema import COLUMNS, DEFAULT_COLUMNS

CAT: Final = "cat"
MEMCPY: Final = "copy out of a mapping"
_BLOCK: Final = 2 * MIB
#: What is counted, and its bar as a ratio to `cat`.
COUNTS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "count of queue_id (queues know it)": (("queue_id",), "20 %"),
    "count of store_timestamp (only the log knows it)": (("store_timestamp",), "20 %"),
    "counts of the six default columns": (DEFAULT_COLUMNS, "10 %"),
    f"counts of all {len(COLUMNS)} columns": (tuple(COLUMNS), ""),
}


class RoundCounts(NamedTuple):
    """How often everything is done: first for the JVM's compilers and caches, then to be measured."""

    warming: int
    counted: int


def log_files(store: Path) -> list[Path]:
    """The files of a store's commit log."""
    return sorted((store / "commitlog").iterdir())


def log_size(store: Path) -> int:
    """Their bytes."""
    return sum(path.stat().st_size for path in log_files(store))


def cat(store: Path) -> ActionCost:
    """What `cat` of the log costs."""
    start = time.perf_counter()
    # Waited for by wait4, which returns processor time by the microsecond.
    process = subprocess.Popen(["cat", *log_files(store)], stdout=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = code
    return ActionCost(time.perf_counter() - start, used.ru_utime + used.ru_stime)


def copied(store: Path) -> ActionCost:
    """What a copy of the log out of a mapping costs, block by block into one place."""
    target = np.empty(_BLOCK, np.uint8)
    start, before = time.perf_counter(), time.process_time()
    for path in log_files(store):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            source = np.frombuffer(log, np.uint8)
            for at in range(0, len(source), _BLOCK):
                part = source[at : at + _BLOCK]
                target[: len(part)] = part
            del source, part
    return ActionCost(time.perf_counter() - start, time.process_time() - before)


def counted(spark: SparkSession, store: Path, columns: Iterable[str]) -> DataFrame:
    """How many values each column has: every value is read, with one row as result."""
    names = list(columns)
    read = spark.read.format("rocketmq").option("columns", ",".join(names)).load(str(store))
    return read.agg(*(F.count(name) for name in names))


def _cost_of_counts(spark: SparkSession, store: Path, columns: Iterable[str]) -> ActionCost:
    return cost_of(counted(spark, store, columns).collect)


def measure_reads(spark: SparkSession, store: Path, turns: RoundCounts) -> list[BenchRow]:
    """The rows of a store; a turn goes through all of them."""
    size = log_size(store)
    rows = [BenchRow(what=CAT, size=size), BenchRow(what=MEMCPY, size=size, base=CAT)]
    actions: list[Callable[[], ActionCost]] = [lambda: cat(store), lambda: copied(store)]
    for what, (columns, bar) in COUNTS.items():
        rows.append(BenchRow(what=what, size=size, base=CAT, bar=bar))
        actions.append(partial(_cost_of_counts, spark, store, columns))
    rows.append(BenchRow(what="stream of the six, 256 MiB a batch", size=size, base=CAT))
    actions.append(lambda: cost_of(lambda: streamed(spark, store)))
    go_round(rows, actions, turns)
    return rows


def streamed(spark: SparkSession, store: Path) -> None:
    """Read a store as a stream, to its end."""
    read = spark.readStream.format("rocketmq").option("maxBytesPerTrigger", "256m").load(str(store))
    checkpoint = store.parent / "checkpoint"
    query = read.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query.start().awaitTermination()
    shutil.rmtree(checkpoint)


def measure_queues(spark: SparkSession, store: Path, turns: RoundCounts) -> list[BenchRow]:
    """Messages, sizes and lags of all queues, in a session that has read before."""
    read = spark.read.format("rocketmq").option("table", "queues")

    def cost(columns: str) -> ActionCost:
        return cost_of(lambda: read.option("columns", columns).load(str(store)).collect())

    plain = "topic,queue_id,min_offset,max_offset,messages,lags"
    rows = [
        BenchRow(what="messages and lags of each queue", size=0, bar="under 2"),
        BenchRow(what="with bytes", size=0, bar="under 2"),
    ]
    go_round(rows, [lambda: cost(plain), lambda: cost(f"{plain},bytes")], turns)
    return rows


def go_round(rows: list[BenchRow], actions: list[Callable[[], ActionCost]], turns: RoundCounts) -> None:
    """Do all actions in each turn, so that other load of the machine affects all; costs go to the rows."""
    for turn in range(turns.warming + turns.counted):
        for row, action in zip(rows, actions, strict=True):
            cost = action()
            if turn >= turns.warming:
                row.costs.append(cost)
