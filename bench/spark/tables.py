"""Results as Markdown tables: smallest, median and largest of each figure; nothing is averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.spark.usage import ActionCost, Peaks
from bench.statistics import spread
from bench.table import NOTHING, render, shown

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """What was done in each round: `size` is the bytes of log that it was done to, `base` what it is held to."""

    what: str
    size: int
    base: str | None = None
    bar: str = ""
    costs: list[ActionCost] = field(default_factory=list)


def rates(rows: Sequence[BenchRow]) -> str:
    """MiB of log a second, of processors and on the clock, and how much of the base's that is."""
    lines = [
        [
            row.what,
            shown(spread(row.size / _MIB / cost.cpu for cost in row.costs)),
            shown(spread(row.size / _MIB / cost.wall for cost in row.costs)),
            _held(rows, row, lambda cost, base: base.cpu / cost.cpu, "{:.1%}"),
            row.bar,
        ]
        for row in rows
        if row.costs
    ]
    base = next((row.base for row in rows if row.base), "")
    return render(["what", "MiB a CPU-second", "MiB a second", f"CPU, of {base}", "asked"], lines)


def times(rows: Sequence[BenchRow]) -> str:
    """Seconds on the clock and of processors, how many times the base's on the clock that is, and bars if there are."""
    bars = any(row.bar for row in rows)
    lines = [
        [
            row.what,
            shown(spread(cost.wall for cost in row.costs), "{:.2f}"),
            shown(spread(cost.cpu for cost in row.costs), "{:.2f}"),
            _held(rows, row, lambda cost, base: cost.wall / base.wall, "{:.2f} x", name=True),
            *([row.bar] if bars else []),
        ]
        for row in rows
        if row.costs
    ]
    return render(["what", "seconds", "CPU-seconds", "of", *(["asked"] if bars else [])], lines)


def memory(found: Sequence[tuple[int, Peaks]]) -> str:
    """The most resident memory by the size of a store."""
    lines = [
        [f"{size / (1 << 30):.0f} GiB", *(f"{peak / _MIB:,.0f}" for peak in (peaks.jvm, peaks.worker))]
        for size, peaks in found
    ]
    return render(["store", "JVM, MiB", "largest Python worker, MiB"], lines)


def _held(
    rows: Sequence[BenchRow],
    row: BenchRow,
    ratio: Callable[[ActionCost, ActionCost], float],
    form: str,
    *,
    name: bool = False,
) -> str:
    base = next((other for other in rows if other.what == row.base), None)
    if base is None:
        return NOTHING
    found = spread(ratio(cost, other) for cost, other in zip(row.costs, base.costs, strict=False))
    figure = NOTHING if found is None else form.format(found.middle)
    return f"{figure} {row.base}" if name else figure
