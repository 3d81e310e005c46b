"""The badge: `compat 97 %` as an SVG image."""

from __future__ import annotations

from typing import Final

from rocketwire.compat.report.score import score
from rocketwire.compat.results import Results

_LABEL: Final = "compat"
# From this percentage on -> the colour, dark enough for white text.
_COLOURS: Final = ((100, "#2a7a45"), (95, "#5a7310"), (80, "#8a6100"), (60, "#a84d0b"), (0, "#b3261e"))
_NO_RESULT: Final = "#5f6670"
# Widths of characters in pixels, of Verdana at 11 pixels.
_WIDTHS: Final = {" ": 3.9, "%": 11.8, "m": 10.7}
_WIDTH: Final = 6.9
_EDGE: Final = 6.0

_SVG: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-labelledby="title">
  <title id="title">{title}</title>
  <clipPath id="edge"><rect width="{width}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#edge)">
    <rect width="{left}" height="20" fill="#3d434a"/>
    <rect x="{left}" width="{right}" height="20" fill="{colour}"/>
  </g>
  <g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">
    <text x="{left_middle}" y="14" textLength="{left_text}">{label}</text>
    <text x="{right_middle}" y="14" textLength="{right_text}">{value}</text>
  </g>
</svg>
"""


def badge(results: Results) -> str:
    """The SVG; its title has the meaning of the colour."""
    found = score(results)
    colour = _NO_RESULT
    if found.percent is not None:
        colour = next(colour for least, colour in _COLOURS if found.percent >= least)
    left_text, right_text = _width(_LABEL), _width(found.shown)
    left, right = left_text + 2 * _EDGE, right_text + 2 * _EDGE
    return _SVG.format(
        width=round(left + right, 1),
        left=round(left, 1),
        right=round(right, 1),
        left_middle=round(left / 2, 1),
        right_middle=round(left + right / 2, 1),
        left_text=round(left_text, 1),
        right_text=round(right_text, 1),
        colour=colour,
        label=_LABEL,
        value=found.shown,
        title=f"{_LABEL}: {found.shown}, {found.passed} of {found.offered} passed",
    )


def _width(text: str) -> float:
    return sum(_WIDTHS.get(each, _WIDTH) for each in text)
