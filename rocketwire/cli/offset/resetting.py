"""Setting a group back or forward on one broker, with members on line or without.

Members that are on line hold their offsets themselves, and would overwrite what is committed for them: the broker sends
them the new offsets (222, and 220 to each). Without members the broker gets the request as well: it knows the delivered
messages of a queue. A broker of 4.x does nothing then, and the new offsets are committed as a member would (15).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.offset.reset import ResetPoint, ResetTarget
from rocketwire.cli.offset.show import OffsetMove

if TYPE_CHECKING:
    from rocketwire.remoting.connection import BlockingConnection
    from rocketwire.wire.bodies.online import ConsumerConnection


def planned(
    broker: BlockingConnection, name: str, *, group: str, topic: str, queues: Sequence[int], target: ResetTarget
) -> list[OffsetMove]:
    """The change in each queue of a broker that a reset would make.

    Raises:
        Unsuccessful: a queue does not have the offset that is wanted.
    """
    from rocketwire.remoting.admin.offsets import committed_offset, end_offsets, offsets_at

    before = committed_offset(broker, group, topic, queues)
    found = end_offsets(broker, topic, queues)
    at = offsets_at(broker, topic, queues, target.value) if target.where is ResetPoint.TIME else {}
    moves = []
    for number in queues:
        low, high = found[number]
        if target.where is ResetPoint.OFFSET and not low <= target.value <= high:
            raise CommandFailed(f"queue {number} has the offsets {low} to {high}, not {target.value}")
        after = {
            ResetPoint.EARLIEST: low,
            ResetPoint.LATEST: high,
            ResetPoint.OFFSET: target.value,
            ResetPoint.TIME: min(max(at.get(number, low), low), high),
        }[target.where]
        moves.append(
            OffsetMove(group=group, topic=topic, broker=name, queue_id=number, before=before[number], after=after)
        )
    return moves


def done(
    broker: BlockingConnection, moves: Sequence[OffsetMove], *, target: ResetTarget, whole: bool
) -> tuple[list[OffsetMove], int]:
    """Make the changes that were planned on a broker; `whole`: they are about all queues of the topic.

    Returns:
        The changes as the broker reports them, and the number of members that it has notified.

    Raises:
        Unsuccessful: the members are on line, and cannot be notified.
    """
    from rocketwire.remoting.admin.groups import consumer_connections
    from rocketwire.remoting.admin.offsets import commit_offset

    if not moves:
        return [], 0
    group, topic = moves[0].group, moves[0].topic
    connected = consumer_connections(broker, group)
    if connected is not None:
        new = _notify_members(broker, connected, moves, target=target, whole=whole)
        if new is not None:
            return [_moved(each, new[each.queue_id]) for each in moves if each.queue_id in new], len(
                connected.connection_set
            )
    new = _set_by_broker(broker, moves, target=target, whole=whole)
    left = {each.queue_id: each.after for each in moves if each.after is not None and each.queue_id not in new}
    commit_offset(broker, group, topic, left)
    return [_moved(each, new.get(each.queue_id, each.after)) for each in moves], 0


def _set_by_broker(
    broker: BlockingConnection, moves: Sequence[OffsetMove], *, target: ResetTarget, whole: bool
) -> dict[int, int]:
    """Have the broker set a group without members; the offsets of the queues where it did."""
    from rocketwire.remoting.errors import Refused

    try:
        takes = _takes(broker, target=target, whole=whole)
        return (_reset(broker, moves, target=target, whole=whole) if takes else None) or {}
    except Refused:  # the account may not, or the group has no offset yet
        return {}


def _moved(move: OffsetMove, after: int | None) -> OffsetMove:
    from dataclasses import replace

    return replace(move, after=after)


def _notify_members(
    broker: BlockingConnection,
    connected: ConsumerConnection,
    moves: Sequence[OffsetMove],
    *,
    target: ResetTarget,
    whole: bool,
) -> dict[int, int] | None:
    """Have the broker notify the members; None if the last of them has just left."""
    from rocketwire.remoting.errors import AccessDenied, Refused
    from rocketwire.wire.bodies.client import MessageModel

    group = moves[0].group
    if connected.message_model is MessageModel.BROADCASTING:
        raise CommandFailed(f"the members of group {group} consume by broadcasting, and keep their offsets themselves")
    try:
        if not _takes(broker, target=target, whole=whole):
            raise CommandFailed(
                f"members of group {group} are on line, and this broker sets them to a time in all queues only; "
                "stop them, or name a time"
            )
        return _reset(broker, moves, target=target, whole=whole)
    except AccessDenied:
        raise
    except Refused as error:
        hint = "; members may not have committed an offset of each queue yet" if error.code == 1 else ""
        raise CommandFailed(f"{error}{hint}") from error


def _reset(
    broker: BlockingConnection, moves: Sequence[OffsetMove], *, target: ResetTarget, whole: bool
) -> dict[int, int] | None:
    """Have the broker set a group to a time in all queues, or an offset in each (222); None: it leaves that to us."""
    from rocketwire.remoting.admin.offsets import reset_queue, reset_to_time

    group, topic = moves[0].group, moves[0].topic
    if whole and target.where is not ResetPoint.OFFSET:
        return reset_to_time(broker, group, topic, target.timestamp)
    new: dict[int, int] = {}
    for each in moves:
        answer = reset_queue(broker, group, topic, each.queue_id, each.after or 0)
        if answer is None:
            return None
        new |= answer
    return new


def _takes(broker: BlockingConnection, *, target: ResetTarget, whole: bool) -> bool:
    """Whether a broker can set a group to a target: every one takes a time for all queues."""
    return (whole and target.where is not ResetPoint.OFFSET) or _takes_queues(broker)


def _takes_queues(broker: BlockingConnection) -> bool:
    """Whether a broker can reset a single queue, and to an offset: 4.x and some of 5.x take times only."""
    from rocketwire.remoting.admin.brokers import configuration
    from rocketwire.remoting.admin.topics import knows_attributes
    from rocketwire.server.config.java_properties import parse_java_properties

    by_broker = parse_java_properties(configuration(broker)).get("useServerSideResetOffset")
    return knows_attributes(broker) if by_broker is None else by_broker == "true"
