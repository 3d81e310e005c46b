"""Which brokers of an endpoint a command is about, and whether they have the topic or group that it names."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rocketwire.cli.errors import CommandError, CommandFailed

if TYPE_CHECKING:
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.remoting.connection import BlockingConnection
    from rocketwire.wire.bodies.route import ClusterInfo, TopicRouteData


def broker_options(function: Any) -> Any:  # noqa: ANN401 - of click's decorators
    """Add `--cluster` and `--broker` to a command, which gets a `BrokerChoice` as `choice`."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, cluster_name: str | None, broker_names: tuple[str, ...], **options: Any) -> Any:  # noqa: ANN401 - of click's decorators
        choice = BrokerChoice(cluster_name=cluster_name, broker_names=broker_names)
        return function(*arguments, choice=choice, **options)

    added: Any = click.option(
        "--broker", "broker_names", metavar="NAME", multiple=True, help="Only at this broker; repeatable."
    )(wrapped)
    return click.option("--cluster", "cluster_name", metavar="NAME", help="Only at the brokers of this cluster.")(added)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerChoice:
    """The brokers that the options name: all, if neither is given."""

    cluster_name: str | None
    broker_names: Sequence[str]

    def of(self, info: ClusterInfo) -> list[RegisteredBroker]:
        """Their leading addresses.

        Raises:
            Unsuccessful: there is no such cluster or broker, or none at all.
        """
        from rocketwire.remoting.admin.brokers import masters_only, registered_brokers

        self._check(info)
        found = masters_only(self.only(registered_brokers(info)))
        if not found:
            raise CommandFailed("no such broker is registered")
        return found

    def of_one_cluster(self, info: ClusterInfo) -> list[RegisteredBroker]:
        """The same for a command that creates something: where there are several clusters, one has to be named.

        Raises:
            Mistake: none is.
        """
        clusters = sorted(info.cluster_addr_table)
        if len(clusters) > 1 and not self.cluster_name and not self.broker_names:
            raise CommandError(f"there are several clusters; name one with --cluster: {', '.join(clusters)}")
        return self.of(info)

    def only(self, brokers: Iterable[RegisteredBroker]) -> list[RegisteredBroker]:
        """Those of some brokers that the options name."""
        return [
            each
            for each in brokers
            if self.cluster_name in (None, each.cluster) and (not self.broker_names or each.name in self.broker_names)
        ]

    def _check(self, info: ClusterInfo) -> None:
        check_cluster(info, self.cluster_name)
        for name in self.broker_names:
            check_broker(info, name)


def check_cluster(info: ClusterInfo, name: str | None) -> None:
    """Raise Unsuccessful if a cluster is named that does not exist."""
    if name is not None and name not in info.cluster_addr_table:
        from rocketwire.server.config.nearest import suggestion

        raise CommandFailed(f"cluster {name}: there is no such cluster{suggestion(name, info.cluster_addr_table)}")


def check_broker(info: ClusterInfo, name: str) -> None:
    """Raise Unsuccessful if no broker of that name is registered."""
    if name not in info.broker_addr_table:
        from rocketwire.server.config.nearest import suggestion

        raise CommandFailed(f"broker {name}: none is registered{suggestion(name, info.broker_addr_table)}")


def master(cluster: BlockingCluster, broker: RegisteredBroker) -> BlockingConnection:
    """The connection to a broker that is to be changed.

    Raises:
        Unsuccessful: its master is not registered; others take no changes.
        NotReached: it cannot be reached.
    """
    if not broker.is_master:
        raise CommandFailed("no master is registered, and others take no changes")
    return cluster.connection(broker.address)


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

    The configurations are queried last, as that may need an administrator's account.

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
