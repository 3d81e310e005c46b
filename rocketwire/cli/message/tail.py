"""`rocketwire message tail`: the last messages of a topic, those from a place on, or each new one as it comes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import CountedWarnings
from rocketwire.cli.parameter_types import GROUP, TOPIC
from rocketwire.cli.terminal import raw_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocketwire.cli.message.reading import BrokerMessage, TopicReader
    from rocketwire.cli.message.selection import CommitProgress, StartPlace
    from rocketwire.remoting.messages import Queue

_LAST: Final = 10


_EPILOG: Final = """\
\b
Examples:
  rocketwire message tail Orders -f
  rocketwire message tail Orders -n 100 --tag 'paid || sent' --json
  rocketwire message tail Orders --from 2026-01-31T09:00
"""


@online_command("tail", _EPILOG)
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@click.option("-f", "--follow", is_flag=True, help="Continue with each new message, until Ctrl-C.")
@click.option(
    "--from",
    "first",
    metavar="PLACE",
    help="From earliest, latest, a time or an offset on. [default: new messages with -f, else the last 10]",
)
@click.option("-n", "--last", metavar="N", type=click.IntRange(min=0), help="The last N messages.")
@click.option("--tag", metavar="TAGS", help="With one of these tags: A, or 'A || B'.")
@click.option("--sql", metavar="EXPR", help="Which an expression of SQL92 takes, such as 'price > 10'.")
@click.option("--key", metavar="KEY", help="With this key, or this id.")
@click.option("--queue", "queues", metavar="N", type=click.IntRange(min=0), multiple=True, help="Of this queue.")
@click.option(
    "--group",
    metavar="GROUP",
    type=GROUP,
    help="From this group's committed offsets on, where it has none from --from or the end; commits what is printed.",
)
@click.option("--count", metavar="N", type=click.IntRange(min=1), help="Stop after N messages.")
@click.option("--body", "bodies", is_flag=True, help="Print bodies only, with a line feed behind each.")
@raw_option
def command(
    endpoint: ClusterAccess,
    *,
    topic: str,
    follow: bool,
    first: str | None,
    last: int | None,
    tag: str | None,
    sql: str | None,
    key: str | None,
    queues: tuple[int, ...],
    group: str | None,
    count: int | None,
    bodies: bool,
    as_json: bool,
) -> int:
    """Print messages of a topic: time, queue/offset, tag, keys and the start of the body.

    Nothing is read or changed of any group's offsets, unless --group names one. An offset of --from counts in each
    queue; times are ISO 8601, in UTC if they name no zone, or ms since 1970. -f survives a restart of brokers, and
    notices new queues and brokers.
    """
    if tag is not None and sql is not None:
        raise CommandError("--tag and --sql: only one of them")
    if last is not None and (first is not None or group is not None):
        raise CommandError("-n: not with --from or --group")
    if bodies and as_json:
        raise CommandError("--body and --json: only one of them")
    from rocketwire.cli.message.printing import printer
    from rocketwire.cli.message.reading import TOOLS_GROUP, TopicReader
    from rocketwire.cli.message.selection import EVERYTHING, CommitProgress, MessageSelection, StartPlace, start

    if last is None and first is None and group is None:
        last = 0 if follow else _LAST
    warnings = CountedWarnings()
    put = printer(as_json=as_json, bodies=bodies, report=warnings)
    printed = 0
    with TopicReader(
        endpoint,
        topic,
        warnings,
        selection=MessageSelection(tags=tag or EVERYTHING, sql=sql, key=key),
        group=group or TOOLS_GROUP,
    ) as reader:
        tail = MessageTail(
            reader,
            frozenset(queues),
            StartPlace(end=group is not None) if first is None else start("--from", first),
            last,
            CommitProgress(reader) if group is not None else None,
        )
        try:
            for found in tail.messages(follow=follow):
                put(found)
                if follow:
                    sys.stdout.flush()
                tail.done(found)
                printed += 1
                if printed == count:
                    break
        finally:
            tail.commit()
    return INCOMPLETE if (warnings.count and not follow) or not printed else 0


@dataclass(frozen=True, slots=True)
class MessageTail:
    """What to read.

    Attributes:
        reader: Reads it.
        wanted: The numbers of the queues; empty for all.
        start: Where each queue begins.
        last: So many messages from the end of the topic; None to begin at `start`.
        progress: Commits the offsets of a group, at which reading begins; None for no group.
    """

    reader: TopicReader
    wanted: frozenset[int]
    start: StartPlace
    last: int | None
    progress: CommitProgress | None

    def messages(self, *, follow: bool) -> Iterator[BrokerMessage]:
        """The messages up to the current end of each queue; then, with `follow`, all that come.

        Raises:
            NoSuchTopic, NotReached, Refused: there is no such topic, or a broker does not answer, or refuses.
        """
        reader = self.reader
        there = {queue: reader.offsets(queue) for queue in reader.queues(self.wanted)}
        if self.last is not None:
            yield from reader.read_last(there, self.last)
        else:
            yield from reader.read_all(
                {queue: range(self._begin(queue, offsets), offsets.stop) for queue, offsets in there.items()}
            )
        if follow:
            ends = {queue: offsets.stop for queue, offsets in there.items()}
            yield from reader.follow(ends, self.wanted, self._reached)

    def _begin(self, queue: Queue, offsets: range) -> int:
        if self.progress is not None:
            offset = self.reader.committed(queue)
            if offset is not None:
                return min(max(offset, offsets.start), offsets.stop)
        return self.start.in_queue(self.reader, queue, offsets)

    def done(self, found: BrokerMessage) -> None:
        """Count a message as done, for the offsets of a group."""
        self._reached(found.queue, found.one.message.queue_offset + 1)

    def _reached(self, queue: Queue, offset: int) -> None:
        if self.progress is not None:
            self.progress.reached(queue, offset)

    def commit(self) -> None:
        """Commit the offsets, if there is a group.

        Raises:
            NotReached, NoBroker, Refused: the offsets cannot be committed.
        """
        if self.progress is not None:
            self.progress.commit()
