"""`rocketwire topic route`: where a topic's queues are."""

from __future__ import annotations

from typing import Any

import click

from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import TOPIC


@click.command("route", cls=OnlineCommand, epilog="Example: rocketwire topic route Orders")
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@json_option
@online
def command(endpoint: ClusterAccess, *, topic: str, as_json: bool) -> int:
    """Print what the name server tells clients about TOPIC: its brokers, their addresses, queues and permission."""
    from rocketwire.cli.found import topic_route
    from rocketwire.cli.output import json_line
    from rocketwire.cli.table import TableColumn, print_table
    from rocketwire.cli.topic.shown import permission

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
