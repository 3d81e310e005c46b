"""`rocketwire message show`: one message by its id."""

from __future__ import annotations

import sys
from typing import Final

import click

from rocketwire.cli.errors import CommandError
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.output import json_line, warn
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.terminal import raw_option

_EPILOG: Final = """\
\b
Examples:
  rocketwire message show 7F00000100002A9F0000000000000000
  rocketwire message show 7F00000140255C38AE17332254A0000A --topic Orders
"""


@click.command("show", cls=OnlineCommand, epilog=_EPILOG)
@click.argument("message_id", metavar="ID")
@click.option("--topic", metavar="T", type=TOPIC, help="The message's topic; needed if the id is a unique key.")
@click.option("--body", "only_body", is_flag=True, help="Print the body only.")
@raw_option
@json_option
@online
def command(endpoint: ClusterAccess, *, message_id: str, topic: str | None, only_body: bool, as_json: bool) -> int:
    """Print the message with an id, with its properties and its body.

    ID is an offset message id, which says where the message is, or a unique key, which its producer gave; a send
    returns both. A unique key is looked up in the index of the brokers that have the topic.
    """
    if only_body and as_json:
        raise CommandError("--body and --json: only one of them")
    from rocketwire.cli.message.one import found_by_id, print_message
    from rocketwire.cli.shown_message import body_of, json_object

    def report(what: object) -> None:
        warn(str(what))

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
