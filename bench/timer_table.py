"""The timer's results as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.statistics import Failure
from bench.table import NOTHING, render
from bench.timer_runner import TimerResults
from bench.timers import TimerLoad, TimerSample, missed

TITLES: Final = {"apache": "Apache 5.5.0", "rocketwire": "rocketwire"}
_HEADER: Final = (
    "workload", "server", "sent msgs/s", "delivered", "late p50 / p99 / max ms", "early / missing / twice",
    "all there after the last due, s", "msgs/s in the last half", "CPU µs/msg", "RSS / private MiB",
)  # fmt: skip


def _runs(results: TimerResults) -> Iterator[tuple[TimerLoad, str, TimerSample | Failure]]:
    for load in results.plan.loads:
        for side, outcomes in results.outcomes.get(load.name, {}).items():
            yield from ((load, side, outcome) for outcome in outcomes)


def _row(load: TimerLoad, side: str, sample: TimerSample) -> list[str]:
    part = sample.delivered / sample.messages
    return [
        load.text,
        TITLES[side],
        f"{sample.send_rate:,.0f}",
        "all" if not sample.missing else f"{part:.1%}",
        f"{sample.p50_ms:,.0f} / {sample.p99_ms:,.0f} / {sample.max_ms:,.0f}",
        f"{sample.early:,} / {sample.missing:,} / {sample.duplicates:,}",
        f"{sample.drain_seconds:,.2f}" if not sample.missing else f"not in {sample.drain_seconds:,.0f}",
        f"{sample.half_rate:,.0f}" if load.span else NOTHING,
        f"{sample.cpu_us:.1f}",
        f"{sample.rss / 2**20:,.0f} / {sample.private / 2**20:,.0f}",
    ]


def timer_table(results: TimerResults) -> str:
    """One row a run; failures below it."""
    rows = [_row(load, side, one) for load, side, one in _runs(results) if isinstance(one, TimerSample)]
    failures = [
        f"* {load.text}, {TITLES[side]}, a run failed: {one.reason}"
        for load, side, one in _runs(results)
        if isinstance(one, Failure)
    ]
    return "\n".join([render(_HEADER, rows), *([""] if failures else []), *failures])


def timer_bar_table(results: TimerResults) -> str:
    """The bars of ours, one row per run; nothing when ours did not run."""
    rows = []
    for load, side, one in _runs(results):
        if side != "rocketwire":
            continue
        sample = one if isinstance(one, TimerSample) else None
        left = ["all"] if sample is None else missed(load, sample)
        rows.append([load.text, *_cells(load, sample), f"no: {', '.join(left)}" if left else "yes"])
    return render(["ours", "p99 ms", "drain, s", "rate", "once, not early", "reached"], rows) if rows else ""


def _beside(figure: float | None, most: float | None, digits: int) -> str:
    """Figure, direction and bar, as "512 <= 1,000"."""
    if most is None:
        return NOTHING
    return f"{NOTHING if figure is None else f'{figure:,.{digits}f}'} <= {most:,.{digits}f}"


def _cells(load: TimerLoad, sample: TimerSample | None) -> list[str]:
    bar = load.bar
    held = "held" if sample and sample.holds(load) else "not held"
    return [
        _beside(sample.p99_ms if sample else None, bar.p99_ms, 0),
        _beside(sample.drain_seconds if sample else None, bar.drain_seconds, 2),
        held if bar.held else NOTHING,
        "yes" if sample and sample.right else "no",
    ]
