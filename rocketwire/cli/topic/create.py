"""`rocketwire topic create`: create a topic."""

from __future__ import annotations

from typing import Any, Final

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.topic.settings import topic_settings

_QUEUES: Final = 8
_EPILOG: Final = (
    "Without options a topic gets 8 queues on every broker of the cluster. Example: rocketwire topic create Orders "
    "--queues 16 --message-type FIFO"
)


@click.command("create", cls=OnlineCommand, epilog=_EPILOG)
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
    """Create TOPIC on the brokers of a cluster. A broker that has it already keeps it as it is, which is an error."""
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import master
    from rocketwire.cli.errors import CommandError, CommandFailed
    from rocketwire.cli.topic.order import keep_order
    from rocketwire.cli.topic.settings import TopicSettings
    from rocketwire.cli.topic.shown import Row, write
    from rocketwire.remoting.admin.topics import put_topic, topic_config
    from rocketwire.wire.bodies.topic import TopicConfig
    from rocketwire.wire.names import topic_name_error

    if problem := topic_name_error(topic):
        raise CommandError(f"topic {topic}: {problem}")
    wanted = TopicSettings(**settings)
    config = wanted.applied(TopicConfig(topic_name=topic, read_queue_nums=_QUEUES, write_queue_nums=_QUEUES))
    attempts = ServerAttempts()
    created: list[Row] = []
    with endpoint.connected() as cluster:
        for broker in choice.of_one_cluster(cluster.info()):
            with attempts.at(f"broker {broker.name}"):
                connection = master(cluster, broker)
                wanted.check(connection)
                if topic_config(connection, topic) is not None:
                    raise CommandFailed(f"topic {topic} exists; rocketwire topic alter changes it")
                put_topic(connection, config, message_type=wanted.message_type)
                created.append((broker, config))
        if created and config.order:
            keep_order(cluster, attempts, created)
    if created:
        write(created, json=as_json)
    return attempts.code()
