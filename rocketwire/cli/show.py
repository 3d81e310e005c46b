"""`rocketwire show`: print a recording as a table, as a tree with all fields and bodies, or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.output import CountedWarnings, json_line, json_option
from rocketwire.cli.parameter_types import FILE
from rocketwire.cli.table import TableColumn, clean, print_table
from rocketwire.cli.times import shown

if TYPE_CHECKING:
    from rocketwire.capture.contents.shown import Item

_EPILOG: Final = """\
A line is a frame, or the beginning or end of a connection. ANSWER is the response code, AFTER the time since the
request. A file that is cut off or damaged is shown as far as it is whole; stderr says what is missing, and the exit
code is 1.

\b
Examples:
  rocketwire show session.rwr
  rocketwire show session.rwr --tree --connection 2 --limit 20
  rocketwire show session.rwr --code SEND_MESSAGE_V2 --json
"""


@click.command("show", epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--tree", "as_tree", is_flag=True, help="Print all fields of each header, and decoded bodies.")
@click.option(
    "--connection", "connections", metavar="N", type=click.IntRange(min=1), multiple=True, help="Of this; repeatable."
)
@click.option(
    "--code",
    "codes",
    metavar="CODE",
    multiple=True,
    help="Requests with this code, a name or number, and their answers; repeatable.",
)
@click.option("--limit", metavar="N", type=click.IntRange(min=1), help="At most so many lines. [default: all]")
@json_option
def command(
    file: str, *, as_tree: bool, connections: tuple[int, ...], codes: tuple[str, ...], limit: int | None, as_json: bool
) -> int:
    """Print what is in a recording of `rocketwire record`."""
    if as_tree and as_json:
        raise click.UsageError("--tree and --json exclude each other")
    from rocketwire.capture.contents.shown import items_of
    from rocketwire.capture.file.reader import load

    report = CountedWarnings()
    numbers = frozenset(_code(each) for each in codes)
    chosen = (
        item
        for item in items_of(load(file, report))
        if (not connections or item.connection in connections) and (not numbers or item.code in numbers)
    )
    items = islice(chosen, limit)
    if as_json:
        for item in items:
            json_line(item.json())
    elif as_tree:
        _print_trees(items)
    else:
        _print_lines(items)
    return INCOMPLETE if report.count else 0


def _code(text: str) -> int:
    from rocketwire.server.config.nearest import suggestion
    from rocketwire.wire.facts.codes import RequestCode

    if text.isascii() and text.isdigit():
        return int(text)
    names = {each.name: each.value for each in RequestCode}
    if text.upper() not in names:
        raise CommandError(f"--code {text}: no such request code{suggestion(text.upper(), names)}")
    return names[text.upper()]


def _print_lines(items: Iterable[Item]) -> None:
    columns = (
        TableColumn("TIME (UTC)", least=12, time=True),
        TableColumn("CONN", right=True),
        TableColumn("DIR", least=2),
        TableColumn("WHAT", least=16),
        TableColumn("OPAQUE", right=True, spare=1),
        TableColumn("TOPIC", least=10, spare=4),
        TableColumn("GROUP", least=8, spare=3),
        TableColumn("SIZE", right=True, spare=2),
        TableColumn("ANSWER", least=7),
        TableColumn("AFTER", right=True),
    )
    print_table(columns, (_row(item) for item in items))


def _row(item: Item) -> tuple[str, ...]:
    from rocketwire.capture.contents.frames import response_name

    latency = "" if item.latency is None else f"{item.latency / 1000:.1f} ms"
    return (
        _time(item),
        str(item.connection or ""),
        item.direction,
        item.what,
        "" if item.opaque is None else str(item.opaque),
        item.topic,
        item.group,
        "" if item.size is None else str(item.size),
        "" if item.answer is None else response_name(item.answer),
        latency,
    )


def _time(item: Item) -> str:
    return f"+{item.time / 1e6:.3f} s" if item.wall is None else shown(item.wall)


def _print_trees(items: Iterable[Item]) -> None:
    for number, item in enumerate(items):
        if number:
            print()
        print(clean("  ".join(part for part in _row(item) if part)))
        for line in _branches(item.detail(), 1):
            print(line)


def _branches(value: object, depth: int) -> Iterator[str]:
    """The lines of nested objects, two blanks a level."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in entries:
        start = f"{'  ' * depth}{clean(str(name))}:"
        if isinstance(item, dict | list) and item:
            yield start
            yield from _branches(item, depth + 1)
        else:
            yield f"{start} {clean(_text(item))}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "-" if isinstance(value, dict | list) else str(value)
