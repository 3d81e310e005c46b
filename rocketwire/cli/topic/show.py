"""`rocketwire topic show`: a topic's configuration on each broker."""

from __future__ import annotations

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import TOPIC


@click.command("show", cls=OnlineCommand, epilog="Example: rocketwire topic show Orders --json")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
@json_option
@online
def command(endpoint: ClusterAccess, *, topic: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the configuration of TOPIC on each broker that has it: queues, permission, order and attributes."""
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import topic_brokers
    from rocketwire.cli.topic.shown import Row, write
    from rocketwire.remoting.admin.topics import topic_config

    attempts = ServerAttempts()
    rows: list[Row] = []
    with endpoint.connected() as cluster:
        for broker in topic_brokers(cluster, topic, choice):
            with attempts.at(f"broker {broker.name}"):
                config = topic_config(cluster.connection(broker.address), topic)
                if config is None:
                    raise CommandFailed(f"topic {topic} is in its route, but it does not have it")
                rows.append((broker, config))
    if rows:
        write(rows, json=as_json)
    return attempts.code(found=bool(rows), what="settings of the topic")
