"""Flame graphs of the server under one load: `python -m bench.flame --help`.

Theory: the server is the one that the benchmark measures, under the same load; py-spy samples its stacks from outside,
those of C code too. It stops the server for each sample, so rates of such a run mean nothing. py-spy is not a
dependency: `pip install py-spy`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench import tools
from bench.drivers import LoadFailedError, RawLoad, Timing
from bench.flame_graph import draw, tree
from bench.ports import Ports, PortsTakenError
from bench.processes import ServerFailedError
from bench.sides import Rocketwire, Setup
from bench.statistics import Failure, Sample
from bench.workloads import FILLINGS, WORKLOADS, Workload
from compat_tests.readme import ROOT
from rocketwire.compat.environment import artifacts, cache

FLAMES: Final[Mapping[str, str]] = {"send": "send-8x32", "batch": "batch", "pull": "pull", "many": "many-1000"}
"""Names of the graphs, and their workloads."""
_RATE: Final = 200  # samples a second
_FILLED: Final = 300_000
_LEAD_SECONDS: Final = 1.0  # of load before the recording, and after it


class RecorderError(Exception):
    """py-spy is missing or failed; one line."""


def _recorder() -> str:
    """py-spy's path. Raises RecorderError."""
    beside = Path(sys.executable).with_name("py-spy")
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise RecorderError("py-spy is missing: pip install py-spy")
    return found


def _record(recorder: str, pid: int, seconds: float, stacks: Path) -> None:
    """Write the collapsed stacks of a process to `stacks`. Raises RecorderError."""
    command = [recorder, "record", "--native", "--rate", str(_RATE), "--format", "raw"]
    command += ["--duration", str(max(1, round(seconds))), "--pid", str(pid), "--output", str(stacks)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise RecorderError(f"py-spy: {lines[-1] if lines else 'no word'}")


def _must(outcome: Sample | Failure, what: str) -> None:
    if isinstance(outcome, Failure):
        raise LoadFailedError(f"{what}: {outcome.reason}")


def _under_load(load: RawLoad, side: Rocketwire, workload: Workload, seconds: float, stacks: Path) -> None:
    """Record while the workload runs. Raises LoadFailedError, RecorderError."""
    recorder = _recorder()
    load.create_topic(side, workload.topic)
    if workload.topic in FILLINGS:
        load.fill(side, workload.topic, _FILLED, *FILLINGS[workload.topic])
    # Run once without samples, so that the graph does not show the set-up of topics and connections.
    started = time.monotonic()
    _must(load.run(side, workload, Timing(warmup=0, seconds=_LEAD_SECONDS, filled=0)), workload.name)
    lead = 2 * (time.monotonic() - started)
    outcomes: list[Sample | Failure] = []
    timing = Timing(warmup=0, seconds=lead + seconds + _LEAD_SECONDS, filled=0)
    running = threading.Thread(target=lambda: outcomes.append(load.run(side, workload, timing)))
    running.start()
    try:
        time.sleep(lead)
        _record(recorder, side.pid, seconds, stacks)
    finally:
        running.join()
    _must(outcomes[0], workload.name)


def record(names: Sequence[str], *, seconds: float, stacks: Path, prefix: str) -> None:
    """Record each of FLAMES's `names` into `stacks`/PREFIX-NAME.raw, on one server with an empty store.

    Raises ServerFailedError, LoadFailedError, RecorderError, PortsTakenError, ArtifactError.
    """
    built = tools.build()
    root = Path(tempfile.mkdtemp(prefix="bench-flame-", dir=cache.CACHE))
    try:
        side = Rocketwire(Setup(flush="async", load=built.load, ports=Ports()), root / "rocketwire")
        try:
            for name in names:
                workload = next(one for one in WORKLOADS if one.name == FLAMES[name])
                _under_load(RawLoad(built.load), side, workload, seconds, stacks / f"{prefix}-{name}.raw")
        finally:
            side.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def drawn(names: Sequence[str], *, stacks: Path, prefix: str, out: Path) -> list[Path]:
    """Draw `stacks`/PREFIX-NAME.raw as `out`/PREFIX-NAME.svg; the files written. Raises OSError, ValueError."""
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names:
        workload = next(one for one in WORKLOADS if one.name == FLAMES[name])
        lines = (stacks / f"{prefix}-{name}.raw").read_text("utf-8").splitlines()
        written.append(out / f"{prefix}-{name}.svg")
        written[-1].write_text(draw(tree(lines), f"{prefix}: {workload.text}"), "utf-8")
    return written


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.flame", description="Record flame graphs of rocketwire under load, with py-spy."
    )
    parser.add_argument("prefix", metavar="PREFIX", help="what the files are called: PREFIX-send.svg, ...")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"some of {', '.join(FLAMES)} (default: all)")
    parser.add_argument("--seconds", type=float, metavar="S", default=8.0, help="of recording each (default 8)")
    parser.add_argument("--out", type=Path, metavar="DIR", default=ROOT / "docs" / "flame")
    parser.add_argument("--stacks", type=Path, metavar="DIR", help="keep the collapsed stacks there")
    parser.add_argument("--draw", action="store_true", help="draw the stacks that --stacks has, record nothing")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit code is 0, or 2 after one line on stderr."""
    options = _parser().parse_args(arguments)
    names = options.names or list(FLAMES)
    if not set(names) <= FLAMES.keys():
        print(f"bench.flame: there are {', '.join(FLAMES)}", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory() as room:
            stacks = options.stacks or Path(room)
            stacks.mkdir(parents=True, exist_ok=True)
            if not options.draw:
                record(names, seconds=options.seconds, stacks=stacks, prefix=options.prefix)
            for path in drawn(names, stacks=stacks, prefix=options.prefix, out=options.out):
                print(f"{path} ({path.stat().st_size // 1024} KiB)")
    except (ValueError, OSError, artifacts.ArtifactError) as error:
        print(f"bench.flame: {error}", file=sys.stderr)
    except (ServerFailedError, LoadFailedError, PortsTakenError, RecorderError) as error:
        print(f"bench.flame: {error}", file=sys.stderr)
    else:
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main())
