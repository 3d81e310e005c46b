"""Tables that fit the terminal: long cells are cut, spare columns left out, and control characters in cells escaped."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from textwrap import wrap
from typing import Any, Final

from rocketwire.cli.output import json_line, warn

#: The rows that determine the widths of columns.
_LOOKED_AT: Final = 100
_GAP: Final = "  "
_CUT: Final = "…"
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: So many characters of a time are shown: with milliseconds, seconds or minutes.
_TIME_WIDTHS: Final = (23, 19, 16)
_FACT_INDENT: Final = 16


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column.

    Attributes:
        title: Its title.
        least: It is not made narrower than so many characters unless there is no other way.
        right: Whether it has numbers: they stand at the right, and are not cut.
        time: Whether it has times, which are cut to seconds or minutes.
        text: Whether it has the text that the table is for, such as bodies: it is made narrower after all others.
        spare: If not 0, it is omitted where the terminal is too narrow, those with the lowest number first.
        of: What it shows of a row of `print_rows`: the value of this name, or what a function gives; None is nothing.
    """

    title: str
    least: int = 8
    right: bool = False
    time: bool = False
    text: bool = False
    spare: int = 0
    of: str | Callable[[Any], object] = ""

    def cell(self, row: Any) -> str:  # noqa: ANN401 - of `print_rows`
        """The text of a row's cell."""
        value = row[self.of] if isinstance(self.of, str) else self.of(row)
        return "" if value is None else str(value)


def output_width() -> int | None:
    """How many characters a line may have; None where the output is not a terminal: then nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(columns: Sequence[TableColumn], rows: Iterable[Sequence[str]]) -> None:
    """Print a table that fits the terminal; stderr names the omitted columns."""

    def leave_out(titles: Sequence[str]) -> None:
        warn(f"left out, as the terminal is narrow: {', '.join(titles)} (--json has all)")

    for line in lines(columns, rows, output_width(), left_out=leave_out):
        print(line)


def print_rows(rows: Sequence[Any], columns: Sequence[TableColumn], *, as_json: bool) -> None:
    """Print rows as JSON, an object a line, or as a table of what each column shows `of` them; nothing without rows."""
    if as_json:
        for row in rows:
            json_line(row)
    elif rows:
        print_table(columns, [[column.cell(row) for column in columns] for row in rows])


def yes_or_no(value: bool) -> str:  # noqa: FBT001 - what is shown
    """How tables show it."""
    return "yes" if value else "no"


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print titles with texts beside them, which are wrapped where they are wider than the terminal."""
    width = output_width()
    for title, text in facts:
        parts = [text] if width is None else wrap(text, max(width - _FACT_INDENT, _FACT_INDENT), break_on_hyphens=False)
        for number, part in enumerate(parts or [""]):
            print(f"{'' if number else title:<{_FACT_INDENT}}{part}".rstrip())


def lines(
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[str]],
    width: int | None,
    *,
    left_out: Callable[[Sequence[str]], None] = lambda _: None,
) -> Iterator[str]:
    """The table's lines, the titles first; rows are read as they are needed. `left_out` gets titles of such columns."""
    source = ([clean(cell) for cell in row] for row in rows)
    first = list(islice(source, _LOOKED_AT))
    titles = [column.title for column in columns]
    widths = [max(displayed(cell) for cell in cells) for cells in zip(titles, *first, strict=True)]
    kept = list(range(len(columns)))
    if width is not None:
        kept = _kept(columns, widths, width)
        if len(kept) < len(columns):
            left_out([title for number, title in enumerate(titles) if number not in kept])
        _fit(columns, widths, kept, width)
    for row in chain([titles], first, source):
        cells = [_padded(row[n], widths[n], columns[n], cutting=width is not None) for n in kept]
        line = _GAP.join(cells).rstrip()
        yield line if width is None else cut(line, width)


def _floor(column: TableColumn, size: int) -> int:
    """How narrow a column may become."""
    return size if column.right else min(size, max(column.least, len(column.title)))


def _kept(columns: Sequence[TableColumn], widths: Sequence[int], width: int) -> list[int]:
    """The numbers of the columns that fit, all others being spare."""
    kept = list(range(len(columns)))
    while sum(_floor(columns[n], widths[n]) + len(_GAP) for n in kept) - len(_GAP) > width:
        spare = min((n for n in kept if columns[n].spare), key=lambda n: columns[n].spare, default=None)
        if spare is None:
            break
        kept.remove(spare)
    return kept


def _fit(columns: Sequence[TableColumn], widths: list[int], kept: Sequence[int], width: int) -> None:
    """Make columns narrower until all fit: times first, then the widest, texts last."""
    excess = sum(widths[n] + len(_GAP) for n in kept) - len(_GAP) - width
    while excess > 0:
        room = {n: widths[n] - _floor(columns[n], widths[n]) for n in kept}
        widest = max((n for n in kept if room[n]), key=lambda n: (_turn(columns[n]), widths[n]), default=None)
        if widest is None:
            return
        turn = _turn(columns[widest])
        rivals = [widths[n] for n in kept if room[n] and turn == _turn(columns[n]) and widths[n] < widths[widest]]
        step = room[widest] if columns[widest].time else max(1, widths[widest] - max(rivals, default=0))
        less = min(excess, room[widest], step)
        widths[widest] -= less
        excess -= less


def _turn(column: TableColumn) -> int:
    """Columns with a higher number are made narrower before others."""
    return 2 if column.time else 0 if column.text else 1


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


def _padded(text: str, width: int, column: TableColumn, *, cutting: bool) -> str:
    if cutting and displayed(text) > width:
        shorter = next((size for size in _TIME_WIDTHS if size <= width), None) if column.time else None
        text = cut(text, width) if shorter is None else text[:shorter]
    blanks = " " * (width - displayed(text))
    return blanks + text if column.right else text + blanks
