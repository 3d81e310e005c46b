"""`rocketwire message import`: send the messages of a file that `message export` wrote."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.parameter_types import TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocketwire.cli.message.targets import OutgoingMessage

_STDIN: Final = "-"
_BATCH: Final = 64


_EPILOG: Final = """\
\b
Examples:
  rocketwire message import orders.jsonl --topic Copy
  rocketwire message export --topic Orders | rocketwire message import -
"""


@online_command("import", _EPILOG)
@click.argument("file")
@click.option("--topic", metavar="T", type=TOPIC, help="To this topic. [default: the topic that each message names]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    show_default=True,
    help="What the file has: JSON lines, or CSV.",
)
@click.option("--rate", "pace", metavar="N/s", help="No more than N messages a second; also N/m and N/h.")
@click.option("--quiet", is_flag=True, help="Do not print stored messages.")
def command(
    endpoint: ClusterAccess, *, file: str, topic: str | None, form: str, pace: str | None, quiet: bool, as_json: bool
) -> int:
    """Send the messages of a FILE that `message export` wrote, or of stdin if it is -.

    Bodies, tags, keys, properties, flags and ids (unique keys) are kept. Each message goes to the queue of its number,
    modulo the number of queues, and messages of a queue keep their order. Times, offsets and offset message ids are
    new; delays and retries of the original do not count again. The topics must exist.
    """
    from rocketwire.cli.message.incoming import paced, rate
    from rocketwire.cli.message.results import SendResultPrinter
    from rocketwire.cli.message.sending import MessageSender

    per_second = None if pace is None else rate("--rate", pace)
    results = SendResultPrinter(as_json=as_json, quiet=quiet)
    with _opened(file) as source, endpoint.connected() as cluster:
        messages = _csv(source, topic, file) if form == "csv" else _json(source, topic, file)
        sender = MessageSender(cluster, batch=_BATCH, ordered=True, say=results.warn)
        return results.run(sender, messages if per_second is None else paced(messages, per_second))


def _opened(name: str) -> IO[bytes]:
    if name == _STDIN:
        # Not closed at the end: it is not ours.
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False)) if _is_real() else _copied()
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise CommandError(f"{name}: it cannot be read: {error.strerror}") from error


def _is_real() -> bool:
    try:
        sys.stdin.fileno()
    except (OSError, AttributeError):
        return False
    return True


def _copied() -> IO[bytes]:
    return io.BytesIO(sys.stdin.buffer.read())


def _json(source: IO[bytes], topic: str | None, file: str) -> Iterator[OutgoingMessage | None]:
    from rocketwire.cli.message.incoming import from_json, lines

    number = 0
    for line in lines(source):
        number += line is not None
        if line is None:
            yield None
        elif line.strip():
            yield from_json(line, topic, f"{file}, line {number}")


def _csv(source: IO[bytes], topic: str | None, file: str) -> Iterator[OutgoingMessage | None]:
    from rocketwire.cli.message.incoming import from_csv

    with io.TextIOWrapper(source, "utf-8", newline="") as text:
        try:
            yield from from_csv(text, topic, file)
        except UnicodeDecodeError as error:
            raise CommandError(f"{file}: not UTF-8: {error}") from error
