"""`rocketwire topic delete`: delete a topic."""

from __future__ import annotations

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.confirmation import yes_option
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import TOPIC


@click.command("delete", cls=OnlineCommand, epilog="Example: rocketwire topic delete Orders --yes")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
@yes_option
@json_option
@online
def command(
    endpoint: ClusterAccess,
    *,
    topic: str,
    choice: BrokerChoice,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete TOPIC with its messages and all groups' offsets in it, on each broker that has it.

    Its route and its order configuration at the name servers are deleted afterwards; the route stays if other brokers
    keep the topic or one failed.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.confirmation import confirm
    from rocketwire.cli.deletion import delete_everywhere, write
    from rocketwire.cli.found import topic_brokers
    from rocketwire.cli.topic.order import enter_queues

    attempts = ServerAttempts()
    with endpoint.connected() as cluster:
        every = topic_brokers(cluster, topic, BrokerChoice(cluster_name=None, broker_names=()))
        brokers = topic_brokers(cluster, topic, choice)
        names = ", ".join(broker.name for broker in brokers)
        confirm(f"Delete topic {topic} with its messages on {names}?", yes=yes)
        deleted = delete_everywhere(cluster, topic, brokers, attempts, route=len(brokers) == len(every))
        gone = {each.server: None for each in deleted if each.at == "broker"}
        enter_queues(cluster, attempts, topic, gone)
    write(deleted, json=as_json)
    return attempts.code()
