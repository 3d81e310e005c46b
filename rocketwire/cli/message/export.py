"""`rocketwire message export`: write the messages of a topic of a running endpoint to a file or a pipe."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from rocketwire.cli.ending import DAMAGED, ended
from rocketwire.cli.mistake import Mistake, Unsuccessful
from rocketwire.cli.name_server import add_name_server, connected
from rocketwire.cli.output import count_of, warn
from rocketwire.cli.times import parsed

if TYPE_CHECKING:
    from rocketwire.cli.message.pulls import Queue
    from rocketwire.cli.serve import Commands
    from rocketwire.remoting.cluster import Cluster
    from rocketwire.store.archive.read.scan import Trouble

_EPILOG = """\
--from is inclusive, --to is not; a number of up to 10 digits is a queue offset, all else a time of storing: ISO 8601,
in UTC if it names no zone, or ms since 1970. Queues come one after the other, each up to where it ended at the start.
No group's offsets are asked for or moved. Exit code: 0; 1 when there is no such topic, or something could not be read
(stderr says what); 2 for a wrong option; 3 when the endpoint is unreachable. docs/command-line.md tells more."""
_FORMATS: Final = ("jsonl", "csv")
_OFFSET_DIGITS: Final = 10


def add_parser(commands: Commands) -> None:
    """Add `export` to the commands."""
    parser = commands.add_parser(
        "export",
        help="write the messages of a topic as JSON lines or CSV",
        description="Write the messages of a topic, as a running endpoint has them, as JSON lines or CSV.",
        epilog=_EPILOG,
    )
    parser.add_argument("--topic", metavar="T", required=True, help="of this topic")
    parser.add_argument("--queue", metavar="N", action="append", dest="queues", help="of this queue; repeatable")
    parser.add_argument("--from", metavar="OFFSET|TIME", dest="first", help="from this offset or time on")
    parser.add_argument("--to", metavar="OFFSET|TIME", dest="end", help="before this offset or time")
    parser.add_argument("--format", choices=_FORMATS, default=_FORMATS[0], help="jsonl (the default) or csv")
    parser.add_argument("--output", metavar="FILE", help="into this file (default: stdout)")
    add_name_server(parser)
    parser.set_defaults(run=ended(_export))


def _export(options: argparse.Namespace) -> int:
    first, end = (_bound(*each) for each in (("--from", options.first), ("--to", options.end)))
    wanted = None if options.queues is None else frozenset(_queue_id(text) for text in options.queues)
    from rocketwire.cli.message.formats import FORMATS
    from rocketwire.cli.shown_message import json_object

    complaints = 0

    def report(trouble: Trouble | str) -> None:
        nonlocal complaints
        complaints += 1
        warn(str(trouble))

    count = 0
    with connected(options) as cluster:
        ranges = [(queue, _range(queue, first, end)) for queue in _queues(cluster, options.topic, wanted)]
        with _output(options.output) as output:
            write = FORMATS[options.format](output)
            for queue, offsets in ranges:
                for one in queue.messages(offsets, report):
                    write(json_object(one, report, broker=queue.broker))
                    count += 1
    if options.output is not None or count == 0:
        warn(f"{count_of(count, 'message')} of {options.topic} exported")
    return DAMAGED if complaints else 0


def _queues(cluster: Cluster, topic: str, wanted: frozenset[int] | None) -> list[Queue]:
    """The queues to read.

    Raises:
        Unsuccessful: no broker has a requested queue.
        NoSuchTopic: there is no such topic.
    """
    from rocketwire.cli.message.pulls import Queue

    brokers = cluster.brokers_of(topic)
    queues = [
        Queue(broker, brokers[broker], topic, queue_id)
        for broker, queue_id in cluster.readable_queues(topic)
        if broker in brokers
    ]
    known = {queue.queue_id for queue in queues}
    for queue_id in sorted(wanted or ()):
        if queue_id not in known:
            raise Unsuccessful(f"--queue {queue_id}: topic {topic} has " + _listed(known))
    return [queue for queue in queues if wanted is None or queue.queue_id in wanted]


def _listed(queue_ids: set[int]) -> str:
    if not queue_ids:
        return "no queue that can be read"
    if queue_ids == {0}:
        return "the queue 0 only"
    return f"the queues {min(queue_ids)} to {max(queue_ids)}"


Bound = tuple[bool, int]
"""Whether it is a time, and the time in ms or the queue offset."""


def _bound(option: str, text: str | None) -> Bound | None:
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS:
        return False, int(text)
    return True, parsed(option, text)


def _queue_id(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS):
        raise Mistake(f"--queue {text}: a whole number is needed, 0 or more")
    return int(text)


def _range(queue: Queue, first: Bound | None, end: Bound | None) -> range:
    """The requested offsets of a queue, within those that it has now."""
    offsets = queue.offsets()

    def place(bound: Bound) -> int:
        is_time, value = bound
        found = queue.first_at(value, offsets) if is_time else value
        return min(max(found, offsets.start), offsets.stop)

    return range(
        offsets.start if first is None else place(first),
        offsets.stop if end is None else place(end),
    )


@contextlib.contextmanager
def _output(path: str | None) -> Iterator[IO[bytes]]:
    if path is None:
        yield sys.stdout.buffer
        return
    try:
        with Path(path).open("wb") as file:
            yield file
    except OSError as error:
        raise Mistake(f"--output {path}: it cannot be written: {error.strerror}") from error
