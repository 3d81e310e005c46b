"""`rocketwire timer show`: the next slots of a wheel, or the state of one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import OnlineCommand
from rocketwire.cli.output import json_line, number, size
from rocketwire.cli.timer.source import TimerLocation, TimerWarnings, store_or_online
from rocketwire.cli.times import shown
from rocketwire.wire.java import parse_natural_number
from rocketwire.wire.names import TIMER_TOPIC

if TYPE_CHECKING:
    from rocketwire.cli.timer.lookup import FoundTimerMessage
    from rocketwire.store.offline.timer.slots import WaitingSlot

_EPILOG: Final = """\
MSGID is the id that a send returned (the unique key), or in a store the offset message id of the timer's record. It
tells where the message waits, when it is due and stored again (rolls), and whether it is cancelled or delivered.
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


@click.command("show", cls=OnlineCommand, epilog=_EPILOG)
@click.argument("message_id", metavar="[MSGID]", required=False)
@click.option("--slots", metavar="N", help=f"Show so many slots. [default: {_SLOTS}]")
@json_option
@store_or_online
def command(where: TimerLocation, message_id: str | None, *, slots: str | None, as_json: bool) -> int:
    """Show how one message waits, or without MSGID the next slots of a store's wheel. Times are UTC."""
    report = TimerWarnings()
    if message_id is not None:
        if slots is not None:
            raise CommandError("--slots: not with MSGID")
        _show_message(where, message_id, report, as_json=as_json)
    else:
        _show_slots(where, str(_SLOTS) if slots is None else slots, report, as_json=as_json)
    return INCOMPLETE if report.any else 0


# --- slots ---


def _show_slots(where: TimerLocation, wanted: str, report: TimerWarnings, *, as_json: bool) -> None:
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
    from rocketwire.cli.table import TableColumn, print_table

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


def _show_message(where: TimerLocation, message_id: str, report: TimerWarnings, *, as_json: bool) -> None:
    from rocketwire.cli.table import print_facts
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
    from rocketwire.cli.timer.list import json_object
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
    from rocketwire.cli.table import clean

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
