"""`rocketwire store cat`: print selected messages of a store."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

from rocketwire.cli.ending import DAMAGED, ended
from rocketwire.cli.mistake import INCOMPLETE, Mistake, Unsuccessful
from rocketwire.cli.output import json_line, warn
from rocketwire.cli.store.directory import add_directory, opened
from rocketwire.cli.times import parsed, shown

if TYPE_CHECKING:
    from rocketwire.cli.serve import Commands
    from rocketwire.store.archive.plan.select import Wanted
    from rocketwire.store.archive.read.scan import Report, Trouble
    from rocketwire.store.archive.read.selected import Selected

_EPILOG = """\
All conditions must hold. Messages come in the order they were stored. TIME is ISO 8601, in UTC if it names no zone, or
ms since 1970; --since is inclusive, --until is not. A damaged message is reported on stderr and passed over; the exit
code is 1 then, and where a --key or --id is not found. docs/store-tools.md tells more."""
#: Characters of a body that go into a table: more than any terminal shows.
_MOST_SHOWN = 1000
#: Longer numbers do not fit 64 bits.
_DIGITS = 18


def add_parser(commands: Commands) -> None:
    """Add `cat` to the commands."""
    parser = commands.add_parser(
        "cat",
        help="print the messages of a store",
        description="Print the messages of a store. RocketMQ's own topics are left out unless they are named.",
        epilog=_EPILOG,
    )
    add_directory(parser)
    parser.add_argument("--topic", metavar="T", action="append", dest="topics", help="of this topic; repeatable")
    parser.add_argument("--queue", metavar="N", action="append", dest="queues", help="of this queue; repeatable")
    parser.add_argument(
        "--offset",
        metavar="A[:B]",
        help="at this queue offset; A: from A on, A:B from A up to, not including, B, :B before B",
    )
    parser.add_argument("--since", metavar="TIME", help="stored at or after this time")
    parser.add_argument("--until", metavar="TIME", help="stored before this time")
    parser.add_argument("--key", metavar="K", help="with this key, or this unique key")
    parser.add_argument("--id", metavar="MSGID", help="with this message id, of either kind")
    parser.add_argument("--tag", metavar="TAG", action="append", dest="tags", help="with this tag; repeatable")
    parser.add_argument("--limit", metavar="N", help="no more than so many")
    parser.add_argument("--all-topics", action="store_true", help="RocketMQ's own topics too")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--table", action="store_true", help="print a table (the default)")
    form.add_argument("--json", action="store_true", help="print one JSON object a line")
    form.add_argument("--raw", action="store_true", help="print the bodies as they are, a newline between two")
    parser.set_defaults(run=ended(_cat))


def _cat(options: argparse.Namespace) -> int:
    wanted = _wanted(options)
    most = None if options.limit is None else _whole("--limit", options.limit)
    from rocketwire.store.archive.plan.plan import find, known_topics

    directory = opened(options)
    if wanted.key is None and wanted.message_id is None:
        for topic in sorted(wanted.topics or ()):
            if not directory.queues_of(topic):
                warn(f"{directory.root} has no consume queue of {topic}: looking for it in the whole log")
    damaged = False

    def report(trouble: Trouble) -> None:
        nonlocal damaged
        damaged = damaged or not trouble.gone
        warn(str(trouble))

    unknown = sorted(wanted.topics - known_topics(directory, report)) if wanted.topics else []
    found = islice(find(directory, wanted, report), most)
    first = list(islice(found, 1))
    if unknown and not first:
        raise Unsuccessful(f"--topic {unknown[0]}: no such topic; rocketwire store ls {directory.root} lists them")
    write = _write_json if options.json else _write_raw if options.raw else _write_table
    write(chain(first, found), report)
    if not first and (wanted.key is not None or wanted.message_id is not None):
        warn(f"{directory.root} has no such message")
        return INCOMPLETE
    return DAMAGED if damaged else 0


def _wanted(options: argparse.Namespace) -> Wanted:
    first, end = _offsets(options.offset)
    if "" in (options.topics or ()):
        raise Mistake("--topic: a topic's name is not empty")
    from rocketwire.store.archive.plan.select import FOREVER, Wanted

    return Wanted(
        topics=frozenset(options.topics) if options.topics else None,
        # An id selects a message of any topic.
        system_topics=options.all_topics or options.id is not None,
        queue_ids=frozenset(_whole("--queue", text) for text in options.queues) if options.queues else None,
        first_offset=first,
        end_offset=FOREVER if end is None else end,
        since=0 if options.since is None else parsed("--since", options.since),
        until=FOREVER if options.until is None else parsed("--until", options.until),
        key=options.key,
        message_id=options.id,
        tags=frozenset(options.tags) if options.tags else None,
    )


def _offsets(text: str | None) -> tuple[int, int | None]:
    if text is None:
        return 0, None
    first, colon, end = text.partition(":")
    if not all(part == "" or _is_whole(part) for part in (first, end)) or text in ("", ":"):
        raise Mistake(f"--offset {text}: allowed is A, A:, :B or A:B with whole numbers")
    if not colon:
        return int(first), int(first) + 1
    return int(first or 0), int(end) if end else None


def _whole(option: str, text: str) -> int:
    if not _is_whole(text):
        raise Mistake(f"{option} {text}: a whole number is needed, 0 or more")
    return int(text)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def _write_table(found: Iterable[Selected], report: Report) -> None:
    from rocketwire.cli.shown_message import body_of
    from rocketwire.cli.table import Column, print_table

    columns = (
        Column("STORED (UTC)", least=16, time=True),
        Column("TOPIC", least=12),
        Column("QUEUE", right=True),
        Column("OFFSET", right=True),
        Column("TAG", least=5),
        Column("KEYS", least=6),
        Column("BODY", least=16),
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


def _write_json(found: Iterable[Selected], report: Report) -> None:
    from rocketwire.cli.shown_message import json_object

    for one in found:
        json_line(json_object(one, report))


def _write_raw(found: Iterable[Selected], report: Report) -> None:
    from rocketwire.cli.shown_message import body_of

    first = True
    for one in found:
        body = body_of(one, report)
        if body is not None:
            sys.stdout.buffer.write(body if first else b"\n" + body)
            first = False
