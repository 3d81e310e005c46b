"""A group's offsets on one broker: reading, committing, resetting and copying them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import ResetOffsetBody
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.group import CloneGroupOffsetRequestHeader
from rocketwire.wire.headers.offset import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rocketwire.wire.headers.online import ResetOffsetRequestHeader

_FOUND: Final = (ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND)
_RESET: Final = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
END: Final = -1
"""The time that stands for the end of every queue."""


def committed_offset(
    broker: BlockingConnection, group: str, topic: str, queues: Iterable[int]
) -> dict[int, int | None]:
    """The committed offset of each of these queues (14); None where there is none.

    A broker of 4.x answers 0 for a queue without one whose messages are all in memory.
    """
    numbers = list(queues)
    requests = (
        QueryConsumerOffsetRequestHeader(
            consumer_group=group, topic=topic, queue_id=number, set_zero_if_not_found=False
        )
        for number in numbers
    )
    answers = broker.ask_all(RequestCode.QUERY_CONSUMER_OFFSET, requests, fine=_FOUND)
    return {
        number: decode_ext(QueryConsumerOffsetResponseHeader, answer.ext).offset
        if answer.code == ResponseCode.SUCCESS
        else None
        for number, answer in zip(numbers, answers, strict=True)
    }


def end_offsets(broker: BlockingConnection, topic: str, queues: Iterable[int]) -> dict[int, tuple[int, int]]:
    """The offset of the first message of each of these queues (31), and that of the next one (30)."""
    numbers = list(queues)
    low = broker.ask_all(
        RequestCode.GET_MIN_OFFSET, (GetMinOffsetRequestHeader(topic=topic, queue_id=number) for number in numbers)
    )
    begins = [decode_ext(GetMinOffsetResponseHeader, answer.ext).offset for answer in low]
    high = broker.ask_all(
        RequestCode.GET_MAX_OFFSET, (GetMaxOffsetRequestHeader(topic=topic, queue_id=number) for number in numbers)
    )
    return {
        number: (begin, decode_ext(GetMaxOffsetResponseHeader, answer.ext).offset)
        for number, begin, answer in zip(numbers, begins, high, strict=True)
    }


def offsets_at(broker: BlockingConnection, topic: str, queues: Iterable[int], timestamp: int) -> dict[int, int]:
    """The offset of each of these queues at a time in ms (29)."""
    numbers = list(queues)
    requests = (SearchOffsetRequestHeader(topic=topic, queue_id=number, timestamp=timestamp) for number in numbers)
    answers = broker.ask_all(RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, requests)
    return {
        number: decode_ext(SearchOffsetResponseHeader, answer.ext).offset
        for number, answer in zip(numbers, answers, strict=True)
    }


def commit_offset(broker: BlockingConnection, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    """Commit an offset for each of these queues (15), as a member would."""
    requests = (
        UpdateConsumerOffsetRequestHeader(consumer_group=group, topic=topic, queue_id=number, commit_offset=offset)
        for number, offset in offsets.items()
    )
    for _ in broker.ask_all(RequestCode.UPDATE_CONSUMER_OFFSET, requests):
        pass


def reset_to_time(broker: BlockingConnection, group: str, topic: str, timestamp: int) -> dict[int, int] | None:
    """Have the members of a group continue at a time in ms, forward or back (222).

    Returns:
        The new offsets by queue; None where no member is on line, and the broker leaves the change to the caller.
    """
    return _reset(broker, ResetOffsetRequestHeader(topic=topic, group=group, timestamp=timestamp, is_force=True))


def reset_queue(
    broker: BlockingConnection, group: str, topic: str, queue_id: int, offset: int
) -> dict[int, int] | None:
    """The same for one queue and an offset, which brokers of 4.x cannot do."""
    fields = ResetOffsetRequestHeader(
        topic=topic, group=group, timestamp=END, is_force=True, queue_id=queue_id, offset=offset
    )
    return _reset(broker, fields)


def _reset(broker: BlockingConnection, fields: ResetOffsetRequestHeader) -> dict[int, int] | None:
    answer = broker.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields, fine=_RESET)
    if answer.code != ResponseCode.SUCCESS:
        return None
    table = decode_body(ResetOffsetBody, answer.body, lenient_limit=None, most_entries=None).offset_table
    return {queue.queue_id: offset for queue, offset in table.items()}


def clone_offsets(broker: BlockingConnection, source: str, target: str, topic: str | None) -> None:
    """Give a group the offsets of another one (314): in one topic, or in all that the source has offsets of.

    While the source has members, topics that they do not subscribe to are skipped.
    """
    fields = CloneGroupOffsetRequestHeader(src_group=source, dest_group=target, topic=topic)
    broker.ask(RequestCode.CLONE_GROUP_OFFSET, fields)
