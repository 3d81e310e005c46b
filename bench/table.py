"""Results as tables that read well both in a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from bench.processes import Memory
from bench.runner import Results
from bench.statistics import Spread, Summary, compared, middle, summarise

NOTHING: Final = "-"
_COMPARED: Final = {"rate": "rate / rate", "cpu": "CPU a message / CPU a message"}
TITLES: Final = {"apache": "Apache", "rocketwire": "rocketwire"}


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded cells, the first column to the left, the others to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [("-" * width if column == 0 else "-" * (width - 1) + ":") for column, width in enumerate(widths)]
    return "\n".join([line(lines[0]), line(rule), *(line(cells) for cells in lines[1:])])


def shown(found: Spread | None, form: str = "{:,.0f}") -> str:
    """Smallest, median and largest of a figure, as "1 / 2 / 3"."""
    return NOTHING if found is None else " / ".join(form.format(one) for one in (found.low, found.middle, found.high))


def _figure(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


def _latency(summary: Summary) -> str:
    if summary.p50_us is None:
        return NOTHING
    return f"{_figure(summary.p50_us, 0)} / {_figure(summary.p99_us, 0)}"


def _memory(summary: Summary) -> str:
    if summary.rss is None or summary.private is None:
        return NOTHING
    return f"{summary.rss / 2**20:,.0f} / {summary.private / 2**20:,.0f}"


def _ratio(ours: float | None, theirs: float | None) -> str:
    return NOTHING if ours is None or not theirs else f"{ours / theirs:.2f}"


def workload_table(results: Results) -> str:
    """One row a workload: rates, ratio of the medians, CPU, latency, memory after it; failures below it."""
    sides = list(results.plan.sides)
    titles = [TITLES[side] for side in sides]
    header = ["workload", *(f"{title} msgs/s min / median / max" for title in titles), "ratio"]
    header += [f"{title} CPU µs/msg" for title in titles] + [f"{title} p50 / p99 µs" for title in titles]
    header += [f"{title} RSS / private MiB" for title in titles]
    rows, failures = [], []
    for workload in results.plan.workloads:
        outcomes = results.outcomes.get(workload.name, {})
        sums = [summarise(outcomes.get(side, ())) for side in sides]
        rates = [None if workload.paced else one.rate for one in sums]
        by_side = dict(zip(sides, rates, strict=True))
        ratio = _ratio(middle(by_side.get("rocketwire")), middle(by_side.get("apache")))
        cpu = [NOTHING if workload.paced else _figure(one.cpu_us, 1) for one in sums]
        rows.append([workload.text, *map(shown, rates), ratio, *cpu, *map(_latency, sums), *map(_memory, sums)])
        for title, one in zip(titles, sums, strict=True):
            failures += [f"* {workload.text}, {title}, a run failed: {reason}" for reason in one.failures]
    return "\n".join([render(header, rows), *([""] if failures else []), *failures])


def cost_table(results: Results, by: Literal["rate", "cpu"]) -> str:
    """One row a workload that is compared with another in its rate (or CPU time a message): its part of the other's.

    The last column: whether ours costs at most what it costs there.
    """
    sides = list(results.plan.sides)
    texts = {workload.name: workload.text for workload in results.plan.workloads}
    header = [_COMPARED[by], *(f"{TITLES[side]} min / median / max" for side in sides), "ours / Apache's"]
    header.append("costs at most the same")
    rows = []
    for workload in results.plan.workloads:
        if workload.against not in texts or workload.compared != by:
            continue
        outcomes, base = results.outcomes.get(workload.name, {}), results.outcomes.get(workload.against, {})
        parts = {side: compared(outcomes.get(side, ()), base.get(side, ()), by) for side in sides}
        ours, theirs = middle(parts.get("rocketwire")), middle(parts.get("apache"))
        cells = [shown(parts[side], "{:.2f}") for side in sides]
        row = [f"{workload.text} / {texts[workload.against]}", *cells, _ratio(ours, theirs)]
        rows.append([*row, _verdict(ours, theirs, more_is_better=by == "rate")])
    return render(header, rows) if rows else ""


def _verdict(ours: float | None, theirs: float | None, *, more_is_better: bool) -> str:
    if ours is None or theirs is None:
        return NOTHING
    return "yes" if ours == theirs or (ours > theirs) is more_is_better else "no"


def _mebibytes(memory: Memory | None, which: str) -> str:
    if memory is None:
        return NOTHING
    return f"{(memory.rss if which == 'rss' else memory.private) / 2**20:,.0f} MiB"


def _kibibytes(memory: Memory | None, which: str) -> str:
    if memory is None:
        return NOTHING
    return f"{(memory.rss if which == 'rss' else memory.private) / 1024:,.1f} KiB"


def side_table(results: Results) -> str:
    """One row a fact (start-up, memory), one column a side."""
    sides = list(results.plan.sides)
    facts = [results.facts[side] for side in sides]
    starts = [shown(fact.start, "{:.2f}") for fact in facts]
    rows = [["broker start to first accepted send, s, min / median / max", *starts]]
    states = [
        ("idle", [fact.idle for fact in facts]),
        ("after all workloads", [fact.loaded for fact in facts]),
        ("of the name server's process", [fact.name_server for fact in facts]),
    ]
    if results.plan.idle_connections:
        connections = [fact.connection for fact in facts]
        for text, which in (("private memory", "private"), ("RSS", "rss")):
            row = f"{text} of each of {results.plan.idle_connections:,} idle connections"
            rows.append([row, *(_kibibytes(memory, which) for memory in connections)])
    if results.plan.long_messages:
        states.append((f"after {results.plan.long_messages:,} messages more", [fact.after_long for fact in facts]))
    for text, memories in states:
        rows.append([f"RSS {text}", *(_mebibytes(memory, "rss") for memory in memories)])
        rows.append([f"private memory {text}", *(_mebibytes(memory, "private") for memory in memories)])
    known = [row for row in rows if set(row[1:]) != {NOTHING}]
    return render(["", *(TITLES[side] for side in sides)], known) if known else ""
