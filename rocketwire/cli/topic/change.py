"""`rocketwire topic create|alter|delete`, and the order configuration of a topic, which name servers keep.

An order configuration is the queues of each broker, as `broker-a:8;broker-b:8`. Clients of ordered topics then count
queues of brokers that are down too, so that keys stay with their queues. A broker takes a topic's order from what the
name server answers to its registration, so it has to register once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, master, topic_brokers
from rocketwire.cli.deletion import confirm, delete_everywhere, yes_option
from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.topic.show import PERMISSIONS

if TYPE_CHECKING:
    from rocketwire.cli.topic.show import Row
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.remoting.connection import BlockingConnection
    from rocketwire.wire.bodies.topic import TopicConfig


_TYPES: Final = ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED", "UNSPECIFIED")
_OPTIONS: Final = (
    click.option("--queues", metavar="N", type=click.IntRange(min=1), help="Queues to read and to write."),
    click.option("--read-queues", metavar="N", type=click.IntRange(min=1), help="Queues that consumers read."),
    click.option("--write-queues", metavar="N", type=click.IntRange(min=1), help="Queues that producers write."),
    click.option(
        "--perm",
        type=click.Choice(list(PERMISSIONS), case_sensitive=False),
        help="What clients may do: read, write or both; also as RocketMQ's number.",
    ),
    click.option(
        "--order/--no-order",
        "order",
        default=None,
        help="Whether keys stay with their queues while a broker is down: name servers keep the queues of each.",
    ),
    click.option(
        "--message-type",
        metavar="TYPE",
        type=click.Choice(_TYPES, case_sensitive=False),
        help=f"The messages that the topic takes: {', '.join(_TYPES)}. Brokers of 4.x do not know it.",
    ),
)


class TopicSettings(NamedTuple):
    """The values of the options; None is left unchanged."""

    queues: int | None
    read_queues: int | None
    write_queues: int | None
    perm: str | None
    order: bool | None
    message_type: str | None

    def applied(self, config: TopicConfig) -> TopicConfig:
        """A configuration with these changes."""
        attributes = config.attributes
        if self.message_type is not None:
            attributes = {**(attributes or {}), "message.type": self.message_type}
        return replace(
            config,
            read_queue_nums=self.read_queues or self.queues or config.read_queue_nums,
            write_queue_nums=self.write_queues or self.queues or config.write_queue_nums,
            perm=config.perm if self.perm is None else PERMISSIONS[self.perm],
            order=config.order if self.order is None else self.order,
            attributes=attributes,
        )

    def check(self, broker: BlockingConnection) -> None:
        """Raise Unsuccessful if a broker does not know what the options set."""
        from rocketwire.remoting.admin.topics import knows_attributes

        if self.message_type is not None and not knows_attributes(broker):
            raise CommandFailed("it does not know message types; nothing is changed there")


def topic_settings(function: Any) -> Any:  # noqa: ANN401 - of click's decorators
    """Add the options of a topic's configuration to a command, with an argument for each field of `TopicSettings`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def keep_order(cluster: BlockingCluster, attempts: ServerAttempts, rows: Sequence[Row]) -> None:
    """Enter a topic's queues of some brokers, or remove them where it has no order; then have the brokers register."""
    from rocketwire.remoting.admin.topics import put_topic

    queues = {broker.name: config.write_queue_nums if config.order else None for broker, config in rows}
    enter_queues(cluster, attempts, rows[0][1].topic_name, queues)
    for broker, config in rows:
        with attempts.at(f"broker {broker.name}"):
            put_topic(cluster.connection(broker.address), config)


def enter_queues(
    cluster: BlockingCluster, attempts: ServerAttempts, topic: str, queues: Mapping[str, int | None]
) -> None:
    """Enter a topic's queues of some brokers at every name server; None removes a broker."""
    from rocketwire.remoting.admin.name_servers import ORDER_NAMESPACE, delete_key_value, key_value, put_key_value

    for address in cluster.name_servers:
        with attempts.at(f"name server {address}"):
            server = cluster.name_server(address)
            former = key_value(server, ORDER_NAMESPACE, topic)
            text = merged(former or "", queues)
            if text == (former or ""):
                continue
            if text:
                put_key_value(server, ORDER_NAMESPACE, topic, text)
            else:
                delete_key_value(server, ORDER_NAMESPACE, topic)


def merged(text: str, queues: Mapping[str, int | None]) -> str:
    """An order configuration with the queues of some brokers changed; None removes a broker."""
    entries = dict(each.rpartition(":")[::2] for each in text.split(";") if each)
    for broker, number in queues.items():
        if number is None:
            entries.pop(broker, None)
        else:
            entries[broker] = str(number)
    return ";".join(f"{broker}:{number}" for broker, number in entries.items())


_QUEUES: Final = 8
_EPILOG: Final = (
    "Without options a topic gets 8 queues on every broker of the cluster. Example: rocketwire topic create Orders "
    "--queues 16 --message-type FIFO"
)


@online_command("create", _EPILOG)
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@topic_settings
@broker_options
def create_command(
    endpoint: ClusterAccess,
    /,
    *,
    topic: str,
    choice: BrokerChoice,
    as_json: bool,
    **settings: Any,  # noqa: ANN401 - of `TopicSettings`
) -> int:
    """Create TOPIC on the brokers of a cluster. A broker that has it already keeps it as it is, which is an error."""
    from rocketwire.cli.topic.show import print_topics as write
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


@online_command("alter", "Example: rocketwire topic alter Orders --perm R --broker broker-a")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@topic_settings
@broker_options
def alter_command(
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
    from rocketwire.cli.topic.show import print_topics as write
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


@online_command("delete", "Example: rocketwire topic delete Orders --yes")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
@yes_option
def delete_command(
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
    from rocketwire.cli.deletion import print_deleted as write

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
