"""`rocketwire topic stats`: where a topic's queues begin and end."""

from __future__ import annotations

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import TOPIC


@click.command("stats", cls=OnlineCommand, epilog="Example: rocketwire topic stats Orders")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
@json_option
@online
def command(endpoint: ClusterAccess, *, topic: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the first and the next offset of each queue of TOPIC, and when its last message was stored."""
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import topic_brokers
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table
    from rocketwire.cli.times import shown
    from rocketwire.remoting.admin.topics import queue_ends

    attempts = ServerAttempts()
    rows = []
    with endpoint.connected() as cluster:
        for broker in topic_brokers(cluster, topic, choice):
            with attempts.at(f"broker {broker.name}"):
                ends = queue_ends(cluster.connection(broker.address), topic)
                if ends is None:
                    raise CommandFailed(f"topic {topic} is in its route, but it does not have it")
                rows += [(broker.name, number, each) for number, each in ends.items()]
    if as_json:
        for name, number, each in rows:
            json_line(
                {
                    "topic": topic,
                    "broker": name,
                    "queue_id": number,
                    "min_offset": each.min_offset,
                    "max_offset": each.max_offset,
                    "last_update": each.last_update_timestamp or None,
                }
            )
    elif rows:
        columns = (
            *(TableColumn("BROKER", least=10), TableColumn("QUEUE", right=True), TableColumn("MIN OFFSET", right=True)),
            *(TableColumn("MAX OFFSET", right=True), TableColumn("MESSAGES", right=True)),
            TableColumn("LAST UPDATE (UTC)", time=True),
        )
        print_table(
            columns,
            [
                (
                    *(name, str(number), str(each.min_offset), str(each.max_offset)),
                    str(each.max_offset - each.min_offset),
                    shown(each.last_update_timestamp or None),
                )
                for name, number, each in rows
            ],
        )
    return attempts.code(found=bool(rows), what="queues")
