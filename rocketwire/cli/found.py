"""Looking up what a command names; what is not there is told with the nearest name that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rocketwire.cli.errors import CommandFailed

if TYPE_CHECKING:
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import BrokerChoice
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.wire.bodies.route import TopicRouteData


def topic_route(cluster: BlockingCluster, topic: str) -> TopicRouteData:
    """The route of a topic.

    Raises:
        Unsuccessful: the name server knows no such topic.
    """
    from rocketwire.remoting.errors import NoSuchTopic
    from rocketwire.server.config.nearest import suggestion

    try:
        return cluster.route(topic)
    except NoSuchTopic as error:
        raise CommandFailed(f"{error}{suggestion(topic, cluster.topics())}") from None


def topic_brokers(cluster: BlockingCluster, topic: str, choice: BrokerChoice) -> list[RegisteredBroker]:
    """The brokers that have a topic and that the options name.

    Raises:
        Unsuccessful: the name server knows no such topic, or none of these brokers has it.
    """
    from rocketwire.remoting.admin.brokers import brokers_of, masters_only

    route = topic_route(cluster, topic)
    info = cluster.info()
    choice.of(info)
    found = masters_only(choice.only(brokers_of(route.broker_datas, info)))
    if not found:
        raise CommandFailed(f"topic {topic}: these brokers do not have it")
    return found


def check_group(
    cluster: BlockingCluster, group: str, brokers: Sequence[RegisteredBroker], attempts: ServerAttempts
) -> list[RegisteredBroker]:
    """Make sure that one of the brokers knows a group: has members or offsets of it, or its configuration.

    The configurations are the last to be asked for, as that may need an administrator's account.

    Returns:
        The brokers without those that did not answer.

    Raises:
        Unsuccessful: none knows it, of those that answer.
    """
    from rocketwire.remoting.admin.groups import consumer_connections, group_configs, progress

    known: set[str] = set()
    answered = False
    for broker in brokers:
        with attempts.at(f"broker {broker.name}"):
            connection = cluster.connection(broker.address)
            if consumer_connections(connection, group) or progress(connection, group).offset_table:
                break
            known.update(group_configs(connection))
            if group in known:
                break
            answered = True
    else:
        if answered:
            raise unknown_group(group, known)
    return attempts.left(brokers)


def unknown_group(group: str, known: Iterable[str]) -> CommandFailed:
    """The error for a group that no broker knows."""
    from rocketwire.server.config.nearest import suggestion

    return CommandFailed(f"group {group}: the brokers know no such group{suggestion(group, known)}")
