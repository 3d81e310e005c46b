"""`rocketwire offset clone`: give a group the offsets of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_group, master, topic_brokers
from rocketwire.cli.errors import CommandError, CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import warn
from rocketwire.cli.parameter_types import TOPIC

if TYPE_CHECKING:
    from rocketwire.cli.offset.show import OffsetMove
    from rocketwire.remoting.connection import BlockingConnection

_EPILOG: Final = (
    "Stop the members of the target first: they would overwrite the offsets. "
    "Example: rocketwire offset clone orders orders-new --topic Orders"
)


@online_command("clone", _EPILOG)
@click.argument("source")
@click.argument("target")
@click.option("--topic", metavar="TOPIC", type=TOPIC, help="Only in this topic.")
@click.option("--dry-run", is_flag=True, help="Only print what would be changed.")
@broker_options
def command(
    endpoint: ClusterAccess,
    *,
    source: str,
    target: str,
    topic: str | None,
    dry_run: bool,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Give the group TARGET the offsets of the group SOURCE, and print the target's before and after.

    While SOURCE has members, topics that they do not subscribe to any more are skipped.
    """
    from rocketwire.cli.offset.show import print_moves as write
    from rocketwire.remoting.admin.groups import consumer_connections
    from rocketwire.remoting.admin.offsets import clone_offsets
    from rocketwire.wire.names import group_name_error

    if problem := group_name_error(target):
        raise CommandError(f"group {target}: {problem}")
    attempts = ServerAttempts()
    moves: list[OffsetMove] = []
    with endpoint.connected() as cluster:
        brokers = choice.of(cluster.info()) if topic is None else topic_brokers(cluster, topic, choice)
        for broker in check_group(cluster, source, brokers, attempts):
            with attempts.at(f"broker {broker.name}"):
                connection = cluster.connection(broker.address) if dry_run else master(cluster, broker)
                found = _planned(connection, broker.name, source, target, topic)
                if not dry_run:
                    if consumer_connections(connection, target) is not None:
                        warn(f"broker {broker.name}: members of group {target} are on line, and may overwrite this")
                    clone_offsets(connection, source, target, topic)
                    found = _done(connection, found)
                moves += found
    if not moves and attempts.code() == 0:
        raise CommandFailed(f"group {source}: the brokers have no offsets of it")
    write(moves, as_json=as_json)
    return attempts.code(found=bool(moves))


def _planned(broker: BlockingConnection, name: str, source: str, target: str, topic: str | None) -> list[OffsetMove]:
    """What the target would have in the queues in which the source has an offset."""
    from rocketwire.cli.offset.show import OffsetMove, queues_of
    from rocketwire.remoting.admin.offsets import committed_offset

    moves = []
    for each, numbers in queues_of(broker, source, topic).items():
        after = committed_offset(broker, source, each, numbers)
        before = committed_offset(broker, target, each, numbers)
        moves += [
            OffsetMove(
                group=target, topic=each, broker=name, queue_id=number, before=before[number], after=after[number]
            )
            for number in numbers
            if after[number] is not None
        ]
    return moves


def _done(broker: BlockingConnection, moves: list[OffsetMove]) -> list[OffsetMove]:
    """The same with what the target has now."""
    from dataclasses import replace

    from rocketwire.remoting.admin.offsets import committed_offset

    numbers: dict[str, list[int]] = {}
    for move in moves:
        numbers.setdefault(move.topic, []).append(move.queue_id)
    now = {topic: committed_offset(broker, moves[0].group, topic, queues) for topic, queues in numbers.items()}
    return [replace(move, after=now[move.topic][move.queue_id]) for move in moves]
