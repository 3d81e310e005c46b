"""`rocketwire group show|members`: a group's configuration, its members and the queues that each has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_group, unknown_group
from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line
from rocketwire.cli.parameter_types import GROUP
from rocketwire.cli.table import TableColumn, print_rows, print_table, yes_or_no

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.remoting.cluster import BlockingCluster
    from rocketwire.wire.bodies.client import MessageQueue, SubscriptionData
    from rocketwire.wire.bodies.group import SubscriptionGroupConfig
    from rocketwire.wire.bodies.online import ClientConnection


def configuration(broker: RegisteredBroker, config: SubscriptionGroupConfig) -> dict[str, Any]:
    """A group's configuration on one broker, as `--json` prints it."""
    return {
        "cluster": broker.cluster,
        "broker": broker.name,
        "address": broker.address,
        "consume_enable": config.consume_enable,
        "broadcast_enable": config.consume_broadcast_enable,
        "from_min_enable": config.consume_from_min_enable,
        "orderly": bool(config.consume_message_orderly),
        "retry_queues": config.retry_queue_nums,
        "max_retries": config.retry_max_times,
        "attributes": dict(config.attributes or {}),
    }


_MEMBER_COLUMNS: Final = (
    TableColumn("CLIENT", of="client_id", least=16),
    TableColumn("ADDRESS", of="address", least=15),
    TableColumn("LANGUAGE", of="language", spare=1),
    TableColumn("VERSION", of="version", spare=2),
)


def member(client: ClientConnection) -> dict[str, Any]:
    """A member, as `--json` prints it."""
    from rocketwire.wire.facts.codes import version_name

    return {
        "client_id": client.client_id,
        "address": client.client_addr,
        "language": client.language or "",
        "version": version_name(client.version),
    }


def subscription(one: SubscriptionData) -> dict[str, Any]:
    """A subscription, as `--json` prints it."""
    return {
        "topic": one.topic,
        "expression": one.sub_string,
        "expression_type": one.expression_type,
        "version": one.sub_version,
    }


def write_configurations(group: str, rows: list[dict[str, Any]], *, as_json: bool = False) -> None:
    """Print a table of configurations, or JSON."""
    columns = (
        TableColumn("GROUP", of="group", least=12),
        TableColumn("CLUSTER", of="cluster", spare=1),
        TableColumn("BROKER", of="broker", least=10),
        TableColumn("CONSUME", of=lambda row: yes_or_no(row["consume_enable"])),
        TableColumn("BROADCAST", of=lambda row: yes_or_no(row["broadcast_enable"])),
        TableColumn("RETRY QUEUES", of="retry_queues", right=True),
        TableColumn("MAX RETRIES", of="max_retries", right=True),
        TableColumn("ATTRIBUTES", of=_attributes, spare=2),
    )
    print_rows([{"group": group, **row} for row in rows], columns, as_json=as_json)


def _attributes(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(row["attributes"].items()))


@dataclass(slots=True)
class QueueOwners:
    """The members of a group by client id, and the queues of those that report them."""

    clients: dict[str, ClientConnection] = field(default_factory=dict)
    queues: dict[str, tuple[MessageQueue, ...]] = field(default_factory=dict)

    @property
    def owners(self) -> dict[MessageQueue, str]:
        """The client id of each queue's owner."""
        return {queue: client_id for client_id, queues in self.queues.items() for queue in queues}


def find_members(
    cluster: BlockingCluster, group: str, brokers: Iterable[RegisteredBroker], attempts: ServerAttempts
) -> QueueOwners:
    """The members that are connected to brokers; the queues of each are queried once, through a broker."""
    from rocketwire.remoting.admin.groups import consumer_connections, running_info

    found = QueueOwners()
    for broker in brokers:
        with attempts.at(f"broker {broker.name}"):
            connection = cluster.connection(broker.address)
            connected = consumer_connections(connection, group)
            for client in () if connected is None else connected.connection_set:
                found.clients.setdefault(client.client_id, client)
                if client.client_id not in found.queues:
                    with attempts.at(f"member {client.client_id}"):
                        queues = running_info(connection, group, client.client_id).mq_table
                        found.queues[client.client_id] = tuple(sorted(queues, key=_place))
    return found


def _place(queue: MessageQueue) -> tuple[str, str, int]:
    return queue.topic, queue.broker_name, queue.queue_id


@online_command("show", "Example: rocketwire group show orders")
@click.argument("group", metavar="GROUP", type=GROUP)
@broker_options
def show_command(endpoint: ClusterAccess, *, group: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the configuration of GROUP on each broker, its members, and its subscriptions as the brokers know them."""
    from rocketwire.remoting.admin.groups import consumer_connections, group_configs

    attempts = ServerAttempts()
    known: set[str] = set()
    configurations: list[dict[str, Any]] = []
    members: dict[str, dict[str, Any]] = {}
    subscriptions: dict[str, dict[str, Any]] = {}
    ways = {"consume_type": None, "message_model": None, "consume_from_where": None}
    with endpoint.connected() as cluster:
        for broker in choice.of(cluster.info()):
            with attempts.at(f"broker {broker.name}"):
                connection = cluster.connection(broker.address)
                configs = group_configs(connection)
                known.update(configs)
                if group in configs:
                    configurations.append(configuration(broker, configs[group]))
                connected = consumer_connections(connection, group)
                if connected is not None:
                    members.update((each.client_id, member(each)) for each in connected.connection_set)
                    subscriptions.update(
                        (topic, subscription(each)) for topic, each in connected.subscription_table.items()
                    )
                    ways = {name: getattr(connected, name) for name in ways}
    if not configurations and not members:
        if attempts.done:
            raise unknown_group(group, known)
        return attempts.code()
    found = {
        "group": group,
        "brokers": configurations,
        "members": [members[name] for name in sorted(members)],
        "subscriptions": [subscriptions[topic] for topic in sorted(subscriptions)],
        **ways,
    }
    if as_json:
        json_line(found)
    else:
        _print_group(found)
    return attempts.code()


def _print_group(found: dict[str, Any]) -> None:
    write_configurations(found["group"], found["brokers"])
    print()
    if not found["members"]:
        print("no member is on line")
        return
    print(f"{found['consume_type']}, {found['message_model']}, {found['consume_from_where']}")
    print()
    print_rows(found["members"], _MEMBER_COLUMNS, as_json=False)
    print()
    subscriptions = (
        TableColumn("TOPIC", of="topic", least=12),
        TableColumn("SUBSCRIPTION", of="expression", least=12),
        TableColumn("TYPE", of="expression_type"),
    )
    print_table(subscriptions, [[column.cell(each) for column in subscriptions] for each in found["subscriptions"]])


@online_command("members", "Example: rocketwire group members orders")
@click.argument("group", metavar="GROUP", type=GROUP)
@broker_options
def members_command(endpoint: ClusterAccess, *, group: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the members of GROUP that are on line: address, language, version, and the queues that each consumes.

    The queues of each member are queried through a broker.
    """
    attempts = ServerAttempts()
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info())
        members = find_members(cluster, group, brokers, attempts)
        if not members.clients:
            if attempts.code() == 0:
                check_group(cluster, group, brokers, attempts)
                raise CommandFailed(f"group {group}: no member is on line")
            return attempts.code()
    _print_members(group, members, as_json=as_json)
    return attempts.code()


def _print_members(group: str, members: QueueOwners, *, as_json: bool) -> None:
    rows = []
    for client_id, client in sorted(members.clients.items()):
        queues = members.queues.get(client_id)
        reported = (
            None
            if queues is None
            else [{"topic": each.topic, "broker": each.broker_name, "queue_id": each.queue_id} for each in queues]
        )
        rows.append({"group": group, **member(client), "queues": reported})
    queues_column = TableColumn("QUEUES", of=lambda row: _queues_text(row["queues"]), least=16)
    print_rows(rows, (*_MEMBER_COLUMNS, queues_column), as_json=as_json)


def _queues_text(queues: list[dict[str, str | int]] | None) -> str:
    """Queues as `Orders broker-a 0,1; Orders broker-b 0`; a question mark where the member does not report them."""
    if queues is None:
        return "?"
    by_place: dict[str, list[str]] = {}
    for each in queues:
        by_place.setdefault(f"{each['topic']} {each['broker']}", []).append(str(each["queue_id"]))
    return "; ".join(f"{place} {','.join(numbers)}" for place, numbers in by_place.items())
