"""Setting a group back or forward on one broker, with members on line or without.

Members that are on line hold their offsets themselves, and would overwrite what is committed for them: the broker tells
them where to go on (222, and 220 to each). Without members the new offsets are committed as a member would (15).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocketwire.cli.mistake import Unsuccessful
from rocketwire.cli.offset.moves import Move
from rocketwire.cli.offset.target import Target, Where

if TYPE_CHECKING:
    from rocketwire.remoting.connection import Connection
    from rocketwire.wire.bodies.online import ConsumerConnection


def planned(
    broker: Connection, name: str, *, group: str, topic: str, queues: Sequence[int], target: Target
) -> list[Move]:
    """The change in each queue of a broker that a reset would make.

    Raises:
        Unsuccessful: a queue does not have the offset that is wanted.
    """
    from rocketwire.remoting.admin.offsets import committed, ends, offsets_at

    before = committed(broker, group, topic, queues)
    found = ends(broker, topic, queues)
    at = offsets_at(broker, topic, queues, target.value) if target.where is Where.TIME else {}
    moves = []
    for number in queues:
        low, high = found[number]
        if target.where is Where.OFFSET and not low <= target.value <= high:
            raise Unsuccessful(f"queue {number} has the offsets {low} to {high}, not {target.value}")
        after = {
            Where.EARLIEST: low,
            Where.LATEST: high,
            Where.OFFSET: target.value,
            Where.TIME: min(max(at.get(number, low), low), high),
        }[target.where]
        moves.append(Move(group=group, topic=topic, broker=name, queue_id=number, before=before[number], after=after))
    return moves


def done(broker: Connection, moves: Sequence[Move], *, target: Target, whole: bool) -> tuple[list[Move], int]:
    """Make the changes that were planned on a broker; `whole` says that they are about all queues of the topic.

    Returns:
        The changes as the broker tells them, and the number of members that it has told of them.

    Raises:
        Unsuccessful: the members are on line, and cannot be told.
    """
    from rocketwire.remoting.admin.groups import consumers
    from rocketwire.remoting.admin.offsets import commit

    if not moves:
        return [], 0
    group, topic = moves[0].group, moves[0].topic
    connected = consumers(broker, group)
    if connected is not None:
        new = _told(broker, connected, moves, target=target, whole=whole)
        if new is not None:
            return [_moved(each, new[each.queue_id]) for each in moves if each.queue_id in new], len(
                connected.connection_set
            )
    commit(broker, group, topic, {each.queue_id: each.after for each in moves if each.after is not None})
    return list(moves), 0


def _moved(move: Move, after: int) -> Move:
    from dataclasses import replace

    return replace(move, after=after)


def _told(
    broker: Connection, connected: ConsumerConnection, moves: Sequence[Move], *, target: Target, whole: bool
) -> dict[int, int] | None:
    """Have the broker tell the members; None if the last of them has just left."""
    from rocketwire.remoting.admin.offsets import reset_queue, reset_to_time
    from rocketwire.remoting.errors import AccessDenied, Refused
    from rocketwire.wire.bodies.client import MessageModel

    group, topic = moves[0].group, moves[0].topic
    if connected.message_model is MessageModel.BROADCASTING:
        raise Unsuccessful(f"the members of group {group} consume by broadcasting, and keep their offsets themselves")
    try:
        if whole and target.where is not Where.OFFSET:
            return reset_to_time(broker, group, topic, target.timestamp)
        if not _takes_queues(broker):
            raise Unsuccessful(
                f"members of group {group} are on line, and this broker sets them to a time in all queues only; "
                "stop them, or name a time"
            )
        new: dict[int, int] = {}
        for each in moves:
            answer = reset_queue(broker, group, topic, each.queue_id, each.after or 0)
            if answer is None:
                return None
            new |= answer
    except AccessDenied:
        raise
    except Refused as error:
        hint = "; members may not have committed an offset of each queue yet" if error.code == 1 else ""
        raise Unsuccessful(f"{error}{hint}") from error
    return new


def _takes_queues(broker: Connection) -> bool:
    """Whether a broker can reset a single queue, and to an offset: 4.x and some of 5.x take times only."""
    from rocketwire.remoting.admin.brokers import configuration
    from rocketwire.remoting.admin.topics import knows_attributes
    from rocketwire.server.config.java_properties import parse_java_properties

    by_broker = parse_java_properties(configuration(broker)).get("useServerSideResetOffset")
    return knows_attributes(broker) if by_broker is None else by_broker == "true"
