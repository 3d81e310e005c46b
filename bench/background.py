"""Background work: how long others wait for plain sends beside a backlog of each kind, and without one.

Theory: a store with the backlog is made directly, so a server that starts on it works on nothing else. Another server
with an empty store is measured alternately with it, for the machine's speed drifts. The others are plain sends: as fast
as they go (8 connections with 32 in flight each), and paced, where the latency shows any interference (8 producers to 8
waiting consumers, 2,000 a second). They are measured right after the start, while the backlog lasts.

    python -m bench.background [--only checks,timers] [--backlog 500000] [--rounds 3] [--seconds 2]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.backlogs import BACKLOG, KINDS, Kind, opened
from bench.statistics import spread
from bench.table import shown
from bench.tools import build_load
from compat_tests import remoting
from compat_tests.endpoints import Rocketwire
from rocketwire.compat.brokers.endpoint import running
from rocketwire.store.settings import StoreSettings

BAR: Final = 2.0
"""The most that others' p99 may be beside a backlog, as a multiple of what it is without."""
_DELETE_TOPIC: Final = 215
_TOPIC: Final = "Others"
_QUEUES: Final = "8"
_LOADS: Final = {
    "fast": ("send", "--connections", "8", "--window", "32", "--warmup", "0.3"),
    "paced": ("many", "--connections", "8", "--rate", "2000", "--warmup", "0.3"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One server: sends a second, p99 in us of fast and of paced sends, and how much of the backlog was done."""

    rate: float
    fast: float
    paced: float
    done: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The samples of a kind of work, without its backlog and beside it."""

    text: str
    without: Sequence[Sample]
    beside: Sequence[Sample]

    def ratio(self, load: str) -> float:
        """The others' p99 beside the backlog, as a multiple of what it is without: of the turns least disturbed."""
        return _least(self.beside, load) / _least(self.without, load)


def _least(samples: Sequence[Sample], name: str) -> float:
    least: float = min(getattr(sample, name) for sample in samples)
    return least


def once(load: Path, root: Path, kind: Kind, made: Path | None, seconds: float) -> Sample:
    """Measure one server, on a copy of the store that was `made`, or on an empty one."""
    if made is not None:
        shutil.copytree(made, root / "store")
    settings = {
        "mappedFileSizeCommitLog": str(StoreSettings(root=root).commit_log_file_size),
        "maxOffsets": str(2 * BACKLOG),
        **kind.settings,
    }
    endpoint = Rocketwire(root, settings=settings)
    with running(endpoint):
        if made is not None and kind.topic:
            threading.Thread(target=_delete, args=(endpoint.broker, kind.topic), daemon=True).start()
        found = {name: _load(load, endpoint, name, seconds) for name in _LOADS}
    done = None
    if made is not None and kind.progress is not None:
        store = opened(root / "store")
        done = kind.progress(store)
        store.close()
    return Sample(rate=found["fast"]["rate"], fast=found["fast"]["p99_us"], paced=found["paced"]["p99_us"], done=done)


def _delete(broker: str, topic: str) -> None:
    """Have a topic deleted; the server may end before that is done."""
    with contextlib.suppress(OSError):
        remoting.request(broker, _DELETE_TOPIC, {"topic": topic})


def _load(program: Path, endpoint: Rocketwire, name: str, seconds: float) -> dict[str, Any]:
    host, _, port = endpoint.broker.rpartition(":")
    place = ["--host", host, "--port", port, "--topic", _TOPIC, "--queues", _QUEUES, "--size", "100"]
    mode, *options = _LOADS[name]
    command = [str(program), mode, *place, *options, "--seconds", str(seconds)]
    subprocess.run([str(program), "topic", *place], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if found["errors"]:
        raise RuntimeError(found["error"])
    return found


def measured(load: Path, kind: Kind, *, backlog: int, rounds: int, seconds: float) -> Row:
    """Measure a kind of work, alternately without its backlog and beside it."""
    without: list[Sample] = []
    beside: list[Sample] = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        made = Path(folder) / "made"
        kind.make(made, backlog)
        for number in range(rounds):
            for samples, store in ((without, None), (beside, made)):
                root = Path(folder) / "run"
                samples.append(once(load, root, kind, store, seconds))
                shutil.rmtree(root)
                sys.stderr.write(f"{number + 1}/{rounds} {kind.name}: {samples[-1]}\n")
    return Row(text=kind.text, without=without, beside=beside)


def table(rows: Sequence[Row]) -> str:
    """The figures as a table of Markdown."""
    titles = (
        "backlog of",
        "sends/s without",
        "sends/s beside it",
        "p99 us without",
        "p99 us beside it",
        "ratio",
        "paced: p99 us without",
        "paced: p99 us beside it",
        "ratio",
        "done",
    )
    lines = [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]
    for row in rows:
        figures = [_shown(row.without, "rate"), _shown(row.beside, "rate")]
        for name in _LOADS:
            ratio = row.ratio(name)
            figures += [_shown(row.without, name), _shown(row.beside, name), f"{ratio:.2f} {_verdict(ratio)}"]
        done = [sample.done for sample in row.beside if sample.done is not None]
        figures.append(f"{statistics.median(done):,.0f}" if done else "-")
        lines.append(f"| {row.text} | {' | '.join(figures)} |")
    return "\n".join(lines)


def _verdict(ratio: float) -> str:
    return f"<= {BAR:.0f}" if ratio <= BAR else f"> {BAR:.0f}"


def _shown(samples: Sequence[Sample], name: str) -> str:
    return shown(spread(getattr(sample, name) for sample in samples))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="Others' latency beside a backlog of background work.")
    parser.add_argument("--only", help=f"kinds of work: {', '.join(kind.name for kind in KINDS)}")
    parser.add_argument("--backlog", type=int, default=BACKLOG)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    wanted = {kind.name for kind in KINDS} if options.only is None else set(options.only.split(","))
    load = build_load()
    rows = [
        measured(load, kind, backlog=options.backlog, rounds=options.rounds, seconds=options.seconds)
        for kind in KINDS
        if kind.name in wanted
    ]
    print(table(rows))


if __name__ == "__main__":
    main()
