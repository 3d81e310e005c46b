"""Running the timer's benchmark.

Theory: a server that could not keep up with a load works on it for minutes, so each run has a new server, with an empty
store, and no other one runs beside it. The sides take turns. Each server is warmed up with a shorter load of the same
kind, for the JIT compilers of Apache's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bench.drivers import RawLoad
from bench.sides import TIMER_SIDES, Setup
from bench.statistics import Failure
from bench.timers import WARM, TimerLoad, TimerSample
from bench.tools import Tools

_TOPIC: Final = "BenchTimer"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerPlan:
    """What to do."""

    sides: Sequence[str]
    loads: Sequence[TimerLoad]
    rounds: int


@dataclass(slots=True, kw_only=True)
class TimerResults:
    """outcomes[load name][side], one a round. `load_before`: the machine's load average of the minute before."""

    plan: TimerPlan
    load_before: float = 0.0
    outcomes: dict[str, dict[str, list[TimerSample | Failure]]] = field(default_factory=dict)


class TimerRunner:
    """Runs a plan in an empty directory `root`; `report` gets a line of progress now and then."""

    def __init__(
        self, *, plan: TimerPlan, tools: Tools, setup: Setup, root: Path, report: Callable[[str], None]
    ) -> None:
        self._plan, self._setup, self._root, self._report = plan, setup, root, report
        self._raw = RawLoad(tools.load)
        self.results = TimerResults(plan=plan)

    def run(self) -> TimerResults:
        """Do all of it. Raises ServerFailedError, LoadFailedError, ArtifactError, PortsTakenError."""
        self.results.load_before = os.getloadavg()[0]
        for load in self._plan.loads:
            outcomes = self.results.outcomes[load.name] = {name: [] for name in self._plan.sides}
            for number in range(1, self._plan.rounds + 1):
                for name in self._plan.sides:
                    outcomes[name].append(self._once(name, load))
                    self._report(f"{load.name} {number}/{self._plan.rounds} {name}: {_short(outcomes[name][-1])}")
        return self.results

    def _once(self, name: str, load: TimerLoad) -> TimerSample | Failure:
        os.sync()
        root = self._root / name
        side = TIMER_SIDES[name](self._setup, root)
        try:
            self._raw.create_topic(side, _TOPIC)
            warm = self._raw.run_timer(side, _TOPIC, WARM)
            # Another load's messages in the topic would be counted: there is nothing to measure then.
            if isinstance(warm, Failure) or warm.missing:
                reason = warm.reason if isinstance(warm, Failure) else f"{warm.missing:,} messages did not come"
                return Failure(reason=f"warming up: {reason}")
            outcome = self._raw.run_timer(side, _TOPIC, load)
            memory = side.memory()
        finally:
            side.stop()
            shutil.rmtree(root, ignore_errors=True)
        if isinstance(outcome, Failure):
            return outcome
        return replace(outcome, rss=memory.rss, private=memory.private)


def _short(outcome: TimerSample | Failure) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.reason}"
    return (
        f"late p50 {outcome.p50_ms:,.0f} p99 {outcome.p99_ms:,.0f} ms, all {outcome.drain_seconds:.2f} s after the last"
        f", {outcome.cpu_us:.1f} us CPU, {outcome.missing} missing, {outcome.duplicates} twice, {outcome.early} early"
    )
