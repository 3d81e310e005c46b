"""`rocketwire message tail`: the last messages of a topic, those from a place on, or each new one as it comes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import OnlineCommand, online
from rocketwire.cli.output import warn
from rocketwire.cli.parameter_types import GROUP, TOPIC
from rocketwire.cli.terminal import raw_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocketwire.cli.message.following import Follower, Place
    from rocketwire.cli.message.places import StartPlace
    from rocketwire.cli.message.pulls import PulledQueueMessages
    from rocketwire.cli.message.reading import BrokerMessage
    from rocketwire.cli.message.selection import MessageSelection
    from rocketwire.cli.online import ClusterAccess
    from rocketwire.remoting.cluster import BlockingCluster

_LAST: Final = 10


_EPILOG: Final = """\
\b
Examples:
  rocketwire message tail Orders -f
  rocketwire message tail Orders -n 100 --tag 'paid || sent' --json
  rocketwire message tail Orders --from 2026-01-31T09:00
"""


@click.command("tail", cls=OnlineCommand, epilog=_EPILOG)
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@click.option("-f", "--follow", is_flag=True, help="Go on with each new message, until Ctrl-C.")
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
@json_option
@online
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
    from rocketwire.cli.message.places import StartPlace, start
    from rocketwire.cli.message.printing import printer
    from rocketwire.cli.message.pulls import TOOLS_GROUP
    from rocketwire.cli.message.selection import EVERYTHING, MessageSelection

    if last is None and first is None and group is None:
        last = 0 if follow else _LAST
    complaints = TailWarnings()
    tail = MessageTail(
        endpoint,
        topic,
        MessageSelection(tags=tag or EVERYTHING, sql=sql, key=key),
        frozenset(queues),
        StartPlace(end=group is not None) if first is None else start("--from", first),
        last,
        group or TOOLS_GROUP,
        complaints,
        joined=group is not None,
    )
    put = printer(as_json=as_json, bodies=bodies, report=complaints.trouble)
    printed = 0
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
        tail.close()
    return INCOMPLETE if (complaints.count and not follow) or not printed else 0


class TailWarnings:
    """Prints what cannot be read on stderr, and counts it."""

    def __init__(self) -> None:
        self.count = 0

    def report(self, line: str) -> None:
        """Print a line."""
        self.count += 1
        warn(line)

    def trouble(self, what: object) -> None:
        """Print what is wrong with one message."""
        self.report(str(what))


@dataclass
class MessageTail:
    """What to read.

    Attributes:
        last: So many messages from the end of the topic; None to begin at `start`.
        joined: Whether to begin at the group's offsets and to commit.
    """

    endpoint: ClusterAccess
    topic: str
    selection: MessageSelection
    wanted: frozenset[int]
    start: StartPlace
    last: int | None
    group: str
    complaints: TailWarnings
    joined: bool = False

    def __post_init__(self) -> None:
        """Connect.

        Raises:
            NameServersInvalid, NotReached: the endpoint cannot be reached.
        """
        from rocketwire.cli.message.committing import CommitProgress

        self._cluster: BlockingCluster = self.endpoint.connected()
        self._progress = CommitProgress(self._cluster, self.topic, self.group) if self.joined else None

    def close(self) -> None:
        """Commit, if a group is joined, and close the connections.

        Raises:
            NotReached, NoBroker, Refused: the offsets cannot be committed.
        """
        with self._cluster:
            if self._progress is not None:
                self._progress.commit()

    def messages(self, *, follow: bool) -> Iterator[BrokerMessage]:
        """The messages up to the current end of each queue; then, with `follow`, all that come.

        Raises:
            NoSuchTopic, NotReached, Refused: there is no such topic, or a broker does not answer, or refuses.
        """
        from rocketwire.cli.message.following import Place
        from rocketwire.cli.message.reading import queues_of, read_all, read_last

        queues = queues_of(self._cluster, self.topic, self.wanted)
        ends = {queue: queue.offsets() for queue in queues}
        report = self.complaints.report
        if self.last is not None:
            found: Iterator[BrokerMessage] = iter(read_last(list(ends.items()), self.last, self.selection, report))
        else:
            places = [(queue, range(self._begin(queue, offsets), offsets.stop)) for queue, offsets in ends.items()]
            found = read_all(places, self.selection, report, group=self.group)
        yield from found
        if follow:
            stops = {Place(queue.broker, queue.queue_id): offsets.stop for queue, offsets in ends.items()}
            yield from self._followed(stops)

    def _begin(self, queue: PulledQueueMessages, offsets: range) -> int:
        from rocketwire.cli.message.committing import committed

        if self.joined:
            offset = committed(queue, self.group)
            if offset is not None:
                return min(max(offset, offsets.start), offsets.stop)
        return self.start.in_queue(queue, offsets)

    def done(self, found: BrokerMessage) -> None:
        """Count a message as done, for the offsets of a group."""
        if self._progress is not None:
            message = found.one.message
            self._progress.reached(found.broker, message.queue_id, message.queue_offset + 1)

    def _followed(self, starts: dict[Place, int]) -> Iterator[BrokerMessage]:
        from rocketwire.cli.message.following import Follower

        # Not counted: a lost connection is no failure of a command that goes on.
        follower = Follower(
            self.endpoint, self.topic, starts, self.selection, warn, group=self.group, wanted=self.wanted
        )
        yield from self._arriving(follower)

    def _arriving(self, follower: Follower) -> Iterator[BrokerMessage]:
        from rocketwire.cli.message.reading import BrokerMessage

        for each in follower:
            for one in each.pulled.messages:
                if self.selection.takes(one):
                    yield BrokerMessage(each.place.broker, one)
            if self._progress is not None:
                self._progress.reached(each.place.broker, each.place.queue_id, each.pulled.reached)
