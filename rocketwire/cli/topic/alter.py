"""`rocketwire topic alter`: change a topic's configuration."""

from __future__ import annotations

from typing import Any

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.topic.settings import topic_settings


@click.command("alter", cls=OnlineCommand, epilog="Example: rocketwire topic alter Orders --perm R --broker broker-a")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@topic_settings
@broker_options
@json_option
@online
def command(
    endpoint: ClusterAccess,
    /,
    *,
    topic: str,
    choice: BrokerChoice,
    as_json: bool,
    **settings: Any,  # noqa: ANN401 - of `TopicSettings`
) -> int:
    """Change the configuration of TOPIC on each broker that has it. What no option names stays as it is.

    To make a topic smaller without losing messages, first lower --write-queues, and --read-queues when the queues
    beyond are consumed.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import master
    from rocketwire.cli.errors import CommandError, CommandFailed
    from rocketwire.cli.found import topic_brokers
    from rocketwire.cli.topic.order import keep_order
    from rocketwire.cli.topic.settings import TopicSettings
    from rocketwire.cli.topic.shown import Row, write
    from rocketwire.remoting.admin.topics import put_topic, topic_config

    wanted = TopicSettings(**settings)
    if not any(value is not None for value in wanted):
        raise CommandError("name what to change: --queues, --perm, --order or another option")
    attempts = ServerAttempts()
    changed: list[Row] = []
    with endpoint.connected() as cluster:
        for broker in topic_brokers(cluster, topic, choice):
            with attempts.at(f"broker {broker.name}"):
                connection = master(cluster, broker)
                wanted.check(connection)
                former = topic_config(connection, topic)
                if former is None:
                    raise CommandFailed(f"topic {topic} is in its route, but it does not have it")
                config = wanted.applied(former)
                put_topic(connection, config, message_type=wanted.message_type)
                changed.append((broker, config))
        if changed and (wanted.order is not None or any(config.order for _, config in changed)):
            keep_order(cluster, attempts, changed)
    if changed:
        write(changed, json=as_json)
    return attempts.code()
