"""`rocketwire timer stats`: waiting messages in total, by topic and by hour, and the timer's delay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE
from rocketwire.cli.online import OnlineCommand
from rocketwire.cli.output import CountedWarnings, count_of, json_line, json_option, number
from rocketwire.cli.table import TableColumn, print_facts, print_table
from rocketwire.cli.timer.source import TimerLocation, TimerSource, store_or_online
from rocketwire.cli.times import shown

if TYPE_CHECKING:
    from rocketwire.cli.timer.local import LocalTimer
    from rocketwire.cli.timer.pending import DueBucket, TimerStatistics

_EPILOG: Final = """\
Messages that a marker cancels wait until their time comes, and count. The histogram has a row per minute for an hour,
then one per hour. "read up to" is the time that the timer has reached, "overdue" what is due and not delivered, "stale"
what the log no longer has. Without --store the brokers of --namesrv are queried, which takes the longer the more
messages ever waited. Exit code 1: something could not be read (stderr says what), or no broker has a timer.

\b
Examples:
  rocketwire timer stats --namesrv 10.0.0.5:9876
  rocketwire timer stats --store data        # of a directory, in use or not
  rocketwire timer stats --json
"""
_BAR: Final = 40


@click.command("stats", cls=OnlineCommand, epilog=_EPILOG)
@json_option
@store_or_online
def command(where: TimerLocation, *, as_json: bool) -> int:
    """Count the messages that wait for a set time, by topic and by hour. Times are UTC."""
    from rocketwire.cli.timer.pending import counted

    report = CountedWarnings()
    with where.opened(report) as source:
        now = source.time
        found = counted(source, now)
        if as_json:
            json_line(_object(source, found, now))
        else:
            print_facts([*_facts(source, found), *_counts(found, now)])
            _print_tables(source, found)
    return INCOMPLETE if report.count else 0


def _object(source: TimerSource, found: TimerStatistics, now: int) -> dict[str, Any]:
    from rocketwire.cli.timer.local import LocalTimer
    from rocketwire.cli.timer.remote import RemoteTimer

    document: dict[str, Any] = {"time": now, "precision": source.precision}
    if isinstance(source, LocalTimer):
        document |= _of_store(source)
    elif isinstance(source, RemoteTimer):
        document["brokers"] = [broker._asdict() for broker in source.brokers]
    counts = found._asdict()
    counts["topics"] = [topic._asdict() for topic in found.topics]
    counts["histogram"] = [bucket._asdict() for bucket in found.histogram]
    return document | counts


def _of_store(source: LocalTimer) -> dict[str, Any]:
    check = source.check
    return {
        "directory": source.directory.root,
        "state": source.directory.state.name.lower(),
        "read_time": None if check is None else check.last_read_time,
        "queue_offset": 0 if check is None else check.last_queue_offset,
        "queue_end": source.queue_end,
        "stale": source.stale,
    }


def _facts(source: TimerSource, found: TimerStatistics) -> Iterator[tuple[str, str]]:
    from rocketwire.cli.timer.local import LocalTimer
    from rocketwire.cli.timer.remote import RemoteTimer
    from rocketwire.store.offline.read.directory import StoreState

    if isinstance(source, LocalTimer):
        yield "store", source.directory.root
        yield "state", source.directory.state.value
        if source.unused:
            yield "timer", "none: no message has ever waited here"
            return
        check = source.check
        read_time, queue_offset = (None, 0) if check is None else (check.last_read_time, check.last_queue_offset)
        on_time = source.directory.state is StoreState.LIVE and not found.overdue
        behind = max(0, source.queue_end - queue_offset)
        yield "timer", _timer(source.precision, read_time, None if on_time else source.time, behind)
        if source.stale:
            yield "stale", f"{count_of(source.stale, 'unit')} of records that the log has no more"
    elif isinstance(source, RemoteTimer):
        for broker in source.brokers:
            behind = max(0, broker.queue_end - broker.queue_offset)
            yield (
                broker.name,
                _timer(broker.precision, broker.read_time, source.time if found.overdue else None, behind),
            )
            if broker.counts is not None:
                total = sum(broker.counts.values())
                yield "", f"counts {count_of(total, 'message')} for {count_of(len(broker.counts), 'topic')}"
            if broker.runtime:
                yield "", ", ".join(f"{name} {value}" for name, value in broker.runtime.items())


def _timer(precision: int, read_time: int | None, late_at: int | None, behind: int) -> str:
    """The progress of a timer; it does not advance while nothing is due, so an old time alone is no delay."""
    text = f"slots of {precision} ms"
    if read_time is not None:
        age = "nothing overdue" if late_at is None else f"{_span(late_at - read_time)} ago"
        text += f", read up to {shown(read_time)} ({age})"
    return text + (f", {count_of(behind, 'message')} not in the wheel yet" if behind else "")


def _counts(found: TimerStatistics, now: int) -> Iterator[tuple[str, str]]:
    yield "waiting", f"{count_of(found.messages, 'message')} for {count_of(len(found.topics), 'topic')}"
    if found.cancelled or found.markers:
        yield "cancelled", f"{number(found.cancelled)} of them; {count_of(found.markers, 'marker')} waiting with them"
    if found.oldest_due is not None:
        yield "overdue", f"{count_of(found.overdue, 'message')}, the oldest by {_span(now - found.oldest_due)}"
    else:
        yield "overdue", "none"


def _span(milliseconds: int) -> str:
    """A time span in readable form."""
    seconds = max(0, milliseconds) / 1000
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _print_tables(source: TimerSource, found: TimerStatistics) -> None:
    from rocketwire.cli.timer.remote import RemoteTimer

    if not found.topics:
        return
    said: dict[str, int] = {}
    for broker in source.brokers if isinstance(source, RemoteTimer) else ():
        for topic, count in (broker.counts or {}).items():
            said[topic] = said.get(topic, 0) + count
    columns = [
        TableColumn("TOPIC", least=16),
        TableColumn("WAITING", right=True),
        TableColumn("CANCELLED", right=True),
        TableColumn("OVERDUE", right=True),
        TableColumn("FIRST DUE (UTC)", least=16, time=True, spare=2),
        TableColumn("LAST DUE (UTC)", least=16, time=True, spare=1),
        *([TableColumn("BROKERS COUNT", right=True)] if said else []),
    ]
    rows = (
        (
            each.topic,
            number(each.messages),
            number(each.cancelled),
            number(each.overdue),
            shown(each.next_due),
            shown(each.last_due),
            *([number(said.get(each.topic, 0))] if said else []),
        )
        for each in found.topics
    )
    print()
    print_table(columns, rows)
    if found.histogram:
        print()
        columns = [
            TableColumn("DUE FROM (UTC)", least=16),
            TableColumn("WAITING", right=True),
            TableColumn("", least=_BAR),
        ]
        most = max(bucket.messages for bucket in found.histogram)
        print_table(columns, (_bar(bucket, most) for bucket in found.histogram))


def _bar(bucket: DueBucket, most: int) -> tuple[str, str, str]:
    return shown(bucket.start)[:16], number(bucket.messages), "#" * -(-_BAR * bucket.messages // most)
