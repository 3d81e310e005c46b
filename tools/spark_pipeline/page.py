"""The page: one HTML file without scripts, that needs no network; light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from tools.spark_pipeline.charts import bars, lines, number
from tools.spark_pipeline.traffic_figures import Figures, Series

_STYLE: Final = """
:root{color-scheme:light dark;--back:#f5f6f8;--card:#fff;--text:#1c2430;--soft:#586374;--grid:#dfe3e9;
--0:#1f6fc4;--1:#c2540a;--2:#127a4b;--3:#a5347f;--4:#8a6d00;--5:#5b4fc9}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--card:#1b212a;--text:#e7ebf1;--soft:#a3afbf;--grid:#323b47;
--0:#6db3f8;--1:#f39a5b;--2:#5fcb94;--3:#ec85c6;--4:#dcbf4e;--5:#a79df7}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:20px 16px 48px}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 8px}h2{font-size:1.1rem;margin:0}
p{margin:6px 0}p.unit,p.about,dt,figcaption{color:var(--soft);font-size:.875rem}p.unit{margin:8px 0 0}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:12px;margin:20px 0}
dl>div,section{background:var(--card);border:1px solid var(--grid);border-radius:10px;padding:12px 16px}
dd{margin:0;font-size:1.4rem;font-weight:600;font-variant-numeric:tabular-nums}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,460px),1fr));gap:16px}
svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font:13px system-ui,sans-serif}
.grid{stroke:var(--grid);fill:none}.line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
ul.legend{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;padding:0;margin:6px 0;font-size:.875rem}
.legend i{display:inline-block;width:14px;height:4px;border-radius:2px;margin-right:6px;vertical-align:middle}
.line.c0{stroke:var(--0)}.line.c1{stroke:var(--1)}.line.c2{stroke:var(--2)}
.line.c3{stroke:var(--3)}.line.c4{stroke:var(--4)}.line.c5{stroke:var(--5)}
rect.c0{fill:var(--0)}i.c0{background:var(--0)}i.c1{background:var(--1)}i.c2{background:var(--2)}
i.c3{background:var(--3)}i.c4{background:var(--4)}i.c5{background:var(--5)}
details{margin-top:6px;font-size:.875rem}summary{cursor:pointer;color:var(--soft)}
.names{font-size:.9375rem;margin-top:8px}.scroll{max-height:260px;overflow:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:3px 8px;border-bottom:1px solid var(--grid)}
@media(min-width:700px){svg text{font-size:11px}}
th:first-child,td:first-child,.names td,.names th{text-align:left}.names :last-child{text-align:right}
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def page(figures: Figures) -> str:
    """The HTML of the page."""
    sections = [
        _over_time(
            figures,
            "Traffic",
            "Messages that were stored, by topic.",
            figures.traffic,
            unit="messages per second",
        ),
        _over_time(
            figures,
            "From the producer to the consumer",
            "From a message's birth to when a group had consumed it, retries included, by when it was stored.",
            figures.consumed,
            unit="ms (log scale)",
            log=True,
        ),
        _over_time(
            figures,
            "From the producer to the log",
            "The first part of that way: from a message's birth to its storing.",
            figures.stored,
            unit="ms (log scale)",
            log=True,
        ),
        _over_time(
            figures,
            "Lag of the groups",
            "Messages that were stored, and that the group had not been given yet.",
            figures.lag,
            unit="messages",
        ),
        _over_time(
            figures,
            "Retries",
            "Copies of messages that a group could not consume, when they were redelivered.",
            figures.retries,
            unit="messages per second",
        ),
        _over_time(
            figures,
            "Dead letters",
            "Messages whose tries a group has used up.",
            figures.letters,
            unit="messages per second",
        ),
        _section(
            "Why messages became dead letters",
            "What the group reported of the first time that it could not consume them.",
            _causes(figures.causes),
        ),
        _section(
            "Hot keys",
            f"The busiest of {figures.different_keys:,} keys.",
            bars("Hot keys", figures.keys, unit="% of all messages"),
        ),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>RocketMQ in Spark: a pipeline</title><style>{_STYLE}</style></head><body><main>"
        f"<h1>RocketMQ in Spark: a pipeline</h1>{_about(figures)}{_numbers(figures)}"
        f'<div class="plots">{"".join(sections)}</div></main></body></html>\n'
    )


def _about(figures: Figures) -> str:
    once = figures.acknowledged == figures.rows == figures.messages
    verdict = (
        "Each acknowledged message is there exactly once."
        if once
        else f"<strong>{figures.acknowledged:,} messages were acknowledged, {figures.rows:,} rows are there,"
        f" of {figures.messages:,} messages.</strong>"
    )
    times = "once" if figures.restarts == 1 else f"{figures.restarts} times"
    return (
        f"<p>A made-up shop's traffic from {escape(figures.begins)} on: producers and groups at an endpoint, read by "
        f"<code>readStream</code> into Parquet by topic and day. The stream was stopped {times} in between, and "
        f"continued by its checkpoint. {verdict}</p>"
    )


def _numbers(figures: Figures) -> str:
    found = {
        "acknowledged": figures.acknowledged,
        "rows in Parquet": figures.rows,
        "KiB of records": figures.kib,
        "retries": figures.retried,
        "dead letters": figures.dead,
        "micro-batches": figures.batches,
    }
    return f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value:,}</dd></div>' for name, value in found.items())}</dl>"


def _over_time(figures: Figures, title: str, about: str, series: Series, *, unit: str, log: bool = False) -> str:
    if not series:
        return _section(title, about, '<p class="about">There were none.</p>')
    plot = lines(title, figures.steps, series, unit=unit, log=log)
    heads = "".join(f"<th>{escape(name)}</th>" for name in series)
    rows = "".join(
        f"<tr><td>{number(at)}</td>{''.join(f'<td>{_shown(value)}</td>' for value in values)}</tr>"
        for at, *values in zip(figures.steps, *series.values(), strict=True)
    )
    table = f"<table><thead><tr><th>s</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    numbers = f'<details><summary>Numbers</summary><div class="scroll" tabindex="0">{table}</div></details>'
    return _section(title, about, plot + numbers)


def _section(title: str, about: str, inner: str) -> str:
    return f'<section><h2>{escape(title)}</h2><p class="about">{escape(about)}</p>{inner}</section>'


def _causes(causes: Sequence[tuple[str, str, str, int]]) -> str:
    rows = "".join(
        f"<tr><td>{escape(group)}</td><td>{escape(topic)}</td><td>{escape(cause)}</td><td>{count:,}</td></tr>"
        for group, topic, cause, count in causes
    )
    heads = "<th>group</th><th>topic</th><th>first cause</th><th>letters</th>"
    return f'<table class="names"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _shown(value: float | None) -> str:
    return "" if value is None else number(value)
