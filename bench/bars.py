"""Bars: the required results of a run, and whether it reached them.

Theory: a bar is declared with its workload (bench.workloads). Bars for rate, CPU time and latency are ratios to
Apache's results in the same run, so one side alone has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.runner import Results, SideFacts
from bench.statistics import Summary, compared, middle, summarise
from bench.table import NOTHING, render
from bench.workloads import CONNECTION_PRIVATE, IDLE_RSS, LONG_PRIVATE, START_SECONDS, Workload

_COLUMNS: Final = ("rate", "CPU", "p50", "p99", "CPU to few")
_OWN: Final = ("msgs/s", "p50 µs")  # ours alone: not as a part of Apache's
_LARGE: Final = 100  # figures that need no digits after the point


@dataclass(frozen=True, slots=True, kw_only=True)
class BarFigure:
    """One figure with a bar: its name, its value, and its minimum or maximum."""

    column: str
    reached: float | None
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool:
        """False for a figure that the run did not give too."""
        if self.reached is None:
            return False
        return (self.least is None or self.reached >= self.least) and (self.most is None or self.reached <= self.most)

    @property
    def text(self) -> str:
        """Figure, direction and bar, as "5.21 >= 5.00"."""
        bar = self.most if self.least is None else self.least
        digits = 0 if bar is not None and bar >= _LARGE else 2
        figure = NOTHING if self.reached is None else f"{self.reached:,.{digits}f}"
        return f"{figure} {'<=' if self.least is None else '>='} {bar:,.{digits}f}"


def _part(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or not theirs else ours / theirs


def bar_figures(results: Results, workload: Workload) -> Iterator[BarFigure]:
    """The bars of a workload, with the figures of the run."""
    outcomes, bar = results.outcomes.get(workload.name, {}), workload.bar
    ours: Summary = summarise(outcomes.get("rocketwire", ()))
    theirs: Summary = summarise(outcomes.get("apache", ()))
    if bar.rate is not None:
        yield BarFigure(column="rate", reached=_part(middle(ours.rate), middle(theirs.rate)), least=bar.rate)
    if bar.cpu is not None:
        yield BarFigure(column="CPU", reached=_part(ours.cpu_us, theirs.cpu_us), most=bar.cpu)
    if bar.p50 is not None:
        yield BarFigure(column="p50", reached=_part(ours.p50_us, theirs.p50_us), most=bar.p50)
    if bar.p99 is not None:
        yield BarFigure(column="p99", reached=_part(ours.p99_us, theirs.p99_us), most=bar.p99)
    if bar.base_cpu is not None:
        base = results.outcomes.get(workload.against, {}).get("rocketwire", ())
        reached = middle(compared(outcomes.get("rocketwire", ()), base, "cpu"))
        yield BarFigure(column="CPU to few", reached=reached, most=bar.base_cpu)
    if bar.least is not None:
        yield BarFigure(column="msgs/s", reached=middle(ours.rate), least=bar.least)
    if bar.most_us is not None:
        yield BarFigure(column="p50 µs", reached=ours.p50_us, most=bar.most_us)


def bar_table(results: Results) -> str:
    """The bars of the workloads and of our process; nothing when only one side ran."""
    if set(results.plan.sides) != {"apache", "rocketwire"}:
        return ""
    return "\n\n".join(filter(None, (workload_bars(results), _limit_table(results.facts["rocketwire"]))))


def workload_bars(results: Results) -> str:
    """One row per workload with a bar; nothing when none has one."""
    reached = [
        (workload, {one.column: one for one in bar_figures(results, workload)}) for workload in results.plan.workloads
    ]
    columns = [*_COLUMNS, *(column for column in _OWN if any(column in found for _, found in reached))]
    rows = []
    for workload, found in reached:
        if found:
            missed = [column for column, one in found.items() if not one.met]
            cells = [found[column].text if column in found else NOTHING for column in columns]
            rows.append([workload.text, *cells, f"no: {', '.join(missed)}" if missed else "yes"])
    return render(["ours / Apache's", *columns, "reached"], rows) if rows else ""


def _limit_table(ours: SideFacts) -> str:
    """One row per limit of our process that the run measured."""
    connection, after_long = ours.connection, ours.after_long
    known: list[tuple[str, float | None, float]] = [
        ("start to first accepted send, s", middle(ours.start), START_SECONDS),
        ("RSS idle, bytes", ours.idle.rss if ours.idle else None, IDLE_RSS),
        ("private memory of an idle connection, bytes", connection.private if connection else None, CONNECTION_PRIVATE),
        ("private memory after the long run, bytes", after_long.private if after_long else None, LONG_PRIVATE),
    ]
    rows = [
        [text, f"{figure:,.{0 if most > 1 else 2}f}", f"{most:,}", "yes" if figure <= most else "no"]
        for text, figure, most in known
        if figure is not None
    ]
    return render(["ours", "figure", "at most", "reached"], rows) if rows else ""
