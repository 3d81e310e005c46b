"""`rocketwire topic list|show|route|stats`: what is known of topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.errors import INCOMPLETE, CommandError
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import json_line, warn_empty
from rocketwire.cli.parameter_types import TOPIC
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
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table

    if json:
        for row in rows:
            json_line(topic_object(*row))
        return
    columns = (
        TableColumn("TOPIC", least=12),
        TableColumn("CLUSTER", spare=1),
        TableColumn("BROKER", least=10),
        TableColumn("READ QUEUES", right=True),
        TableColumn("WRITE QUEUES", right=True),
        TableColumn("PERM"),
        TableColumn("ORDER", spare=2),
        TableColumn("MESSAGE TYPE", spare=3),
        TableColumn("ATTRIBUTES", spare=1),
    )
    print_table(columns, [_cells(*row) for row in rows])


def _cells(broker: RegisteredBroker, config: TopicConfig) -> tuple[str, ...]:
    attributes = config.attributes or {}
    return (
        config.topic_name,
        broker.cluster,
        broker.name,
        str(config.read_queue_nums),
        str(config.write_queue_nums),
        permission(config.perm),
        "yes" if config.order else "no",
        attributes.get(_MESSAGE_TYPE, ""),
        ", ".join(f"{name}={value}" for name, value in sorted(attributes.items()) if name != _MESSAGE_TYPE),
    )


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
    from rocketwire.cli.brokers import check_cluster
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
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import topic_brokers
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
    """Print what the name server tells clients about TOPIC: its brokers, their addresses, queues and permission."""
    from rocketwire.cli.found import topic_route
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table

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
    if as_json:
        for row in rows:
            json_line(row)
        return 0
    columns = (
        *(TableColumn("CLUSTER", spare=1), TableColumn("BROKER", least=10), TableColumn("ADDRESSES BY ID", least=20)),
        *(TableColumn("READ QUEUES", right=True), TableColumn("WRITE QUEUES", right=True), TableColumn("PERM")),
    )
    print_table(
        columns,
        [
            (
                row["cluster"],
                row["broker"],
                ", ".join(f"{i}={text}" for i, text in row["addresses"].items()),
                str(row["read_queues"]),
                str(row["write_queues"]),
                row["permission"],
            )
            for row in rows
        ],
    )
    if route.order_topic_conf:
        print(f"order configuration: {route.order_topic_conf}")
    return 0


@online_command("stats", "Example: rocketwire topic stats Orders")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@broker_options
def stats_command(endpoint: ClusterAccess, *, topic: str, choice: BrokerChoice, as_json: bool) -> int:
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
