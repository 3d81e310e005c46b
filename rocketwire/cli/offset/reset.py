"""`rocketwire offset reset|skip`: set a group back or forward in a topic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import click

from rocketwire.cli.attempts import ServerAttempts
from rocketwire.cli.brokers import BrokerChoice, broker_options, check_group, master, topic_brokers, topic_route
from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.online import ClusterAccess, online_command
from rocketwire.cli.output import count_of, warn
from rocketwire.cli.parameter_types import GROUP, TOPIC
from rocketwire.cli.times import TIME_FORMS, parsed

_OFFSET_DIGITS: Final = 10
"""A number of more digits is a time in ms."""


class ResetPoint(StrEnum):
    """What kind of place it is."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIME = "time"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetTarget:
    """A place in queues; `value` is the time in ms or the offset."""

    where: ResetPoint
    value: int = 0

    @property
    def timestamp(self) -> int:
        """The time that stands for the place in a request: -1 is the end, 0 is before every message."""
        return -1 if self.where is ResetPoint.LATEST else self.value


def reset_target(text: str) -> ResetTarget:
    """The place that an option names.

    Raises:
        Mistake: it is none.
    """
    if text in (ResetPoint.EARLIEST, ResetPoint.LATEST):
        return ResetTarget(where=ResetPoint(text))
    if text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS:
        return ResetTarget(where=ResetPoint.OFFSET, value=int(text))
    expected = f"earliest, latest, an offset of at most {_OFFSET_DIGITS} digits, {TIME_FORMS}"
    return ResetTarget(where=ResetPoint.TIME, value=parsed("--to", text, expected=expected))


_EPILOG: Final = (
    "Members that are on line continue at the new offsets within some 10 seconds. Brokers of 4.x send them "
    "a time only; for an offset or a single queue stop the members. Example: rocketwire offset reset orders --topic "
    "Orders --to 2026-01-31T09:30:00+01:00 --dry-run"
)


@online_command("reset", _EPILOG)
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
def reset_command(
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
    return reset(
        endpoint,
        group,
        topic,
        reset_target(to),
        queue=queue,
        dry_run=dry_run,
        choice=choice,
        as_json=as_json,
    )


@online_command("skip", "Example: rocketwire offset skip orders --topic Orders --dry-run")
@click.argument("group", metavar="GROUP", type=GROUP)
@click.option("--topic", metavar="TOPIC", type=TOPIC, required=True, help="In this topic.")
@click.option("--dry-run", is_flag=True, help="Only print what would be changed.")
@broker_options
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
    reset_target: ResetTarget,
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
    from rocketwire.cli.offset.resetting import done, planned
    from rocketwire.cli.offset.show import OffsetMove
    from rocketwire.cli.offset.show import print_moves as write

    attempts = ServerAttempts()
    moves: list[OffsetMove] = []
    notified = 0
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
                found = planned(connection, broker.name, group=group, topic=topic, queues=numbers, target=reset_target)
                if not dry_run:
                    found, members = done(connection, found, target=reset_target, whole=queue is None)
                    notified = max(notified, members)
                    left = sorted({*numbers} - {each.queue_id for each in found})
                    if left:
                        names = ", ".join(map(str, left))
                        attempts.fail(f"broker {broker.name}: not reset, as nobody writes there: queue {names}")
                moves += found
    if not moves and attempts.code() == 0:
        raise CommandFailed(f"topic {topic}: it has no queue {queue}")
    write(moves, as_json=as_json)
    if notified:
        warn(f"group {group}: told {count_of(notified, 'member')} to go on at the new offsets, within some 10 seconds")
    return attempts.code(found=bool(moves))
