"""`rocketwire message query`: the messages of a topic with a key or an id, by the brokers' index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import CountedWarnings
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.times import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocketwire.cli.message.reading import BrokerMessage
    from rocketwire.remoting.cluster import BlockingCluster

_LIMIT: Final = 64


_EPILOG: Final = """\
\b
Examples:
  rocketwire message query Orders --key 4711
  rocketwire message query Orders --id 7F00000140255C38AE17332254A0000A --json
"""


@online_command("query", _EPILOG)
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@click.option("--key", metavar="KEY", help="With this key.")
@click.option("--id", "message_id", metavar="ID", help="With this id, which the producer gave (the unique key).")
@click.option("--from", "first", metavar="TIME", help="Stored at or after this time.")
@click.option("--to", "end", metavar="TIME", help="Stored before this time.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=_LIMIT,
    show_default=True,
    help="The most messages of each broker, whose maxMsgsNumBatch may be less.",
)
def command(
    endpoint: ClusterAccess,
    *,
    topic: str,
    key: str | None,
    message_id: str | None,
    first: str | None,
    end: str | None,
    limit: int,
    as_json: bool,
) -> int:
    """Print the messages of a topic with a key or an id, as `message tail` does, the oldest first.

    Brokers find them in their index, which is some moments behind; they return the newest ones up to the limit.
    Times are ISO 8601, in UTC if they name no zone, or ms since 1970.
    """
    if (key is None) == (message_id is None):
        raise CommandError("one of --key and --id is needed")
    from rocketwire.cli.message.printing import printer

    times = (
        0 if first is None else parsed("--from", first),
        None if end is None else parsed("--to", end),
    )
    report = CountedWarnings()
    put = printer(as_json=as_json, bodies=False, report=report)
    with endpoint.connected() as cluster:
        found = sorted(
            _indexed(cluster, topic, key or message_id or "", times, limit, unique=key is None),
            key=lambda each: each.one.message.store_timestamp,
        )
    if not found:
        named = f"the key {key}" if message_id is None else f"the id {message_id}"
        raise CommandFailed(f"topic {topic} has no message with {named}" + (" of that time" if first or end else ""))
    for each in found:
        put(each)
    return INCOMPLETE if report.count else 0


def _indexed(
    cluster: BlockingCluster, topic: str, key: str, times: tuple[int, int | None], limit: int, *, unique: bool
) -> Iterator[BrokerMessage]:
    """The messages that the brokers of the topic find in their index."""
    from rocketwire.cli.message.reading import BrokerMessage
    from rocketwire.cli.trace.query import indexed
    from rocketwire.wire.java import INT64_MAX

    first, end = times
    last = INT64_MAX if end is None else end - 1
    for broker, connection in cluster.brokers_of(topic).items():
        for one in indexed(connection, topic, key, unique=unique, most=limit, first=first, last=last):
            yield BrokerMessage(broker, one)
