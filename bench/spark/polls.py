"""What the jar's driver pays for a trigger of a stream over many queues: no Spark, stores of 50 brokers on one disk.

    python -m bench.spark.polls [--brokers 50] [--queues 200] [--turns 9]

Before each turn every queue gets 10 messages of 100 bytes, as a broker would append them. Times are CPU seconds of the
driver's thread, min / median / max: of latestOffset and of planning the batch's tasks, after as many turns in which
the JVM compiles.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyspark

from bench.spark.feed import Broker
from tools import build_spark_jar

_NEW: Final = 10
_SETTLED: Final = 1.1
_PROGRAM: Final = str(Path(__file__).with_name("Polls.java"))


def _measured(roots: Sequence[Path], append: Callable[[], None], turns: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    jars = f"{build_spark_jar.build()}:{Path(pyspark.__file__).parent / 'jars'}/*"
    command = ["java", "-cp", jars, _PROGRAM, ",".join(map(str, roots))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        steps, answers = program.stdin, program.stdout
        assert steps is not None
        assert answers is not None

        def paid(step: str) -> float:
            steps.write(step + "\n")
            return float(answers.readline())

        for _ in range(2):
            time.sleep(_SETTLED)
            times.setdefault("latestOffset, first", []).append(paid("poll"))
        for turn in range(2 * turns):
            found = {"latestOffset, nothing new": paid("poll")}
            append()
            found |= {"latestOffset": paid("poll"), "planning": paid("plan")}
            paid("commit")
            if turn >= turns:
                for name, seconds in found.items():
                    times.setdefault(name, []).append(seconds)
        steps.close()
    return times


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("brokers", 50), ("queues", 200), ("turns", 9)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        roots = [Path(folder) / f"broker-{number}" for number in range(options.brokers)]
        brokers = [Broker(root, options.queues, _NEW) for root in roots]

        def append() -> None:
            for broker in brokers:
                broker.append()

        append()
        times = _measured(roots, append, options.turns)
    print(f"{options.brokers * options.queues:,} queues of {options.brokers} brokers")
    for name, paid in times.items():
        print(f"{name}: {np.min(paid):.3f} / {statistics.median(paid):.3f} / {np.max(paid):.3f} CPU-s")


if __name__ == "__main__":
    main()
