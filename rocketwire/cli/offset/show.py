"""`rocketwire offset show`: a group's committed offsets, and the offsets before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_group, topic_brokers
from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.parameter_types import GROUP, TOPIC
from rocketwire.cli.table import TableColumn, print_rows

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetMove:
    """The change in one queue; None stands for no committed offset."""

    group: str
    topic: str
    broker: str
    queue_id: int
    before: int | None
    after: int | None


def print_moves(moves: Sequence[OffsetMove], *, as_json: bool) -> None:
    """Print offsets before and after."""
    columns = (
        TableColumn("TOPIC", of=lambda move: move.topic, least=12),
        TableColumn("BROKER", of=lambda move: move.broker, least=8),
        TableColumn("QUEUE", of=lambda move: move.queue_id, right=True),
        TableColumn("BEFORE", of=lambda move: _offset_text(move.before), right=True),
        TableColumn("AFTER", of=lambda move: _offset_text(move.after), right=True),
        TableColumn("CHANGE", of=_change, right=True),
    )
    print_rows(moves, columns, as_json=as_json)


def _change(move: OffsetMove) -> str:
    return "" if move.before is None or move.after is None else f"{move.after - move.before:+d}"


def _offset_text(offset: int | None) -> object:
    return "-" if offset is None else offset


def queues_of(broker: BlockingConnection, group: str, topic: str | None) -> dict[str, list[int]]:
    """The numbers of the queues by topic: of one topic, or of all that the group has offsets in."""
    from rocketwire.remoting.admin.groups import progress

    found: dict[str, list[int]] = {}
    for queue in sorted(progress(broker, group, topic).offset_table, key=lambda each: (each.topic, each.queue_id)):
        found.setdefault(queue.topic, []).append(queue.queue_id)
    return found


@online_command("show", "Example: rocketwire offset show orders --topic Orders")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, help="Only in this topic.")
@broker_options
def command(
    endpoint: ClusterAccess,
    *,
    group: str,
    topic: str | None,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Print the committed offset of GROUP in each queue, beside the queue's first and next offset.

    `-` stands for none; brokers of 4.x report 0 in its place where the queue's messages are all in memory.
    """
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
    columns = (
        TableColumn("TOPIC", of="topic", least=12),
        TableColumn("BROKER", of="broker", least=8),
        TableColumn("QUEUE", of="queue_id", right=True),
        TableColumn("OFFSET", of=lambda row: _offset_text(row["offset"]), right=True),
        TableColumn("MIN OFFSET", of="min_offset", right=True),
        TableColumn("MAX OFFSET", of="max_offset", right=True),
    )
    print_rows(rows, columns, as_json=as_json)
    return attempts.code(found=bool(rows), what="offsets")
