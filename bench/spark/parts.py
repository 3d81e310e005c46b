"""The parts of the benchmark: each makes its stores, measures, and removes them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.spark import reads, small, streams, tables
from bench.spark.made_store import BODIES, GIB, make_store
from bench.spark.session import session
from bench.spark.usage import Peaks, peaks
from bench.wide_store import WideStore
from rocketwire.spark.schema import DEFAULT_COLUMNS
from tools import build_spark_jar


class Bench:
    """All parts, by name."""

    def __init__(self, root: Path, turns: reads.RoundCounts, *, size: int, most: int) -> None:
        """Measure stores of so many bytes, and the memory with one of `most`, in a folder for them."""
        self._turns = turns
        self._size = size
        self._most = most
        self._root = root

    def part(self, name: str) -> Iterator[str]:
        """The text of a part, piece by piece."""
        parts: dict[str, Callable[[], Iterator[str]]] = {
            "reads": self._reads,
            "queues": self._queues,
            "memory": self._memory,
            "stream": self._stream,
            "small": self._small,
        }
        yield from parts[name]()

    def _reads(self) -> Iterator[str]:
        for body in BODIES:
            store = self._store(body, self._size)
            with session(self._root / "spark", jars=[build_spark_jar.build()]) as spark:
                rows = reads.measure_reads(spark, store, self._turns)
            shutil.rmtree(store)
            yield f"Bodies of {body} B, {self._size / GIB:g} GiB, through Spark with the jar:"
            yield tables.rates(rows)

    def _queues(self) -> Iterator[str]:
        store = self._root / "wide"
        WideStore().make(store)
        with session(self._root / "spark") as spark:
            rows = reads.measure_queues(spark, store, self._turns)
        shutil.rmtree(store)
        yield "10,000 queues of 1,000 messages and 1,000 files of log, `table` = `queues`:"
        yield tables.times(rows)

    def _memory(self) -> Iterator[str]:
        found: list[tuple[int, Peaks]] = []
        for size in (GIB, self._most):
            store = self._store(1024, size)
            with session(self._root / "spark", jars=[build_spark_jar.build()]) as spark:
                for _ in range(2):
                    reads.counted(spark, store, DEFAULT_COLUMNS).collect()
                found.append((size, peaks()))
            shutil.rmtree(store)
        yield "Peaks of resident memory, six columns of bodies of 1 KiB, counted twice (the heap may grow to 1 GiB):"
        yield tables.memory(found)

    def _stream(self) -> Iterator[str]:
        with session(self._root / "spark", jars=[build_spark_jar.build()]) as spark:
            found = streams.measure(spark, self._root / "fed")
        shutil.rmtree(self._root / "fed")
        queues = f"{streams.BROKERS * streams.QUEUES:,} queues of {streams.BROKERS} brokers"
        load = f"{streams.RATE:,} messages of 100 B a second for {streams.SECONDS} s, a trigger of a second, to nothing"
        yield f"{queues}, {load} (min / median / max of the batches):"
        yield streams.table(found)

    def _small(self) -> Iterator[str]:
        jar = build_spark_jar.unnamed(self._root / "unnamed.jar")
        for body in BODIES:
            store, work = self._store(body, self._size), self._root / "small"
            with session(self._root / "spark", jars=[jar]) as spark:
                rows = small.measure(spark, store, work, self._turns)
            for path in (store, work):
                shutil.rmtree(path)
            yield f"Bodies of {body} B, {self._size / GIB:g} GiB:"
            yield tables.times(rows)

    def _store(self, body: int, size: int) -> Path:
        store = self._root / "store"
        make_store(store, body=body, size=size)
        return store
