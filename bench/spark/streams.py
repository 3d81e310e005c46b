"""A stream of very many queues under load: does it keep up with a trigger of a second, and what does that cost?"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

from bench.spark.usage import cpu_seconds
from bench.statistics import spread
from bench.table import render, shown

BROKERS: Final = 50
QUEUES: Final = 200  # of each
RATE: Final = 100_000
SECONDS: Final = 60
_WARMING: Final = 30  # seconds, in which the JVM compiles, and older messages are read
_COLUMNS: Final = "topic,queue_id,queue_offset,body"


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """A micro-batch: `ended` in s since 1970, `steps` in ms by Spark's names; `lag` is in seconds of the load."""

    ended: float
    rows: int
    steps: dict[str, int]
    lag: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMeasurement:
    """What a stream did: `late` is the feed's own delay, in s, `cpu` CPU seconds a second, the feed's left out."""

    batches: list[MicroBatch]
    seconds: float
    cpu: float
    late: float


class Feed:
    """The brokers' process; a context."""

    def __init__(self, folder: Path) -> None:
        """Make the stores."""
        command = [sys.executable, "-m", "bench.spark.feed", str(folder)]
        command += [f"--{name}={value}" for name, value in (("brokers", BROKERS), ("queues", QUEUES), ("rate", RATE))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._output.readline()
        self.pid = self._process.pid

    def begin(self) -> float:
        """Let it append; when that was, in s since 1970."""
        self._write_line()
        return time.time()

    def end(self) -> tuple[int, float]:
        """Let it stop: how many messages it appended, and how many s it was late at most."""
        self._write_line()
        appended, late = self._output.readline().split()
        self._process.wait()
        return int(appended), float(late)

    def kill(self) -> None:
        """End it if it runs."""
        self._process.kill()
        self._process.wait()

    def _write_line(self) -> None:
        self._input.write("\n")
        self._input.flush()


@contextmanager
def fed(folder: Path) -> Iterator[Feed]:
    """Brokers, whose process ends with the context."""
    feed = Feed(folder)
    try:
        yield feed
    finally:
        feed.kill()


def measure(spark: SparkSession, folder: Path, seconds: int = SECONDS) -> StreamMeasurement:
    """Read a minute of the load with a trigger of a second, into nothing."""
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
    with fed(folder) as feed:
        reader = spark.readStream.format("rocketmq").option("path", f"{folder}/broker-*").option("columns", _COLUMNS)
        query: Any = reader.load().writeStream.format("noop").trigger(processingTime="1 second").start()
        try:
            _wait_for_rows(query)
            begun = feed.begin()
            time.sleep(_WARMING)
            start, before = time.time(), _cpu_beside(feed)
            time.sleep(seconds)
            cpu = _cpu_beside(feed) - before
            end = time.time()
            progress = [each for each in query.recentProgress if each["batchId"] >= 0]
        finally:
            query.stop()
        _, late = feed.end()
    there = BROKERS * QUEUES * max(1, RATE // BROKERS // QUEUES)
    return StreamMeasurement(
        batches=[batch for batch in _batches(progress, begun, there) if start <= batch.ended <= end],
        seconds=end - start,
        cpu=cpu / (end - start),
        late=late,
    )


def table(found: StreamMeasurement) -> str:
    """The figures of a stream."""
    rows = sum(batch.rows for batch in found.batches)
    steps = ("latestOffset", "queryPlanning", "addBatch", "triggerExecution")
    times = [shown(spread(batch.steps.get(step, 0) / 1000 for batch in found.batches), "{:.2f}") for step in steps]
    lags = shown(spread(batch.lag for batch in found.batches), "{:.1f}")
    head = ["rows a second", "lag, triggers", "latestOffset, s", "planning, s", "tasks, s", "batch, s"]
    line = [f"{rows / found.seconds:,.0f}", lags, *times, f"{found.cpu:.2f}", f"{found.late:.1f}"]
    return render([*head, "CPU-s a second", "feed late, s"], [line])


def _wait_for_rows(query: Any) -> None:  # noqa: ANN401 - Spark's query
    """Wait for the first batch: what the stores had before."""
    while not any(each["numInputRows"] for each in query.recentProgress):
        if query.exception() is not None:
            raise query.exception()
        time.sleep(0.1)


def _cpu_beside(feed: Feed) -> float:
    return cpu_seconds(os.getpid()) - cpu_seconds(feed.pid)


def _batches(progress: list[Any], begun: float, there: int) -> Iterator[MicroBatch]:
    read = 0
    for each in progress:
        steps = {name: int(value) for name, value in each["durationMs"].items()}
        ended = datetime.fromisoformat(each["timestamp"]).timestamp() + steps["triggerExecution"] / 1000
        read += each["numInputRows"]
        lag = ended - begun - (read - there) / RATE
        yield MicroBatch(ended=ended, rows=each["numInputRows"], steps=steps, lag=lag)
