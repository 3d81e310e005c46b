"""`rocketwire message show`: one message by its id."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.message.reading import BrokerMessage
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import CountedWarnings, json_line
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.shown_message import body_of, json_object
from rocketwire.cli.table import clean, print_facts
from rocketwire.cli.terminal import raw_option
from rocketwire.cli.times import shown
from rocketwire.cli.trace.query import messages_of, viewed

if TYPE_CHECKING:
    from rocketwire.remoting.cluster import BlockingCluster


def found_by_id(cluster: BlockingCluster, message_id: str, topic: str | None) -> BrokerMessage:
    """The message with an id; of several with a unique key the newest.

    Raises:
        Unsuccessful: there is none, or the id is a unique key and no topic is given.
        NotReached, Refused: a broker does not answer, or refuses.
    """
    if topic is not None:
        stored = messages_of(cluster, topic, message_id)
        if stored:
            newest = max(stored, key=lambda each: each.found.message.store_timestamp)
            return BrokerMessage(newest.broker, newest.found)
    found = viewed(cluster, message_id)
    if found is None:
        raise CommandFailed(
            f"{message_id}: no broker has such an offset message id; of a unique key --topic has to be named"
            if topic is None
            else f"{message_id}: there is no such message of {topic}"
        )
    return BrokerMessage(found.broker, found.found)


def print_message(found: BrokerMessage, report: Callable[[object], None]) -> None:
    """Print all of a message for people."""
    one, names = found.one, json_object(found.one, report, broker=found.broker)
    message = one.message
    facts = [
        ("message", one.message_id),
        ("stored as", one.offset_message_id),
        ("topic", message.topic),
        ("place", f"broker {found.broker}, queue {message.queue_id}, offset {message.queue_offset}"),
        ("tag", one.tags or "-"),
        ("keys", " ".join(one.keys) or "-"),
        ("born", f"{shown(message.born_timestamp)} UTC at {names['born_host']}"),
        ("stored", f"{shown(message.store_timestamp)} UTC at {names['store_host']}, {one.size} bytes"),
        ("tries before", str(message.reconsume_times)),
    ]
    facts += [("property", f"{name} = {value}") for name, value in sorted(one.properties.items())]
    print_facts((title, clean(text)) for title, text in facts)
    print()
    if names["body"] is not None:
        print(names["body"])
    else:
        body = body_of(one, report)
        print(f"{len(message.body if body is None else body)} bytes, in base64: {names['body_base64']}")


_EPILOG: Final = """\
\b
Examples:
  rocketwire message show 7F00000100002A9F0000000000000000
  rocketwire message show 7F00000140255C38AE17332254A0000A --topic Orders
"""


@online_command("show", _EPILOG)
@click.argument("message_id", metavar="ID")
@click.option("--topic", metavar="T", type=TOPIC, help="The message's topic; needed if the id is a unique key.")
@click.option("--body", "only_body", is_flag=True, help="Print the body only.")
@raw_option
def command(endpoint: ClusterAccess, *, message_id: str, topic: str | None, only_body: bool, as_json: bool) -> int:
    """Print the message with an id, with its properties and its body.

    ID is an offset message id, which contains the message's place, or a unique key, which its producer gave; a send
    returns both. A unique key is looked up in the index of the brokers that have the topic.
    """
    if only_body and as_json:
        raise CommandError("--body and --json: only one of them")

    report = CountedWarnings()
    with endpoint.connected() as cluster:
        found = found_by_id(cluster, message_id, topic)
    if only_body:
        body = body_of(found.one, report)
        sys.stdout.buffer.write(found.one.message.body if body is None else body)
    elif as_json:
        json_line(json_object(found.one, report, broker=found.broker))
    else:
        print_message(found, report)
    return 0
