"""Plots as SVG that stands in a page: it takes its colours from the page's style, so they fit light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Final

from tools.spark_pipeline.traffic_figures import Series

#: The page's style has colours for so many series.
COLOURS: Final = 6
_WIDTH: Final = 440
_HEIGHT: Final = 230
_LEFT: Final = 58
_RIGHT: Final = 10
_TOP: Final = 10
_BOTTOM: Final = 38
_BAR: Final = 22
_BAR_LEFT: Final = 116
_BAR_RIGHT: Final = 64
_THOUSAND: Final = 1000


def lines(name: str, steps: Sequence[float], series: Series, *, unit: str, log: bool = False) -> str:
    """Lines over time, with a legend below.

    Args:
        name: The text for screen readers.
        steps: Seconds since the beginning, at least one.
        series: A value or None for each step; a line has gaps where there is none.
        unit: Of the values.
        log: A logarithmic scale; what is below 1 is drawn at its lower end.
    """
    values = [value for line in series.values() for value in line if value is not None and (value > 0 or not log)]
    marks = _powers(values) if log else _round_marks(max(values, default=0.0))
    low, high = marks[0], marks[-1]
    ends = steps[-1] if steps[-1] > steps[0] else steps[0] + 1

    def across(at: float) -> float:
        return _LEFT + (at - steps[0]) / (ends - steps[0]) * (_WIDTH - _LEFT - _RIGHT)

    def down(value: float) -> float:
        part = math.log(max(value, low) / low) / math.log(high / low) if log else (value - low) / (high - low)
        return _HEIGHT - _BOTTOM - part * (_HEIGHT - _TOP - _BOTTOM)

    parts = [_open(name, _HEIGHT)]
    for mark in marks:
        y = down(mark)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{number(mark)}</text>')
    parts.extend(
        f'<text x="{across(mark):.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{number(mark)}</text>'
        for mark in _round_marks(ends)
        if steps[0] <= mark <= ends
    )
    middle = (_LEFT + _WIDTH) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 4}" text-anchor="middle">seconds since the beginning</text>')
    for colour, line in enumerate(series.values()):
        places = [
            None if value is None else f"{across(at):.1f} {down(value):.1f}"
            for at, value in zip(steps, line, strict=True)
        ]
        parts.append(f'<path class="line c{colour % COLOURS}" d="{_path(places)}"/>')
    parts.append("</svg>")
    legend = "".join(
        f'<li><i class="c{colour % COLOURS}"></i>{escape(label)}</li>' for colour, label in enumerate(series)
    )
    return f'<p class="unit">{escape(unit)}</p>{"".join(parts)}<ul class="legend">{legend}</ul>'


def bars(name: str, values: Sequence[tuple[str, float]], *, unit: str) -> str:
    """Bars below each other, with their names left and their values right."""
    height = _BAR * len(values) + 4
    most = max((value for _, value in values), default=0.0) or 1.0
    parts = [_open(name, height)]
    for row, (label, value) in enumerate(values):
        y = row * _BAR + 2
        width = value / most * (_WIDTH - _BAR_LEFT - _BAR_RIGHT)
        parts.append(f'<text x="{_BAR_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect class="c0" x="{_BAR_LEFT}" y="{y + 2}" width="{width:.1f}" height="{_BAR - 6}" rx="2"/>')
        parts.append(f'<text x="{_BAR_LEFT + width + 6:.1f}" y="{y + 14}">{value:.1f} %</text>')
    parts.append("</svg>")
    return f'<p class="unit">{escape(unit)}</p>{"".join(parts)}'


def number(value: float) -> str:
    """A number for an axis or a table, with at most three significant digits below a thousand."""
    return f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:.3g}"


def _open(name: str, height: int) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(name)}">'


def _path(places: Sequence[str | None]) -> str:
    """A line through places, interrupted where there is none; a place alone becomes a dot."""
    drawn = []
    for before, place in pairwise([None, *places]):
        if place is not None:
            drawn.append(f"L{place}" if before is not None else f"M{place}h0")
    return "".join(drawn)


def _round_marks(most: float) -> list[float]:
    """From zero in round steps, until a value is covered."""
    most = most if most > 0 else 1.0
    raw = most / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * (1 - 1e-9))
    return [step * count for count in range(math.ceil(most / step - 1e-9) + 1)]


def _powers(values: Sequence[float]) -> list[float]:
    """The powers of ten around values above zero, from 1 on: two at least."""
    low = max(0, math.floor(math.log10(min(values, default=1.0))))
    high = max(math.ceil(math.log10(max(values, default=1.0))), low + 1)
    return [10.0**power for power in range(low, high + 1)]
