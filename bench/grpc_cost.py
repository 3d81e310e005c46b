"""What the front for clients of 5.x adds to our process: memory and start-up, alternately with it and without it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from bench.drivers import Driver, LoadFailedError, Timing
from bench.fronts import RocketwireFront
from bench.grpc import MEMORY, START_SECONDS, WARM
from bench.processes import Memory
from bench.sides import FIRST_TOPIC, Rocketwire, Setup
from bench.statistics import Failure, middle, spread
from bench.table import NOTHING, render

_SETTLE_SECONDS: Final = 2.0
_STATES: Final[dict[str, Callable[[Setup, Path], Rocketwire]]] = {"without": Rocketwire, "with": RocketwireFront}
_MIB: Final = 1 << 20


@dataclass(slots=True, kw_only=True)
class Cost:
    """start[state] in seconds, idle[state], and the memory with the front after its first second of sends."""

    start: dict[str, list[float]] = field(default_factory=lambda: {state: [] for state in _STATES})
    idle: dict[str, list[Memory]] = field(default_factory=lambda: {state: [] for state in _STATES})
    used: list[Memory] = field(default_factory=list)


def measure(*, rounds: int, setup: Setup, driver: Driver, root: Path, report: Callable[[str], None]) -> Cost:
    """Start servers with empty stores in `root`, one after the other. Raises ServerFailedError, LoadFailedError."""
    cost = Cost()
    for _ in range(rounds):
        for state, start in _STATES.items():
            side = start(setup, root / state)
            try:
                time.sleep(_SETTLE_SECONDS)
                cost.start[state].append(side.start_seconds)
                cost.idle[state].append(side.memory())
                if side.grpc_port:
                    outcome = driver.run(side, replace(WARM, topic=FIRST_TOPIC), Timing(warmup=0, seconds=1, filled=0))
                    if isinstance(outcome, Failure):
                        raise LoadFailedError(f"first sends: {outcome.reason}")
                    cost.used.append(side.memory())
            finally:
                side.stop()
                shutil.rmtree(root / state, ignore_errors=True)
        report(
            f"start and memory {state} the front: {side.start_seconds:.3f} s, {cost.idle[state][-1].rss / _MIB:.1f} MiB"
        )
    return cost


def cost_table(cost: Cost) -> str:
    """One row a figure: without the front, with it, what that is more, the bar."""
    return render(["ours, whole process", "without --grpc", "with it", "more", "at most", "reached"], list(_rows(cost)))


def _rows(cost: Cost) -> Iterator[list[str]]:
    without, with_it = (middle(spread(cost.start[state])) or 0.0 for state in ("without", "with"))
    yield _row("start to first accepted send, ms", without * 1e3, with_it * 1e3, START_SECONDS * 1e3)
    for text, which in (("RSS", "rss"), ("private memory", "private")):
        before, idle, used = (
            middle(spread(getattr(each, which) / _MIB for each in memories)) or 0.0
            for memories in (cost.idle["without"], cost.idle["with"], cost.used)
        )
        yield _row(f"{text} idle, MiB", before, idle, MEMORY / _MIB)
        yield _row(f"{text} after a second of sends by gRPC, MiB", before, used, None)


def _row(text: str, without: float, with_it: float, most: float | None) -> list[str]:
    more = with_it - without
    verdict = [NOTHING, NOTHING] if most is None else [f"{most:.0f}", "yes" if more <= most else "no"]
    return [text, f"{without:.1f}", f"{with_it:.1f}", f"{more:+.1f}", *verdict]
