"""The command line: `python -m bench.spark --help`. It measures and prints, side by side; it asserts nothing."""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from bench.report import Markers, check_page, machine_facts, write_page
from bench.spark.made_store import GIB
from bench.spark.parts import Bench
from bench.spark.reads import RoundCounts

PLACE: Final = Markers(
    begin="<!-- bench-spark:begin (written by python -m bench.spark --markdown) -->", end="<!-- bench-spark:end -->"
)
#: The part with a separate place: it was measured alone.
PLACES: Final = {
    "small": Markers(
        begin="<!-- bench-spark-small:begin (written by python -m bench.spark --only small --markdown) -->",
        end="<!-- bench-spark-small:end -->",
    ),
}
PARTS: Final = ("reads", "queues", "memory", "stream", "small")
#: It takes minutes, and is measured only when it is named.
NAMED: Final = "stream"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description="Measure the Spark data source.")
    parser.add_argument(
        "--only",
        metavar="PART,...",
        default=",".join(set(PARTS) - {NAMED}),
        help=f"of {', '.join(PARTS)}; without: all but {NAMED}",
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns that count (default 3)")
    parser.add_argument("--warming", type=int, default=3, help="turns before them, for the JVM's compilers (default 3)")
    parser.add_argument("--gib", type=float, default=2, help="size of the stores that are read (default 2)")
    parser.add_argument("--most-gib", type=float, default=10, help="of the larger one for the memory (default 10)")
    parser.add_argument("--dir", type=Path, help="where stores lie while it runs (the system's temporary folder)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results between FILE's markers")
    return parser


def _text(parts: Iterable[str], bench: Bench) -> Iterator[str]:
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
    places: dict[Markers, list[str]] = {}
    for name in parts:
        places.setdefault(PLACES.get(name, PLACE), []).append(name)
    if options.markdown:
        check_page(options.markdown, places)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads spin at the import of numpy
    signal.signal(signal.SIGTERM, _interrupt)
    root = Path(tempfile.mkdtemp(prefix="bench-spark-", dir=options.dir))
    turns = RoundCounts(options.warming, options.rounds)
    bench = Bench(root, turns, size=int(options.gib * GIB), most=int(options.most_gib * GIB))
    try:
        load = os.getloadavg()[0]
        facts = "\n".join(f"* {name}: {value}" for name, value in machine_facts(root))
        how = f"min / median / max of {options.rounds} turns. Load average of the minute before: {load:.1f}."
        texts = [(place, "\n\n".join([facts, how, *_text(names, bench)])) for place, names in places.items()]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if options.markdown:
        write_page(options.markdown, texts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
