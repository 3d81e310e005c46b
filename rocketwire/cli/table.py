"""Tables that fit the terminal: long cells are cut, and control characters in cells are escaped."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

#: The rows that determine the widths of columns.
_LOOKED_AT: Final = 100
#: The width when the output is not a terminal.
_WIDE: Final = 200
_GAP: Final = "  "
_CUT: Final = "…"
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: it is not made narrower than `least` characters unless there is no other way."""

    title: str
    least: int = 8
    right: bool = False


def output_width() -> int:
    """How many characters a line may have."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE


def lines(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    """The table's lines, the titles first; rows are read as they are needed."""
    source = ([clean(cell) for cell in row] for row in rows)
    first = list(islice(source, _LOOKED_AT))
    titles = [column.title for column in columns]
    widths = [max(displayed(cell) for cell in cells) for cells in zip(titles, *first, strict=True)]
    _fit(columns, widths, width)
    for row in chain([titles], first, source):
        cells = [_padded(cell, size, right=one.right) for cell, size, one in zip(row, widths, columns, strict=True)]
        yield cut(_GAP.join(cells).rstrip(), width)


def _fit(columns: Sequence[Column], widths: list[int], width: int) -> None:
    """Make the widest columns narrower until all fit."""
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while excess > 0:
        room = [size - min(size, max(one.least, len(one.title))) for size, one in zip(widths, columns, strict=True)]
        widest = max((n for n in range(len(widths)) if room[n]), key=lambda n: widths[n], default=None)
        if widest is None:
            return
        rivals = [widths[n] for n in range(len(widths)) if room[n] and widths[n] < widths[widest]]
        less = min(excess, room[widest], max(1, widths[widest] - max(rivals, default=0)))
        widths[widest] -= less
        excess -= less


def clean(text: str) -> str:
    """The text on one line, with unprintable characters escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _ESCAPES.get(c) or c.encode("unicode_escape").decode() for c in text)


def displayed(text: str) -> int:
    """The width of a text on a terminal, in columns."""
    if text.isascii():
        return len(text)
    return sum(_places(c) for c in text)


def _places(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text cut to a width; an ellipsis shows that something is missing."""
    if displayed(text) <= width:
        return text
    used = 0
    for number, character in enumerate(text):
        used += _places(character)
        if used > width - 1:
            return text[:number] + _CUT
    return text


def _padded(text: str, width: int, *, right: bool) -> str:
    text = cut(text, width)
    blanks = " " * (width - displayed(text))
    return blanks + text if right else text + blanks
