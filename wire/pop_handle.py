"""The handle of a popped message, and the lists in an answer from which clients make the handles of all messages.

A handle names the check point of the pop and the message's place. Clients send it back with an acknowledgement or a
change of the invisible time; gRPC's receipt handle is the same text. Its parts are joined by a blank::

    START-OFFSET POP-TIME INVISIBLE-TIME REVIVE-QUEUE KIND BROKER QUEUE-ID QUEUE-OFFSET

Each list has an item for every queue that messages were taken of, and ``;`` between them::

    startOffsetInfo   KIND QUEUE-ID START-OFFSET
    msgOffsetInfo     KIND QUEUE-ID OFFSET,OFFSET
    orderCountInfo    KIND QUEUE-ID COUNT   or   KIND qoQUEUE-ID%OFFSET COUNT
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from rocketwire.wire.errors import PopHandleInvalid
from rocketwire.wire.java import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from rocketwire.wire.names import RETRY_PREFIX, pop_retry_topic, pop_retry_topic_v2

ORDER_REVIVE_QUEUE: Final = 999
"""The revive queue in handles of messages that were popped in order: these have no check point."""
KIND_NORMAL: Final = "0"
"""The kind of the topic itself."""
KIND_RETRY: Final = "1"
"""The kind of a retry topic, in the older form of its name."""
KIND_RETRY_V2: Final = "2"
"""The kind of a retry topic in the newer form."""

_SEPARATOR: Final = " "
_ITEM_SEPARATOR: Final = ";"
_OFFSET_SEPARATOR: Final = ","
_LEAST_PARTS: Final = 6  # those that a broker needs: up to the name of the broker
_QUEUE_ID_AT: Final = 6
_OFFSET_AT: Final = 7
_ITEM_PARTS: Final = 3
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_V2_MARK: Final = "+"
_encoder: Final = msgspec.json.Encoder()


class PopHandle(NamedTuple):
    """A popped message.

    Attributes:
        start_offset: The queue offset that its check point begins at.
        pop_time: When it was popped, in ms since 1970.
        invisible_time: How long it is invisible from then on, in ms.
        revive_queue: The queue of its check point, or `ORDER_REVIVE_QUEUE`.
        kind: `KIND_NORMAL`, `KIND_RETRY` or `KIND_RETRY_V2`.
        broker: The broker's name.
        queue_id: The message's queue; -1 where a client left it out.
        offset: Its queue offset; likewise.
    """

    start_offset: int
    pop_time: int
    invisible_time: int
    revive_queue: int
    kind: str
    broker: str
    queue_id: int
    offset: int

    @property
    def text(self) -> str:
        """The handle as clients get it."""
        return _SEPARATOR.join(map(str, self))

    @property
    def due(self) -> int:
        """When the message is visible again, in ms since 1970."""
        return self.pop_time + self.invisible_time

    @property
    def in_order(self) -> bool:
        """Whether the message was popped in order."""
        return self.revive_queue == ORDER_REVIVE_QUEUE

    def topic(self, topic: str, group: str) -> str:
        """The topic that the message is in, when it was popped by a group from a topic or its retry topics."""
        return topic_for_kind(self.kind, topic, group)


def decode_pop_handle(text: str) -> PopHandle:
    """Read a handle. The parts behind the broker's name may be missing, and more may follow.

    Raises:
        PopHandleInvalid: the text is not a handle.
    """
    parts = text.rstrip(_SEPARATOR).split(_SEPARATOR)
    if len(parts) < _LEAST_PARTS:
        raise PopHandleInvalid
    start_offset, pop_time, invisible_time = (_long(part) for part in parts[:3])
    return PopHandle(
        start_offset,
        pop_time,
        invisible_time,
        _int(parts[3]),
        parts[4],
        parts[5],
        _int(parts[_QUEUE_ID_AT]) if len(parts) > _QUEUE_ID_AT else -1,
        _long(parts[_OFFSET_AT]) if len(parts) > _OFFSET_AT else -1,
    )


def _long(part: str) -> int:
    return _number(part, INT64_MIN, INT64_MAX)


def _int(part: str) -> int:
    return _number(part, INT32_MIN, INT32_MAX)


def _number(part: str, least: int, most: int) -> int:
    if _NUMBER.fullmatch(part) is None or not least <= int(part) <= most:
        raise PopHandleInvalid
    return int(part)


def topic_kind(topic: str) -> str:
    """The kind of a topic that messages are popped from."""
    if not topic.startswith(RETRY_PREFIX):
        return KIND_NORMAL
    return KIND_RETRY_V2 if _V2_MARK in topic else KIND_RETRY


def topic_for_kind(kind: str, topic: str, group: str) -> str:
    """The topic itself, or a group's retry topic for it."""
    if kind == KIND_RETRY:
        return pop_retry_topic(topic, group)
    return pop_retry_topic_v2(topic, group) if kind == KIND_RETRY_V2 else topic


class PoppedQueue(NamedTuple):
    """The messages that one pop took of one queue.

    Attributes:
        kind: Of the topic.
        queue_id: The queue.
        start_offset: The queue offset that their check point begins at.
        offsets: Their queue offsets.
    """

    kind: str
    queue_id: int
    start_offset: int
    offsets: Sequence[int]


def encode_start_offset_info(queues: Iterable[PoppedQueue]) -> str:
    """The startOffsetInfo of an answer."""
    return _ITEM_SEPARATOR.join([f"{each.kind} {each.queue_id} {each.start_offset}" for each in queues])


def encode_message_offset_info(queues: Iterable[PoppedQueue]) -> str:
    """The msgOffsetInfo of an answer."""
    return _ITEM_SEPARATOR.join(
        [f"{each.kind} {each.queue_id} {_encoder.encode(list(each.offsets))[1:-1].decode()}" for each in queues]
    )


def decode_popped_queues(start_offsets: str, message_offsets: str) -> list[PoppedQueue]:
    """Read both lists of an answer.

    Raises:
        PopHandleInvalid: they are not such lists, or are not about the same queues.
    """
    starts = {(kind, queue): _long(start) for kind, queue, start in _items(start_offsets)}
    found: list[PoppedQueue] = []
    for kind, queue, offsets in _items(message_offsets):
        start = starts.pop((kind, queue), None)
        if start is None:
            raise PopHandleInvalid
        found.append(PoppedQueue(kind, _int(queue), start, [_long(each) for each in offsets.split(_OFFSET_SEPARATOR)]))
    if starts:
        raise PopHandleInvalid
    return found


class OrderCount(NamedTuple):
    """How often messages were consumed that are popped in order.

    Attributes:
        kind: Of the topic.
        queue_id: The queue.
        offset: Of the message; None: the number is that of all messages of the queue that are not named.
        times: How often.
    """

    kind: str
    queue_id: int
    offset: int | None
    times: int


def encode_order_count_info(counts: Iterable[OrderCount]) -> str:
    """The orderCountInfo of an answer."""
    return _ITEM_SEPARATOR.join(
        [
            f"{each.kind} {each.queue_id if each.offset is None else f'qo{each.queue_id}%{each.offset}'} {each.times}"
            for each in counts
        ]
    )


def decode_order_counts(text: str) -> list[OrderCount]:
    """Read the orderCountInfo of an answer.

    Raises:
        PopHandleInvalid: it is not one.
    """
    found: list[OrderCount] = []
    for kind, place, count in _items(text):
        if place.startswith("qo"):
            queue, _, offset = place[2:].partition("%")
            found.append(OrderCount(kind, _int(queue), _long(offset), _int(count)))
        else:
            found.append(OrderCount(kind, _int(place), None, _int(count)))
    return found


def _items(text: str) -> list[list[str]]:
    items = [item.split(_SEPARATOR) for item in text.split(_ITEM_SEPARATOR)] if text else []
    if any(len(item) != _ITEM_PARTS for item in items):
        raise PopHandleInvalid
    return items
