"""`rocketwire offset show`: a group's committed offsets."""

from __future__ import annotations

from typing import Any

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP, TOPIC


@click.command("show", cls=OnlineCommand, epilog="Example: rocketwire offset show orders --topic Orders")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, help="Only in this topic.")
@broker_options
@json_option
@online
def command(
    endpoint: ClusterAccess,
    *,
    group: str,
    topic: str | None,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print the committed offset of GROUP in each queue, beside the queue's first and next offset.

    `-` stands for none; brokers of 4.x say 0 in its place where the queue's messages are all in memory.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import check_group, topic_brokers
    from rocketwire.cli.offset.queues import queues_of
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.offsets import committed_offset, end_offsets

    attempts = ServerAttempts()
    rows: list[dict[str, Any]] = []
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info()) if topic is None else topic_brokers(cluster, topic, choice)
        for broker in check_group(cluster, group, brokers, attempts):
            with attempts.at(f"broker {broker.name}"):
                connection = cluster.connection(broker.address)
                for name, numbers in queues_of(connection, group, topic).items():
                    offsets = committed_offset(connection, group, name, numbers)
                    for number, (low, high) in end_offsets(connection, name, numbers).items():
                        rows.append(
                            {
                                "group": group,
                                "topic": name,
                                "broker": broker.name,
                                "queue_id": number,
                                "offset": offsets[number],
                                "min_offset": low,
                                "max_offset": high,
                            }
                        )
    if not rows and attempts.code() == 0:
        raise CommandFailed(f"group {group}: the brokers have no offsets of it")
    if as_json:
        for row in rows:
            json_line(row)
    elif rows:
        _write(rows)
    return attempts.code(found=bool(rows), what="offsets")


def _write(rows: list[dict[str, Any]]) -> None:
    from rocketwire.cli.offset.moves import offset_text
    from rocketwire.cli.table import TableColumn, print_table

    columns = (
        *(TableColumn("TOPIC", least=12), TableColumn("BROKER", least=8), TableColumn("QUEUE", right=True)),
        *(
            TableColumn("OFFSET", right=True),
            TableColumn("MIN OFFSET", right=True),
            TableColumn("MAX OFFSET", right=True),
        ),
    )
    print_table(
        columns,
        [
            (
                *(row["topic"], row["broker"], str(row["queue_id"]), offset_text(row["offset"])),
                *(str(row["min_offset"]), str(row["max_offset"])),
            )
            for row in rows
        ],
    )
