"""Writing results and facts about the machine into a Markdown page.

Theory: the page is written by hand, except for the text between two marker comments: one pair for the table of
workloads, one for the timer, so that each can be measured again alone.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.bars import bar_table, workload_bars
from bench.drivers import Timing
from bench.grpc_cost import Cost
from bench.grpc_cost import cost_table as front_cost_table
from bench.proxy import ProxyCost, proxy_table
from bench.runner import Results
from bench.table import cost_table, side_table, workload_table
from bench.timer_runner import TimerResults
from bench.timer_table import timer_bar_table, timer_table
from compat_tests.readme import ROOT
from rocketwire.compat.environment import artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """The lines before and after the results."""

    begin: str
    end: str


MAIN: Final = Markers(begin="<!-- bench:begin (written by python -m bench --markdown) -->", end="<!-- bench:end -->")
TIMER: Final = Markers(
    begin="<!-- bench-timer:begin (written by python -m bench --only timer --markdown) -->",
    end="<!-- bench-timer:end -->",
)


GRPC: Final = Markers(
    begin="<!-- bench-grpc:begin (written by python -m bench --only grpc --markdown) -->",
    end="<!-- bench-grpc:end -->",
)
PROXIES: Final = Markers(
    begin="<!-- bench-proxy:begin (written by python -m bench --only proxy --markdown) -->",
    end="<!-- bench-proxy:end -->",
)


class MarkersMissingError(Exception):
    """The page has no place for the results."""


def _first(text: str, start: str) -> str:
    return next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith(start)), "unknown")


def _output(command: list[str]) -> str:
    """The output of a command, or nothing if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return ""
    return (done.stdout + done.stderr).strip()


def machine_facts(root: Path) -> list[tuple[str, str]]:
    """The facts that the figures depend on; `root` is the folder of the stores."""
    memory = int(_first(Path("/proc/meminfo").read_text("ascii"), "MemTotal").split()[0]) // 2**20
    java = next(iter(_output([artifacts.java(), "-version"]).splitlines()), "unknown")
    return [
        ("date", f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M} UTC"),
        ("commit", _output(["git", "rev-parse", "--short", "HEAD"]) or "unknown"),
        ("processor", f"{os.cpu_count()} x {_first(Path('/proc/cpuinfo').read_text('utf-8'), 'model name')}"),
        ("memory", f"{memory} GiB"),
        ("system", f"{platform.system()} {platform.release()} {platform.machine()}"),
        ("file system of the stores", _file_system(root)),
        ("Java", java),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("rocketwire", _output([sys.executable, "-m", "rocketwire", "--version"]) or "unknown"),
    ]


def _file_system(path: Path) -> str:
    """The type of the file system that holds `path`: of the mount points above it, the longest."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    holding = [fields for fields in mounts if path.resolve().is_relative_to(fields[1])]
    return max(holding, key=lambda fields: len(fields[1]))[2] if holding else "unknown"


def _facts(root: Path) -> str:
    return "\n".join(f"* {name}: {value}" for name, value in machine_facts(root))


def section(runs: Mapping[str, Results], *, root: Path) -> str:
    """The text between the MAIN markers; `runs` by flush mode, "async" or "sync"."""
    return "\n\n".join([_facts(root), *(_tables(results, flush) for flush, results in runs.items())])


def timer_section(results: TimerResults, flush: str, *, root: Path) -> str:
    """The text between the TIMER markers."""
    how = (
        f"{flush.upper()}_FLUSH on both sides, {results.plan.rounds} turn(s), a fresh server for each. "
        f"Load average of the minute before: {results.load_before:.1f}."
    )
    return "\n\n".join(filter(None, (_facts(root), how, timer_table(results), timer_bar_table(results))))


def grpc_section(results: Results | None, cost: Cost | None, flush: str, *, root: Path) -> str:
    """The text between the GRPC markers."""
    measured = (_how(results, flush), workload_table(results), workload_bars(results)) if results else ()
    return "\n\n".join(filter(None, (_facts(root), *measured, front_cost_table(cost) if cost else "")))


def proxy_section(cost: ProxyCost, timing: Timing, rounds: int, load_before: float, *, root: Path) -> str:
    """The text between the PROXIES markers."""
    how = (
        f"{rounds} rounds of {timing.seconds:g} s each, direct and through the proxy in turns. "
        f"Load average of the minute before: {load_before:.1f}."
    )
    return "\n\n".join((_facts(root), how, proxy_table(cost)))


def _how(results: Results, flush: str) -> str:
    plan = results.plan
    return (
        f"{flush.upper()}_FLUSH on both sides, {plan.rounds} turns of {plan.timing.seconds:g} s each, "
        f"interleaved; drains of {plan.timing.filled:,} messages. "
        f"Load average of the minute before: {results.load_before:.1f}."
    )


def _tables(results: Results, flush: str) -> str:
    tables = (
        workload_table(results),
        bar_table(results),
        cost_table(results, "rate"),
        cost_table(results, "cpu"),
        side_table(results),
    )
    return "\n\n".join(filter(None, (_how(results, flush), *tables)))


def check_page(page: Path, markers: Iterable[Markers]) -> None:
    """Raise MarkersMissingError unless `page` is new or has a place for the results of each pair of `markers`."""
    if page.exists():
        for one in markers:
            split(page.read_text("utf-8"), page.name, one)


def split(text: str, name: str, markers: Markers) -> tuple[str, str]:
    """The text before and after the results, markers included. Raises MarkersMissingError."""
    before, begin, rest = text.partition(markers.begin)
    _, end, after = rest.partition(markers.end)
    if not begin or not end:
        raise MarkersMissingError(f"{name} lacks the lines {markers.begin!r} and {markers.end!r}")
    return before + begin, end + after


def write_page(page: Path, texts: Iterable[tuple[Markers, str]]) -> None:
    """Put each text between its markers in `page`, or make the page with nothing else.

    Raises MarkersMissingError.
    """
    texts = list(texts)
    empty = "\n".join(f"{markers.begin}\n{markers.end}\n" for markers, _ in texts)
    whole = page.read_text("utf-8") if page.exists() else empty
    for markers, text in texts:
        head, tail = split(whole, page.name, markers)
        whole = f"{head}\n\n{text}\n\n{tail}"
    page.write_text(whole, "utf-8")
