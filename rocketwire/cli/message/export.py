"""`rocketwire message export`: write the messages of a topic as JSON lines or CSV (RFC 4180)."""

from __future__ import annotations

import codecs
import contextlib
import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

import click
import msgspec

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.message.selection import StartPlace, start
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.output import CountedWarnings, count_of, warn
from rocketwire.cli.parameter_types import FILE, TOPIC
from rocketwire.cli.shown_message import json_object

Write = Callable[[dict[str, Any]], object]

COLUMNS: Final = (
    "topic",
    "queue_id",
    "queue_offset",
    "message_id",
    "offset_message_id",
    "born_timestamp",
    "store_timestamp",
    "born_host",
    "store_host",
    "tags",
    "keys",
    "body",
    "body_base64",
    "properties",
    "sys_flag",
    "flag",
    "reconsume_times",
    "prepared_transaction_offset",
    "body_crc",
    "physical_offset",
    "store_size",
    "broker",
)
"""The columns of the CSV form: the names of the JSON form."""


def jsonl(output: IO[bytes]) -> Write:
    """A line of JSON for each object."""
    encode = msgspec.json.Encoder().encode
    return lambda found: output.write(encode(found) + b"\n")


def csv_rows(output: IO[bytes]) -> Write:
    """A row for each object, after a header row; keys are joined with blanks, properties are a JSON object."""
    encode = msgspec.json.Encoder().encode
    put = csv.writer(codecs.getwriter("utf-8")(output)).writerow

    def write(found: dict[str, Any]) -> None:
        found["keys"] = " ".join(found["keys"])
        found["properties"] = encode(found["properties"]).decode()
        put([found.get(name) for name in COLUMNS])

    put(COLUMNS)
    return write


FORMATS: Final[dict[str, Callable[[IO[bytes]], Write]]] = {"jsonl": jsonl, "csv": csv_rows}


_EPILOG: Final = """\
OFFSET is a number of up to 10 digits: a queue offset, for each queue. TIME is a time of storing: ISO 8601 (2026-01-31,
2026-01-31T09:30:00+01:00), in UTC if it names no zone, or ms since 1970 of 11 digits at least. --from is inclusive,
--to is not. Queues come one after the other, each up to where it ended at the start. No group's offsets are read or
moved. CSV has a first row of names. Exit code 1: there is no such topic, or something could not be read; stderr says
what.

\b
Examples:
  rocketwire message export --topic Orders --format csv --output orders.csv
  rocketwire message export --topic Orders --from 2026-01-31 --to 2026-02-01
  rocketwire message export --topic Orders --queue 0 --from 100 --to 200
"""
_FORMATS: Final = ("jsonl", "csv")
_OFFSET_DIGITS: Final = 10


@click.command("export", cls=OnlineCommand, epilog=_EPILOG)
@click.option("--topic", metavar="T", type=TOPIC, required=True, help="Of this topic.")
@click.option("--queue", "queues", metavar="N", multiple=True, help="Of this queue; repeatable.")
@click.option("--from", "first", metavar="OFFSET|TIME", help="From this offset or time on.")
@click.option("--to", "end", metavar="OFFSET|TIME", help="Before this offset or time.")
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="JSON lines, an object a message, or CSV. [default: jsonl]"
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl.")
@click.option("--output", metavar="FILE", type=FILE, help="Into this file. [default: stdout]")
@online
def command(
    endpoint: ClusterAccess,
    *,
    topic: str,
    queues: tuple[str, ...],
    first: str | None,
    end: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> int:
    """Write the messages of a topic, as a running endpoint has them, as JSON lines or CSV."""
    if as_json and form not in (None, _FORMATS[0]):
        raise click.UsageError(f"--json is --format {_FORMATS[0]}: --format {form} is another")
    first_place, end_place = _place("--from", first, StartPlace()), _place("--to", end, StartPlace(end=True))
    wanted = frozenset(_queue_id(text) for text in queues)
    from rocketwire.cli.message.reading import TopicReader

    report = CountedWarnings()
    count = 0
    with TopicReader(endpoint, topic, report) as reader:
        ranges = {}
        for queue in reader.queues(wanted):
            there = reader.offsets(queue)
            ranges[queue] = range(first_place.in_queue(reader, queue, there), end_place.in_queue(reader, queue, there))
        with _output(output) as file:
            write = FORMATS[form or _FORMATS[0]](file)
            for queue, offsets in ranges.items():
                for found in reader.read(queue, offsets):
                    write(json_object(found.one, report, broker=found.broker))
                    count += 1
    if output is not None or count == 0:
        warn(f"{count_of(count, 'message')} of {topic} exported")
    return INCOMPLETE if report.count else 0


def _place(option: str, text: str | None, default: StartPlace) -> StartPlace:
    return default if text is None else start(option, text)


def _queue_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS):
        raise CommandError(f"--queue {text}: a whole number is needed, 0 or more")
    return int(text)


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[IO[bytes]]:
    if path is None:
        yield sys.stdout.buffer
        return
    try:
        with Path(path).open("wb") as file:
            yield file
    except OSError as error:
        raise CommandError(f"--output {path}: it cannot be written: {error.strerror}") from error
