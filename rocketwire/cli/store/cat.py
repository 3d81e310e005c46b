"""`rocketwire store cat`: print selected messages of a store."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.output import json_line, json_option, warn
from rocketwire.cli.shown_message import body_of, json_object
from rocketwire.cli.store.directory import opened, store_directory
from rocketwire.cli.table import TableColumn, print_table
from rocketwire.cli.terminal import drawing
from rocketwire.cli.times import parsed, shown

if TYPE_CHECKING:
    from rocketwire.store.offline.plan.select import MessageConditions
    from rocketwire.store.offline.read.directory import StoreDirectory
    from rocketwire.store.offline.read.scan import ReadProblem, ReportProblem
    from rocketwire.store.offline.read.selected import SelectedMessage

_EPILOG: Final = """\
All conditions must hold; of a repeated option, one value. Messages come in the order they were stored. TIME is ISO 8601
(2026, 2026-01-31, 2026-01-31T09:30:00.5, 2026-01-31T10:30:00+01:00), in UTC if it names no zone, or ms since 1970 of 11
digits at least; --since is inclusive, --until is not. A damaged message is reported on stderr and skipped; the exit
code is 1 then, and where a --key or --id is not found.

\b
Examples:
  rocketwire store cat data --topic Orders --since 2026-01-31T09:00 --limit 20
  rocketwire store cat data --key ORDER-1 --json
  rocketwire store cat data --topic Orders --queue 0 --offset 100:200 --raw
"""
#: Characters of a body that go into a table: more than any terminal shows.
_MOST_SHOWN = 1000
#: Longer numbers do not fit 64 bits.
_DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conditions:
    """The options that select messages, as they are typed."""

    topics: tuple[str, ...]
    queues: tuple[str, ...]
    offset: str | None
    since: str | None
    until: str | None
    key: str | None
    message_id: str | None
    tags: tuple[str, ...]
    all_topics: bool


@click.command("cat", epilog=_EPILOG)
@store_directory
@click.option("--topic", "topics", metavar="T", multiple=True, help="Of this topic; repeatable.")
@click.option("--queue", "queues", metavar="N", multiple=True, help="Of this queue; repeatable.")
@click.option(
    "--offset",
    metavar="A[:B]",
    help="At this queue offset; A: from A on, A:B from A up to, not including, B, :B before B.",
)
@click.option("--since", metavar="TIME", help="Stored at or after this time.")
@click.option("--until", metavar="TIME", help="Stored before this time.")
@click.option("--key", metavar="K", help="With this key, or this unique key.")
@click.option("--id", "message_id", metavar="MSGID", help="With this message id, of either kind, in any topic.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="With this tag; repeatable.")
@click.option(
    "--columns", metavar="CACHE", help="Look in these (see `store columns`): of the log, read only what they find."
)
@click.option("--limit", metavar="N", help="No more than so many.")
@click.option("--all-topics", is_flag=True, help="RocketMQ's own topics too.")
@click.option("--table", is_flag=True, help="Print a table (the default).")
@json_option
@click.option("--raw", is_flag=True, help="Print the bodies as they are, a newline between two.")
def command(
    *,
    directory: str,
    commitlog: str | None,
    columns: str | None,
    limit: str | None,
    table: bool,
    as_json: bool,
    raw: bool,
    **conditions: Any,  # noqa: ANN401 - those of _Conditions
) -> int:
    """Print the messages of a store. RocketMQ's own topics are skipped unless they are named."""
    if table + as_json + raw > 1:
        raise click.UsageError("only one of --table, --json and --raw is allowed")
    wanted = _wanted(_Conditions(**conditions))
    most = None if limit is None else _whole("--limit", limit)
    write = _write_json if as_json else _write_raw if raw else _write_table
    if columns is None:
        return _cat(opened(directory, commitlog), wanted, most, write)
    if wanted.message_id is not None:
        raise click.UsageError("--columns has no message ids: --id is not allowed with it")
    from rocketwire.store.offline.columns.manifest import ColumnsUnusable

    try:
        return _cat(opened(directory, commitlog), wanted, most, write, columns)
    except ColumnsUnusable as error:
        raise CommandFailed(f"{columns}: {error}; make them by rocketwire store columns") from error


def _cat(
    directory: StoreDirectory,
    wanted: MessageConditions,
    most: int | None,
    write: Callable[[Iterable[SelectedMessage], ReportProblem], None],
    columns: str | None = None,
) -> int:
    from rocketwire.store.offline.plan.plan import SearchLog, known_topics, plan

    if columns is None and wanted.key is None and wanted.message_id is None:
        for topic in sorted(wanted.topics or ()):
            if not directory.queues_of(topic):
                warn(f"{directory.root} has no consume queue of {topic}: looking for it in the whole log")
    damaged = False

    def report(trouble: ReadProblem) -> None:
        nonlocal damaged
        damaged = damaged or not trouble.gone
        warn(str(trouble))

    unknown = sorted(wanted.topics - known_topics(directory, report)) if wanted.topics else []
    every: Iterator[SelectedMessage]
    if columns is not None:
        from rocketwire.store.offline.columns.queries import StoreColumns

        every = StoreColumns(directory, Path(columns)).find(wanted, report)
    else:
        chosen = plan(directory, wanted, report)
        if write is _write_json and isinstance(chosen, SearchLog) and wanted.needs_only_columns:
            from rocketwire.cli.store.json_lines import write_lines

            if not write_lines(chosen.blocks(report), most, report) and unknown:
                raise _no_topic(unknown[0], directory)
            return INCOMPLETE if damaged else 0
        every = chosen.run(report)
    found = islice(every, most)
    first = list(islice(found, 1))
    if unknown and not first:
        raise _no_topic(unknown[0], directory)
    write(chain(first, found), report)
    if not first and (wanted.key is not None or wanted.message_id is not None):
        warn(f"{directory.root} has no such message")
        return INCOMPLETE
    return INCOMPLETE if damaged else 0


def _no_topic(topic: str, directory: StoreDirectory) -> CommandFailed:
    return CommandFailed(f"--topic {topic}: no such topic; rocketwire store list {directory.root} lists them")


def _wanted(options: _Conditions) -> MessageConditions:
    first, end = _offsets(options.offset)
    if "" in options.topics:
        raise CommandError("--topic: a topic's name is not empty")
    from rocketwire.store.offline.plan.select import FOREVER, MessageConditions

    return MessageConditions(
        topics=frozenset(options.topics) if options.topics else None,
        # An id selects a message of any topic.
        system_topics=options.all_topics or options.message_id is not None,
        queue_ids=frozenset(_whole("--queue", text) for text in options.queues) if options.queues else None,
        first_offset=first,
        end_offset=FOREVER if end is None else end,
        since=0 if options.since is None else parsed("--since", options.since),
        until=FOREVER if options.until is None else parsed("--until", options.until),
        key=options.key,
        message_id=options.message_id,
        tags=frozenset(options.tags) if options.tags else None,
    )


def _offsets(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 0, None
    first, colon, end = text.partition(":")
    if not all(part == "" or _is_whole(part) for part in (first, end)) or text in ("", ":"):
        raise CommandError(f"--offset {text}: expected A, A:, :B or A:B with whole numbers")
    if not colon:
        return int(first), int(first) + 1
    return int(first or 0), int(end) if end else None


def _whole(option: str, text: str) -> int:
    if not _is_whole(text):
        raise CommandError(f"{option} {text}: a whole number is needed, 0 or more")
    return int(text)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def _write_table(found: Iterable[SelectedMessage], report: ReportProblem) -> None:
    columns = (
        TableColumn("STORED (UTC)", least=16, time=True),
        TableColumn("TOPIC", least=12),
        TableColumn("QUEUE", right=True),
        TableColumn("OFFSET", right=True),
        TableColumn("TAG", least=5),
        TableColumn("KEYS", least=6),
        TableColumn("BODY", least=16, text=True),
    )

    def rows() -> Iterator[tuple[str, ...]]:
        for one in found:
            message = one.message
            place = (message.topic, str(message.queue_id), str(message.queue_offset))
            body = body_of(one, report)
            yield shown(message.store_timestamp), *place, one.tags or "", " ".join(one.keys), _excerpt(body)

    print_table(columns, rows())


def _excerpt(body: bytes | None) -> str:
    if body is None:
        return ""
    try:
        return body.decode()[:_MOST_SHOWN]
    except UnicodeDecodeError:
        return "0x" + body[:_MOST_SHOWN].hex()


def _write_json(found: Iterable[SelectedMessage], report: ReportProblem) -> None:
    for one in found:
        json_line(json_object(one, report))


def _write_raw(found: Iterable[SelectedMessage], report: ReportProblem) -> None:
    first = True
    for one in found:
        body = body_of(one, report)
        if body is not None:
            drawing(sys.stdout).buffer.write(body if first else b"\n" + body)
            first = False
