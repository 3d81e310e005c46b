"""The command line: `python -m bench.spark --help`. It measures and prints, side by side; it asserts nothing."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from bench.report import Markers, check_page, machine_facts, write_page
from bench.spark import kernels, reads, streams, tables
from bench.spark.made_store import GIB, make_store
from bench.spark.session import session
from bench.spark.usage import Peaks, peaks
from bench.table import render
from bench.wide_store import WideStore
from rocketwire.spark.schema import DEFAULT_COLUMNS
from tools import build_spark_jar

PLACE: Final = Markers(
    begin="<!-- bench-spark:begin (written by python -m bench.spark --markdown) -->", end="<!-- bench-spark:end -->"
)
PARTS: Final = ("kernels", "reads", "twin", "export", "queues", "memory", "stream")
#: Those that take minutes, and are measured only when they are named.
NAMED: Final = frozenset({"twin", "stream"})
BODIES: Final = kernels.BODIES


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description="Measure the Spark data source.")
    parser.add_argument(
        "--only",
        metavar="PART,...",
        default=",".join(set(PARTS) - NAMED),
        help=f"of {', '.join(PARTS)}; without: all but {', '.join(sorted(NAMED))}",
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns that count (default 3)")
    parser.add_argument("--warming", type=int, default=3, help="turns before them, for the JVM's compilers (default 3)")
    parser.add_argument("--gib", type=float, default=2, help="size of the stores that are read (default 2)")
    parser.add_argument("--most-gib", type=float, default=10, help="of the larger one for the memory (default 10)")
    parser.add_argument("--dir", type=Path, help="where stores lie while it runs (the system's temporary folder)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results between FILE's markers")
    return parser


class _Bench:
    """The parts, each with a store that it makes and removes."""

    def __init__(self, options: argparse.Namespace, root: Path) -> None:
        self._turns = reads.Turns(options.warming, options.rounds)
        self._size = int(options.gib * GIB)
        self._most = int(options.most_gib * GIB)
        self._root = root

    def part(self, name: str) -> Iterator[str]:
        """The text of a part, piece by piece."""
        parts: dict[str, Callable[[], Iterator[str]]] = {
            "kernels": self._kernels,
            "reads": self._reads,
            "twin": lambda: self._reads("python"),
            "export": self._export,
            "queues": self._queues,
            "memory": self._memory,
            "stream": self._stream,
        }
        yield from parts[name]()

    def _kernels(self) -> Iterator[str]:
        for body in BODIES:
            path = self._root / "log"
            log = kernels.Log(path, body, min(self._size, GIB))
            found = kernels.measured(log, self._turns.counted)
            path.unlink()
            bases = (kernels.CAT, kernels.MEMCPY)
            lines = [
                [
                    name,
                    f"{min(rates):,.0f} / {statistics.median(rates):,.0f} / {max(rates):,.0f}",
                    *(f"{_part(rates, found[base]):.1%}" for base in bases),
                ]
                for name, rates in found.items()
            ]
            yield f"Bodies of {body} B, {log.size / GIB:.2f} GiB, without Spark, MiB a CPU-second:"
            yield render(["what", "min / median / max", *(f"of {base}" for base in bases)], lines)

    def _reads(self, kernel: str = "") -> Iterator[str]:
        for body in BODIES:
            store = self._store(body, self._size)
            with session(self._root / "spark", kernel=kernel) as spark:
                rows = reads.measure_reads(spark, store, self._turns)
            shutil.rmtree(store)
            twin = ", with the numpy twin" if kernel else ""
            yield f"Bodies of {body} B, {self._size / GIB:g} GiB, through Spark{twin}:"
            yield tables.rates(rows)

    def _export(self) -> Iterator[str]:
        for body in BODIES:
            store = self._store(body, self._size // 8)
            with session(self._root / "spark") as spark:
                rows = reads.measure_exports(spark, store, self._turns)
            shutil.rmtree(store)
            yield f"Bodies of {body} B, {self._size / 8 / GIB:g} GiB, to Parquet by topic and day:"
            yield tables.times(rows)

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
            with session(self._root / "spark") as spark:
                for _ in range(2):
                    reads.counted(spark, store, DEFAULT_COLUMNS).collect()
                found.append((size, peaks()))
            shutil.rmtree(store)
        yield "Peaks of resident memory, six columns of bodies of 1 KiB, counted twice (the heap may grow to 1 GiB):"
        yield tables.memory(found)

    def _stream(self) -> Iterator[str]:
        found = []
        for what, jars in (("Python", []), ("jar", [build_spark_jar.build()])):
            with session(self._root / "spark", jars=jars) as spark:
                found.append(streams.measure(spark, what, self._root / "fed"))
            shutil.rmtree(self._root / "fed")
        queues = f"{streams.BROKERS * streams.QUEUES:,} queues of {streams.BROKERS} brokers"
        load = f"{streams.RATE:,} messages of 100 B a second for {streams.SECONDS} s, a trigger of a second, to nothing"
        yield f"{queues}, {load} (min / median / max of the batches):"
        yield streams.table(found)

    def _store(self, body: int, size: int) -> Path:
        store = self._root / "store"
        make_store(store, body=body, size=size)
        return store


def _part(rates: Sequence[float], base: Sequence[float]) -> float:
    return statistics.median(rate / other for rate, other in zip(rates, base, strict=True))


def _text(parts: Iterable[str], bench: _Bench) -> Iterator[str]:
    for name in parts:
        for piece in itertools.chain([f"### {name.capitalize()}"], bench.part(name)):
            print(piece, flush=True)
            yield piece


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit code is 0, or 2 after one line on stderr."""
    options = _parser().parse_args(arguments)
    parts = [name for name in PARTS if name in options.only.split(",")]
    if not parts or options.rounds < 1 or options.warming < 0:
        print("bench.spark: no such part, or no round", file=sys.stderr)
        return 2
    if options.markdown:
        check_page(options.markdown, [PLACE])
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin at the import of numpy
    signal.signal(signal.SIGTERM, _interrupt)
    root = Path(tempfile.mkdtemp(prefix="bench-spark-", dir=options.dir))
    try:
        load = os.getloadavg()[0]
        facts = "\n".join(f"* {name}: {value}" for name, value in machine_facts(root))
        pieces = list(_text(parts, _Bench(options, root)))
    finally:
        shutil.rmtree(root, ignore_errors=True)
    how = f"min / median / max of {options.rounds} turns. Load average of the minute before: {load:.1f}."
    text = "\n\n".join([facts, how, *pieces])
    if options.markdown:
        write_page(options.markdown, [(PLACE, text)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
