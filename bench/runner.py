"""Running a whole benchmark: start, warm up, measure alternately, read the memory, stop.

Theory: the sides take turns within each workload (A B, A B, ...), so that whatever else the machine does
falls on both; workloads that are compared with another take turns with it too. Each workload's first turn is
thrown away: it warms the JIT compilers of Apache's broker and of the Java client. Before each turn dirty pages are
flushed to the disk, so that no side pays for the other's pages.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bench.drivers import Driver, LoadFailedError, RawLoad, Timing
from bench.processes import Memory
from bench.sides import SIDES, Setup, Side, start_up_seconds
from bench.statistics import Failure, Sample, Spread, spread
from bench.workloads import FILLINGS, Workload, groups

WARM: Final = Workload(
    name="warm",
    text="",
    program="raw",
    mode="send",
    topic="BenchWarm",
    options={"connections": 8, "window": 32, "patient": 1},
)
_SETTLE_SECONDS = 2.0  # between the start and the measurement of the idle memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do. `long_messages`: how many to send before the last measurement of the memory, 0 = none.

    `idle_connections`: how many to open to measure what one costs, 0 = none.
    """

    sides: Sequence[str]
    workloads: Sequence[Workload]
    start_up: bool
    rounds: int
    warm_seconds: float
    timing: Timing
    warm: Workload = WARM
    long_messages: int = 0
    idle_connections: int = 0


@dataclass(slots=True, kw_only=True)
class SideFacts:
    """What is known of a side beyond its workloads; grows while the benchmark runs."""

    start_seconds: list[float] = field(default_factory=list)
    idle: Memory | None = None
    loaded: Memory | None = None
    after_long: Memory | None = None
    name_server: Memory | None = None
    connection: Memory | None = None  # of one idle connection

    @property
    def start(self) -> Spread | None:
        """Start-up times summed up."""
        return spread(self.start_seconds)


@dataclass(slots=True, kw_only=True)
class Results:
    """Everything measured: outcomes[workload name][side], facts[side].

    `load_before` is the machine's load average of the minute before the run: more than a little means that
    something else was busy, and rates are worth nothing then.
    """

    plan: Plan
    load_before: float = 0.0
    outcomes: dict[str, dict[str, list[Sample | Failure]]] = field(default_factory=dict)
    facts: dict[str, SideFacts] = field(default_factory=dict)


class Runner:
    """Runs a plan in an empty directory `root`.

    `raw` fills topics and holds connections; `drivers` carry out workloads, by their `program`; `sides` starts the
    servers. `report` gets a line of progress now and then.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        raw: RawLoad,
        drivers: Mapping[str, Driver],
        setup: Setup,
        root: Path,
        report: Callable[[str], None],
        sides: Mapping[str, Callable[[Setup, Path], Side]] = SIDES,
    ) -> None:
        self._plan, self._setup, self._root, self._report = plan, setup, root, report
        self._raw, self._drivers, self._sides = raw, drivers, sides
        self._running: dict[str, Side] = {}
        self.results = Results(plan=plan, facts={side: SideFacts() for side in plan.sides})

    def run(self) -> Results:
        """Do all of it and stop every process.

        Raises ServerFailedError, LoadFailedError, ArtifactError, PortsTakenError.
        """
        self.results.load_before = os.getloadavg()[0]
        try:
            if self._plan.start_up:
                self._measure_start_up()
            self._start()
            # Topics that were filled are read first: behind many gigabytes of sends a broker would count them as being
            # on disk, and hand out eight messages at a time.
            for group in sorted(groups(self._plan.workloads), key=lambda group: group[0].topic not in FILLINGS):
                self._measure(group)
            for name, side in self._running.items():
                self.results.facts[name].loaded = side.memory()
                self.results.facts[name].name_server = side.name_server_memory()
            if self._plan.long_messages:
                self._long_run()
        finally:
            for driver in self._drivers.values():
                driver.stop()
            for side in self._running.values():
                side.stop()
        return self.results

    def _measure_start_up(self) -> None:
        for number in range(self._plan.rounds):
            for name in self._plan.sides:
                root = self._root / f"{name}-start-{number}"
                self.results.facts[name].start_seconds.append(start_up_seconds(self._sides[name], self._setup, root))
                self._report(f"start-up {name}: {self.results.facts[name].start_seconds[-1]:.2f} s")

    def _start(self) -> None:
        for name in self._plan.sides:
            side = self._running[name] = self._sides[name](self._setup, self._root / name)
            for topic in sorted({workload.topic for workload in self._plan.workloads} | {self._plan.warm.topic}):
                self._raw.create_topic(side, topic)
            time.sleep(_SETTLE_SECONDS)
            self.results.facts[name].idle = side.memory()
            if self._plan.idle_connections:
                self._measure_connections(name, side)
        for name, side in self._running.items():
            self._warm_up(name, side)
            for topic in sorted({workload.topic for workload in self._plan.workloads} & FILLINGS.keys()):
                self._raw.fill(side, topic, self._plan.timing.filled, *FILLINGS[topic])

    def _measure_connections(self, name: str, side: Side) -> None:
        """Memory of one idle connection: what many of them add to a server that did nothing else yet."""
        count = self._plan.idle_connections
        self._report(f"opening {count:,} connections to {name}")
        before = side.memory()
        try:
            with self._raw.held(side, count):
                time.sleep(_SETTLE_SECONDS)
                after = side.memory()
        except LoadFailedError as error:
            # The system may allow a process fewer open files than that.
            self._report(f"  {error}")
            return
        self.results.facts[name].connection = Memory(
            rss=(after.rss - before.rss) // count, private=(after.private - before.private) // count
        )

    def _warm_up(self, name: str, side: Side) -> None:
        self._report(f"warming up {name}")
        timing = Timing(warmup=0, seconds=self._plan.warm_seconds, filled=0)
        outcome = self._drivers[self._plan.warm.program].run(side, self._plan.warm, timing)
        if isinstance(outcome, Failure):
            self._report(f"  {name}: {outcome.reason}")

    def _measure(self, group: Sequence[Workload]) -> None:
        for workload in group:
            self.results.outcomes[workload.name] = {name: [] for name in self._plan.sides}
        for number in range(self._plan.rounds + 1):
            for workload in group:
                for name, side in self._running.items():
                    outcome = self._turn(side, workload)
                    if number > 0:
                        self.results.outcomes[workload.name][name].append(outcome)
                        self._report(f"{workload.name} {number}/{self._plan.rounds} {name}: {_short(outcome)}")

    def _turn(self, side: Side, workload: Workload) -> Sample | Failure:
        """One run, tried once more when it failed: a busy machine can make any server refuse a send."""
        outcome = self._once(side, workload)
        if isinstance(outcome, Failure):
            self._report(f"  {workload.name} {side.name}: {outcome.reason}; once more")
            outcome = self._once(side, workload)
        return outcome

    def _once(self, side: Side, workload: Workload) -> Sample | Failure:
        os.sync()
        outcome = self._drivers[workload.program].run(side, workload, self._plan.timing)
        if isinstance(outcome, Failure):
            return outcome
        memory = side.memory()
        return replace(outcome, rss=memory.rss, private=memory.private)

    def _long_run(self) -> None:
        for name, side in self._running.items():
            self._report(f"sending {self._plan.long_messages:,} messages to {name}")
            self._raw.fill(side, "BenchWarm", self._plan.long_messages)
            self.results.facts[name].after_long = side.memory()


def _short(outcome: Sample | Failure) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.reason}"
    cpu = "" if outcome.cpu_us is None else f", {outcome.cpu_us:.1f} us CPU"
    latency = f", p50 {outcome.p50_us:,.0f} p99 {outcome.p99_us:,.0f} us" if outcome.p50_us else ""
    return f"{outcome.rate:,.0f} msgs/s{cpu}{latency}"
