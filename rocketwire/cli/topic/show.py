"""`rocketwire topic list|show|route|stats`: what is known of topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_cluster, topic_brokers, topic_route
from rocketwire.cli.errors import INCOMPLETE, CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, warn_empty
from rocketwire.cli.parameter_types import TOPIC
from rocketwire.cli.table import TableColumn, print_rows, yes_or_no
from rocketwire.cli.times import shown
from rocketwire.wire.facts.codes import Permission

if TYPE_CHECKING:
    from rocketwire.remoting.admin.brokers import RegisteredBroker
    from rocketwire.wire.bodies.topic import TopicConfig


PERMISSIONS: Final = {"RW": 6, "R": 4, "W": 2, "6": 6, "4": 4, "2": 2}
"""What `--perm` takes."""
_MESSAGE_TYPE: Final = "message.type"
Row = tuple["RegisteredBroker", "TopicConfig"]


def permission(bits: int) -> str:
    """A permission as `RW`, `R`, `W` or `none`."""
    text = ("R" if bits & Permission.READ else "") + ("W" if bits & Permission.WRITE else "")
    return text or "none"


def topic_object(broker: RegisteredBroker, config: TopicConfig) -> dict[str, Any]:
    """The object that `--json` prints for a topic on one broker."""
    attributes = dict(config.attributes or {})
    return {
        "topic": config.topic_name,
        "cluster": broker.cluster,
        "broker": broker.name,
        "address": broker.address,
        "read_queues": config.read_queue_nums,
        "write_queues": config.write_queue_nums,
        "permission": permission(config.perm),
        "order": config.order,
        "message_type": attributes.get(_MESSAGE_TYPE),
        "attributes": attributes,
        "filter_type": str(config.topic_filter_type),
        "sys_flag": config.topic_sys_flag,
    }


def print_topics(rows: Iterable[Row], *, json: bool) -> None:
    """Print the configurations of topics on brokers."""
    columns = (
        TableColumn("TOPIC", of="topic", least=12),
        TableColumn("CLUSTER", of="cluster", spare=1),
        TableColumn("BROKER", of="broker", least=10),
        TableColumn("READ QUEUES", of="read_queues", right=True),
        TableColumn("WRITE QUEUES", of="write_queues", right=True),
        TableColumn("PERM", of="permission"),
        TableColumn("ORDER", of=lambda row: yes_or_no(row["order"]), spare=2),
        TableColumn("MESSAGE TYPE", of="message_type", spare=3),
        TableColumn("ATTRIBUTES", of=_other_attributes, spare=1),
    )
    print_rows([topic_object(*row) for row in rows], columns, as_json=json)


def _other_attributes(row: dict[str, Any]) -> str:
    attributes = sorted(row["attributes"].items())
    return ", ".join(f"{name}={value}" for name, value in attributes if name != _MESSAGE_TYPE)


_OWN: Final = "own"
_KINDS: Final = (_OWN, "retry", "dead-letter", "system")


@online_command("list", "Example: rocketwire topic list --kind own --kind dead-letter")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Only applications' own topics, consumer groups' retry or dead-letter topics, or RocketMQ's; repeatable. "
    "[default: own]",
)
@click.option("--all", "everything", is_flag=True, help="Topics of all kinds.")
@click.option("--cluster", "cluster_name", metavar="NAME", help="Only topics of the brokers of this cluster.")
def list_command(
    endpoint: ClusterAccess, *, kinds: tuple[str, ...], everything: bool, cluster_name: str | None, as_json: bool
) -> int:
    """Print the names of applications' topics that the name server knows; with --all those of all topics."""
    if kinds and everything:
        raise CommandError("--kind and --all: only one of them")
    from rocketwire.remoting.admin.name_servers import topics_of_cluster
    from rocketwire.remoting.admin.topics import topic_kind

    with endpoint.connected() as cluster:
        info = cluster.info()
        check_cluster(info, cluster_name)
        topics = cluster.topics() if cluster_name is None else topics_of_cluster(cluster, cluster_name)
    found = [(name, topic_kind(name, info)) for name in topics]
    wanted = _KINDS if everything else kinds or (_OWN,)
    chosen = [(name, kind) for name, kind in found if kind in wanted]
    for name, kind in chosen:
        if as_json:
            json_line({"topic": name, "kind": kind})
        else:
            print(name)
    if not chosen:
        warn_empty("topics" if everything or kinds else "topics of applications (--all: of RocketMQ, too)")
    return 0 if chosen else INCOMPLETE


@online_command("show", "Example: rocketwire topic show Orders --json")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
def show_command(endpoint: ClusterAccess, *, topic: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the configuration of TOPIC on each broker that has it: queues, permission, order and attributes."""
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
        print_topics(rows, json=as_json)
    return attempts.code(found=bool(rows), what="settings of the topic")


@online_command("route", "Example: rocketwire topic route Orders")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
def route_command(endpoint: ClusterAccess, *, topic: str, as_json: bool) -> int:
    """Print the route of TOPIC, as clients get it: its brokers, their addresses, queues and permission."""
    with endpoint.connected() as cluster:
        route = topic_route(cluster, topic)
    of_name = {each.broker_name: each for each in route.broker_datas}
    rows: list[dict[str, Any]] = []
    for queues in sorted(route.queue_datas, key=lambda each: each.broker_name):
        data = of_name.get(queues.broker_name)
        rows.append(
            {
                "topic": topic,
                "cluster": "" if data is None else data.cluster or "",
                "broker": queues.broker_name,
                "addresses": {} if data is None else {str(i): text for i, text in sorted(data.broker_addrs.items())},
                "read_queues": queues.read_queue_nums,
                "write_queues": queues.write_queue_nums,
                "permission": permission(queues.perm),
                "order_configuration": route.order_topic_conf,
            }
        )
    columns = (
        TableColumn("CLUSTER", of="cluster", spare=1),
        TableColumn("BROKER", of="broker", least=10),
        TableColumn("ADDRESSES BY ID", of=_addresses_by_id, least=20),
        TableColumn("READ QUEUES", of="read_queues", right=True),
        TableColumn("WRITE QUEUES", of="write_queues", right=True),
        TableColumn("PERM", of="permission"),
    )
    print_rows(rows, columns, as_json=as_json)
    if route.order_topic_conf and not as_json:
        print(f"order configuration: {route.order_topic_conf}")
    return 0


def _addresses_by_id(row: dict[str, Any]) -> str:
    return ", ".join(f"{i}={text}" for i, text in row["addresses"].items())


@online_command("stats", "Example: rocketwire topic stats Orders")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
def stats_command(endpoint: ClusterAccess, *, topic: str, choice: BrokerChoice, as_json: bool) -> int:
    """Print the first and the next offset of each queue of TOPIC, and when its last message was stored."""
    from rocketwire.remoting.admin.topics import queue_ends

    attempts = ServerAttempts()
    rows: list[dict[str, Any]] = []
    with endpoint.connected() as cluster:
        for broker in topic_brokers(cluster, topic, choice):
            with attempts.at(f"broker {broker.name}"):
                ends = queue_ends(cluster.connection(broker.address), topic)
                if ends is None:
                    raise CommandFailed(f"topic {topic} is in its route, but it does not have it")
                rows += [
                    {
                        "topic": topic,
                        "broker": broker.name,
                        "queue_id": number,
                        "min_offset": each.min_offset,
                        "max_offset": each.max_offset,
                        "last_update": each.last_update_timestamp or None,
                    }
                    for number, each in ends.items()
                ]
    columns = (
        TableColumn("BROKER", of="broker", least=10),
        TableColumn("QUEUE", of="queue_id", right=True),
        TableColumn("MIN OFFSET", of="min_offset", right=True),
        TableColumn("MAX OFFSET", of="max_offset", right=True),
        TableColumn("MESSAGES", of=lambda row: row["max_offset"] - row["min_offset"], right=True),
        TableColumn("LAST UPDATE (UTC)", of=lambda row: shown(row["last_update"]), time=True),
    )
    print_rows(rows, columns, as_json=as_json)
    return attempts.code(found=bool(rows), what="queues")
