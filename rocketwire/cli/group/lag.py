"""`rocketwire group lag`: how far a group is behind in each queue."""

from __future__ import annotations

from typing import Any

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP, TOPIC


@click.command("lag", cls=OnlineCommand, epilog="Example: rocketwire group lag orders --topic Orders --json")
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
    """Print for each queue how far GROUP is behind: the queue's end, the group's offset, and who consumes it.

    Without --topic, these are the topics that the group has committed offsets in, its retry topic among them; of a
    group with members, only those that it subscribes to.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import check_group, topic_brokers
    from rocketwire.cli.group.owners import find_members
    from rocketwire.cli.output import json_line
    from rocketwire.remoting.admin.groups import progress

    attempts = ServerAttempts()
    rows: list[dict[str, Any]] = []
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info()) if topic is None else topic_brokers(cluster, topic, choice)
        brokers = check_group(cluster, group, brokers, attempts)
        table = {}
        for broker in brokers:
            with attempts.at(f"broker {broker.name}"):
                table.update(progress(cluster.connection(broker.address), group, topic).offset_table)
        owners = find_members(cluster, group, attempts.left(brokers), attempts).owners
    for queue in sorted(table, key=lambda each: (each.topic, each.broker_name, each.queue_id)):
        found = table[queue]
        rows.append(
            {
                "group": group,
                "topic": queue.topic,
                "broker": queue.broker_name,
                "queue_id": queue.queue_id,
                "broker_offset": found.broker_offset,
                "consumer_offset": found.consumer_offset,
                "lag": found.broker_offset - found.consumer_offset,
                "last_consumed": found.last_timestamp or None,
                "owner": owners.get(queue),
            }
        )
    if not rows and attempts.code() == 0:
        raise CommandFailed(f"group {group}: the brokers have no offsets of it")
    if as_json:
        for row in rows:
            json_line(row)
    elif rows:
        _write(rows)
    return attempts.code(found=bool(rows))


def _write(rows: list[dict[str, Any]]) -> None:
    from rocketwire.cli.output import number
    from rocketwire.cli.table import TableColumn, print_table
    from rocketwire.cli.times import shown

    columns = (
        *(TableColumn("TOPIC", least=12), TableColumn("BROKER", least=8), TableColumn("QUEUE", right=True)),
        *(
            TableColumn("BROKER OFFSET", right=True),
            TableColumn("CONSUMER OFFSET", right=True),
            TableColumn("LAG", right=True),
        ),
        *(TableColumn("LAST CONSUMED (UTC)", time=True, spare=2), TableColumn("OWNER", least=12, spare=1)),
    )
    print_table(
        columns,
        [
            (
                *(row["topic"], row["broker"], str(row["queue_id"]), str(row["broker_offset"])),
                *(str(row["consumer_offset"]), str(row["lag"]), shown(row["last_consumed"]), row["owner"] or ""),
            )
            for row in rows
        ],
    )
    print(f"lag: {number(sum(row['lag'] for row in rows))}")
