"""`rocketwire timer ls`: list waiting timer messages in the order of their due times."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rocketwire.cli.ending import DAMAGED, ended
from rocketwire.cli.mistake import Mistake
from rocketwire.cli.output import json_line, number, size
from rocketwire.cli.timer.source import Complaints, add_source, opened
from rocketwire.cli.times import parsed, shown
from rocketwire.wire.java import natural_number

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.cli.timer.pending import Listed

_EPILOG = """\
--from is inclusive, --to is not. TIME is ISO 8601, in UTC if it names no zone, or ms since 1970. Exit code: 0; 1 when
something could not be read (stderr says what), or no broker has a timer; 2 for a wrong option or no store; 3 when the
endpoint is unreachable. docs/command-line.md tells more."""
_LIMIT: Final = 20


def add_parser(commands: Commands) -> None:
    """Add `ls` to the commands."""
    parser = commands.add_parser(
        "ls",
        help="the next messages that wait, in the order of their times",
        description="List the next messages that wait for a set time, in the order of their times.",
        epilog=_EPILOG,
    )
    add_source(parser)
    parser.add_argument("--topic", metavar="T", help="only those for this topic")
    parser.add_argument("--from", metavar="TIME", dest="start", help="only those due at or after this time")
    parser.add_argument("--to", metavar="TIME", dest="end", help="only those due before this time")
    parser.add_argument("--limit", metavar="N", default=str(_LIMIT), help=f"so many; 0 for all (default {_LIMIT})")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.set_defaults(run=ended(_ls))


def _ls(options: argparse.Namespace) -> int:
    limit = natural_number(options.limit)
    if limit is None:
        raise Mistake(f"--limit {options.limit}: a whole number is needed, 0 or more")
    start = None if options.start is None else parsed("--from", options.start)
    end = None if options.end is None else parsed("--to", options.end)
    if start is not None and end is not None and end < start:
        raise Mistake(f"--to {options.end}: it is before --from {options.start}")
    from rocketwire.cli.timer.pending import in_order

    report = Complaints()
    with opened(options, report) as source:
        found = in_order(source, topic=options.topic, start=start, end=end, limit=limit or None)
        if options.json:
            for each in found:
                json_line(json_object(each))
        else:
            _write_table(found, source.time)
    return DAMAGED if report.any else 0


def json_object(each: Listed) -> dict[str, Any]:
    """A message as a JSON object; names are those of `store cat --json` where they mean the same."""
    message = each.message
    return {
        "due_time": each.due,
        "topic": message.topic,
        "queue_id": message.queue_id,
        "message_id": message.message_id,
        "tags": message.tags,
        "keys": message.keys,
        "store_size": message.size,
        "rolls": message.rolls,
        "cancelled": each.cancelled,
        "store_timestamp": message.stored,
        "physical_offset": message.physical_offset,
        "timer_offset": message.queue_offset,
        "broker": each.broker,
    }


def _write_table(found: Iterator[Listed], now: int) -> None:
    from rocketwire.cli.table import Column, print_table

    columns = (
        Column("DUE (UTC)", least=16, time=True),
        Column("TOPIC", least=12),
        Column("QUEUE", right=True, spare=4),
        Column("MESSAGE ID", least=32),
        Column("TAG", least=5, spare=6),
        Column("KEYS", least=6, spare=5),
        Column("SIZE", right=True, spare=3),
        Column("ROLLS", right=True, spare=2),
        Column("PLACE", right=True, spare=1),
        Column("STATE", least=8),
    )
    rows = (
        (
            shown(each.due),
            each.message.topic,
            str(each.message.queue_id),
            each.message.message_id,
            each.message.tags or "",
            " ".join(each.message.keys),
            size(each.message.size),
            number(each.message.rolls),
            str(each.message.physical_offset),
            "cancelled" if each.cancelled else "overdue" if each.due <= now else "waits",
        )
        for each in found
    )
    print_table(columns, rows)
