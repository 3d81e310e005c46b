"""`rocketwire timer ls|show`: messages that wait for a set time, and one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import OnlineCommand
from rocketwire.cli.output import CountedWarnings, json_line, json_option, number, size
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.table import TableColumn, clean, print_facts, print_table
from rocketwire.cli.timer.source import TimerLocation, store_or_online
from rocketwire.cli.times import parsed, shown
from rocketwire.wire.java import parse_natural_number
from rocketwire.wire.names import TIMER_TOPIC

if TYPE_CHECKING:
    from rocketwire.cli.timer.lookup import FoundTimerMessage
    from rocketwire.cli.timer.pending import TimerListing
    from rocketwire.store.offline.timer.slots import WaitingSlot


_LIST_EPILOG: Final = """\
--from is inclusive, --to is not. TIME is ISO 8601 (2026-01-31T09:30:00+01:00), in UTC if it names no zone, or ms since
1970 of 11 digits at least. PLACE is the record's physical offset, ROLLS how often it was stored again because its time
was far away. Without --store the brokers of --namesrv are queried, which takes the longer the more messages ever
waited.
Exit code 1: something could not be read (stderr says what), or no broker has a timer.

\b
Examples:
  rocketwire timer list --store data           # of a directory, in use or not
  rocketwire timer list --topic Orders --limit 0 --json
  rocketwire timer list --from 2026-01-31T09:00 --to 2026-01-31T10:00
"""
_LIMIT: Final = 20


@click.command("list", cls=OnlineCommand, epilog=_LIST_EPILOG)
@click.option("--topic", metavar="T", type=TOPIC, help="Only those for this topic.")
@click.option("--from", "start", metavar="TIME", help="Only those due at or after this time.")
@click.option("--to", "end", metavar="TIME", help="Only those due before this time.")
@click.option("--limit", metavar="N", default=str(_LIMIT), show_default=True, help="So many; 0 for all.")
@json_option
@store_or_online
def list_command(
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

    report = CountedWarnings()
    with where.opened(report) as source:
        found = in_order(source, topic=topic, start=first, end=last, limit=most or None)
        if as_json:
            for each in found:
                json_line(json_object(each))
        else:
            _write_table(found, source.time)
    return INCOMPLETE if report.count else 0


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


_SHOW_EPILOG: Final = """\
MSGID is the id that a send returned (the unique key), or in a store the offset message id of the timer's record. It
shows where the message waits, when it is due and stored again (rolls), and whether it is cancelled or delivered.
Without MSGID a store's next slots are listed: how many messages each delivers, stores again, and marks as cancelled,
and its chain in the timer log. Exit code 1: there is no such message or timer, or something could not be read (stderr
says what).

\b
Examples:
  rocketwire timer show C000020201C14E0E2F2A68F2FE7800DC
  rocketwire timer show C000020201C14E0E2F2A68F2FE7800DC --store data
  rocketwire timer show --store data --slots 20
"""
_SLOTS: Final = 10


@click.command("show", cls=OnlineCommand, epilog=_SHOW_EPILOG)
@click.argument("message_id", metavar="[MSGID]", required=False)
@click.option("--slots", metavar="N", help=f"Show so many slots. [default: {_SLOTS}]")
@json_option
@store_or_online
def show_command(where: TimerLocation, message_id: str | None, *, slots: str | None, as_json: bool) -> int:
    """Show how one message waits, or without MSGID the next slots of a store's wheel. Times are UTC."""
    report = CountedWarnings()
    if message_id is not None:
        if slots is not None:
            raise CommandError("--slots: not with MSGID")
        _show_message(where, message_id, report, as_json=as_json)
    else:
        _show_slots(where, str(_SLOTS) if slots is None else slots, report, as_json=as_json)
    return INCOMPLETE if report.count else 0


# --- slots ---


def _show_slots(where: TimerLocation, wanted: str, report: CountedWarnings, *, as_json: bool) -> None:
    most = parse_natural_number(wanted)
    if most is None:
        raise CommandError(f"--slots {wanted}: a whole number is needed, 0 or more")
    directory = where.directory()
    if directory is None:
        raise CommandError(
            "slots are seen in a store directory only: name it with --store DIR, or a message by its MSGID"
        )
    from rocketwire.store.offline.timer.slots import next_slots
    from rocketwire.store.offline.timer.timer import StoreTimer

    with StoreTimer(directory, report) as timer:
        slots = next_slots(directory, timer.waiting, timer.precision, most)
    if as_json:
        for slot in slots:
            json_line(slot._asdict())
    else:
        _write_slots(slots)


def _write_slots(slots: Sequence[WaitingSlot]) -> None:
    columns = (
        TableColumn("SLOT (UTC)", least=16, time=True),
        TableColumn("NUMBER", right=True, spare=3),
        TableColumn("DELIVER", right=True),
        TableColumn("ROLL", right=True),
        TableColumn("MARKERS", right=True),
        TableColumn("CHAIN", right=True),
        TableColumn("FIRST UNIT", right=True, spare=1),
        TableColumn("LAST UNIT", right=True, spare=2),
    )
    rows = (
        (
            shown(slot.time),
            str(slot.number),
            number(slot.messages),
            number(slot.rolls),
            number(slot.markers),
            "not in the wheel" if slot.chain is None else number(slot.chain),
            "" if slot.chain is None else str(slot.first),
            "" if slot.chain is None else str(slot.last),
        )
        for slot in slots
    )
    print_table(columns, rows)


# --- one message ---


def _show_message(where: TimerLocation, message_id: str, report: CountedWarnings, *, as_json: bool) -> None:
    from rocketwire.cli.timer.lookup import in_store, on_brokers

    directory = where.directory()
    if directory is not None:
        found, place = list(in_store(directory, message_id, report)), directory.root
    else:
        endpoint = where.endpoint()
        with endpoint.connected() as cluster:
            found, place = list(on_brokers(cluster, message_id)), endpoint.name_servers
    if not found:
        raise CommandFailed(f"{message_id}: {place} has no such message in {TIMER_TOPIC}")
    for count, each in enumerate(found):
        if as_json:
            json_line(_object(each))
            continue
        if count:
            print()
        print_facts(_facts(each))


def _object(found: FoundTimerMessage) -> dict[str, Any]:
    from rocketwire.cli.timer.pending import TimerListing

    copy = found.copy
    return {
        **json_object(TimerListing(found.message, found.broker, found.due, found.cancelled)),
        "cancels": found.message.cancels,
        "waits": found.waits,
        "rolls_at": found.rolls_at,
        "position": found.position,
        "delivered": None
        if copy is None
        else {
            "queue_offset": copy.message.queue_offset,
            "store_timestamp": copy.message.store_timestamp,
            "physical_offset": copy.message.physical_offset,
        },
    }


def _facts(found: FoundTimerMessage) -> Iterator[tuple[str, str]]:
    message = found.message
    yield "message", clean(message.message_id)
    named = (("tag", message.tags), ("keys", " ".join(message.keys)), ("broker", found.broker))
    topic = [f"{message.topic}, queue {message.queue_id}", *(f"{name} {text}" for name, text in named if text)]
    yield "topic", clean(", ".join(topic))
    yield "due", f"{shown(found.due)} UTC"
    yield "state", _state(found)
    if found.message.cancels is not None:
        yield "cancels", clean(found.message.cancels)
    place = f"offset {message.queue_offset} of {TIMER_TOPIC}, physical offset {message.physical_offset}"
    yield "stored", f"{shown(message.stored)} UTC, {place}, {size(message.size)}"
    yield "rolls", number(message.rolls)
    if found.position is not None:
        yield "unit", f"at byte {found.position} of the timer log"


def _state(found: FoundTimerMessage) -> str:
    if found.copy is not None:
        copy = found.copy.message
        return f"delivered {shown(copy.store_timestamp)} UTC, queue {copy.queue_id}, offset {copy.queue_offset}"
    if not found.waits:
        return "waits no more, and no copy is found: cancelled, a marker, or expired"
    text = "waits, cancelled by a marker" if found.cancelled else "waits"
    return text if found.rolls_at is None else f"{text}; rolls {shown(found.rolls_at)} UTC"
