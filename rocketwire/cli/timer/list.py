"""`rocketwire timer list`: list waiting timer messages in the order of their due times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import OnlineCommand
from rocketwire.cli.output import json_line, number, size
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.timer.source import TimerLocation, TimerWarnings, store_or_online
from rocketwire.cli.times import parsed, shown
from rocketwire.wire.java import parse_natural_number

if TYPE_CHECKING:
    from rocketwire.cli.timer.pending import TimerListing

_EPILOG: Final = """\
--from is inclusive, --to is not. TIME is ISO 8601 (2026-01-31T09:30:00+01:00), in UTC if it names no zone, or ms since
1970 of 11 digits at least. PLACE is the record's physical offset, ROLLS how often it was stored again because its time
was far away. Without --store the brokers of --namesrv are asked, which takes the longer the more messages ever waited.
Exit code 1: something could not be read (stderr says what), or no broker has a timer.

\b
Examples:
  rocketwire timer list --store data           # of a directory, in use or not
  rocketwire timer list --topic Orders --limit 0 --json
  rocketwire timer list --from 2026-01-31T09:00 --to 2026-01-31T10:00
"""
_LIMIT: Final = 20


@click.command("list", cls=OnlineCommand, epilog=_EPILOG)
@click.option("--topic", metavar="T", type=TOPIC, help="Only those for this topic.")
@click.option("--from", "start", metavar="TIME", help="Only those due at or after this time.")
@click.option("--to", "end", metavar="TIME", help="Only those due before this time.")
@click.option("--limit", metavar="N", default=str(_LIMIT), show_default=True, help="So many; 0 for all.")
@json_option
@store_or_online
def command(
    where: TimerLocation, *, topic: str | None, start: str | None, end: str | None, limit: str, as_json: bool
) -> int:
    """List the next messages that wait for a set time, in the order of their times."""
    most = parse_natural_number(limit)
    if most is None:
        raise CommandError(f"--limit {limit}: a whole number is needed, 0 or more")
    first = None if start is None else parsed("--from", start)
    last = None if end is None else parsed("--to", end)
    if first is not None and last is not None and last < first:
        raise CommandError(f"--to {end}: it is before --from {start}")
    from rocketwire.cli.timer.pending import in_order

    report = TimerWarnings()
    with where.opened(report) as source:
        found = in_order(source, topic=topic, start=first, end=last, limit=most or None)
        if as_json:
            for each in found:
                json_line(json_object(each))
        else:
            _write_table(found, source.time)
    return INCOMPLETE if report.any else 0


def json_object(each: TimerListing) -> dict[str, Any]:
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


def _write_table(found: Iterator[TimerListing], now: int) -> None:
    from rocketwire.cli.table import TableColumn, print_table

    columns = (
        TableColumn("DUE (UTC)", least=16, time=True),
        TableColumn("TOPIC", least=12),
        TableColumn("QUEUE", right=True, spare=4),
        TableColumn("MESSAGE ID", least=32),
        TableColumn("TAG", least=5, spare=6),
        TableColumn("KEYS", least=6, spare=5),
        TableColumn("SIZE", right=True, spare=3),
        TableColumn("ROLLS", right=True, spare=2),
        TableColumn("PLACE", right=True, spare=1),
        TableColumn("STATE", least=8),
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
