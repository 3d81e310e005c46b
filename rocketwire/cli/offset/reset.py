"""`rocketwire offset reset|skip`: set a group back or forward in a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rocketwire.cli.brokers import BrokerChoice, broker_options
from rocketwire.cli.json_option import json_option
from rocketwire.cli.online import ClusterAccess, OnlineCommand, online
from rocketwire.cli.parameter_types import GROUP, TOPIC

if TYPE_CHECKING:
    from rocketwire.cli.offset.target import ResetTarget

_EPILOG: Final = (
    "Members that are on line are told, and go on at the new offsets within some 10 seconds. Brokers of 4.x tell them "
    "a time only; for an offset or a single queue stop the members. Example: rocketwire offset reset orders --topic "
    "Orders --to 2026-01-31T09:30:00+01:00 --dry-run"
)


@click.command("reset", cls=OnlineCommand, epilog=_EPILOG)
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, required=True, help="In this topic.")
@click.option(
    "--to",
    "to",
    metavar="PLACE",
    required=True,
    help="earliest, latest, an offset (a number of up to 10 digits), or the message that the broker finds for a time "
    "of storing: ISO 8601, in UTC if it names no zone, or ms since 1970.",
)
@click.option("--queue", metavar="N", type=click.IntRange(min=0), help="Only in this queue of each broker.")
@click.option("--dry-run", is_flag=True, help="Only print what would be changed.")
@broker_options
@json_option
@online
def command(
    endpoint: ClusterAccess,
    *,
    group: str,
    topic: str,
    to: str,
    queue: int | None,
    dry_run: bool,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Set GROUP back or forward in a topic, and print its offset in each queue before and after."""
    from rocketwire.cli.offset.target import target

    return reset(
        endpoint,
        group,
        topic,
        target(to),
        queue=queue,
        dry_run=dry_run,
        choice=choice,
        as_json=as_json,
    )


@click.command("skip", cls=OnlineCommand, epilog="Example: rocketwire offset skip orders --topic Orders --dry-run")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, required=True, help="In this topic.")
@click.option("--dry-run", is_flag=True, help="Only print what would be changed.")
@broker_options
@json_option
@online
def skip_command(
    endpoint: ClusterAccess,
    *,
    group: str,
    topic: str,
    dry_run: bool,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Skip all messages of a topic that GROUP has not consumed yet: the same as offset reset --to latest."""
    from rocketwire.cli.offset.target import ResetPoint, ResetTarget

    return reset(
        endpoint,
        group,
        topic,
        ResetTarget(where=ResetPoint.LATEST),
        queue=None,
        dry_run=dry_run,
        choice=choice,
        as_json=as_json,
    )


def reset(
    endpoint: ClusterAccess,
    group: str,
    topic: str,
    target: ResetTarget,
    *,
    queue: int | None,
    dry_run: bool,
    choice: BrokerChoice,
    as_json: bool,
) -> int:
    """Reset a group; the exit code.

    Raises:
        Unsuccessful: there is no such topic, queue or group.
    """
    from rocketwire.cli.attempts import ServerAttempts
    from rocketwire.cli.brokers import master
    from rocketwire.cli.errors import CommandFailed
    from rocketwire.cli.found import check_group, topic_brokers, topic_route
    from rocketwire.cli.offset.moves import OffsetMove, write
    from rocketwire.cli.offset.resetting import done, planned
    from rocketwire.cli.output import count_of, warn

    attempts = ServerAttempts()
    moves: list[OffsetMove] = []
    told = 0
    with endpoint.connected() as cluster:
        brokers = check_group(cluster, group, topic_brokers(cluster, topic, choice), attempts)
        sizes = {
            each.broker_name: max(each.read_queue_nums, each.write_queue_nums)
            for each in topic_route(cluster, topic).queue_datas
        }
        for broker in brokers:
            numbers = [each for each in range(sizes.get(broker.name, 0)) if queue in (None, each)]
            if not numbers:
                continue
            with attempts.at(f"broker {broker.name}"):
                connection = cluster.connection(broker.address) if dry_run else master(cluster, broker)
                found = planned(connection, broker.name, group=group, topic=topic, queues=numbers, target=target)
                if not dry_run:
                    found, members = done(connection, found, target=target, whole=queue is None)
                    told = max(told, members)
                    left = sorted({*numbers} - {each.queue_id for each in found})
                    if left:
                        names = ", ".join(map(str, left))
                        attempts.fail(f"broker {broker.name}: not reset, as nobody writes there: queue {names}")
                moves += found
    if not moves and attempts.code() == 0:
        raise CommandFailed(f"topic {topic}: it has no queue {queue}")
    write(moves, as_json=as_json)
    if told:
        warn(f"group {group}: told {count_of(told, 'member')} to go on at the new offsets, within some 10 seconds")
    return attempts.code(found=bool(moves))
