"""Whether a delivery that a handle names is open: its check point is in the store, and nothing ended it early.

Each change of the invisible time writes a new check point, so a second one with the same handle, or one with a handle
that a client made up, would make a second copy of the message. Nothing has to be kept for that: check points and
acknowledgements, and a change writes both, have keys that name the delivery, and the index of the store finds them,
after a restart or a kill too. The latest changes are known in memory, which is faster and does not need the index.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.records import AHEAD
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.errors import PopRecordInvalid, RecordInvalid
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_handle import PopHandle
from rocketwire.wire.pop_records import BATCH_ACK_OFFSET, Ack, CheckPoint, decode_ack, decode_check_point

_KEPT: Final = 16_384
"""Changes in memory."""
_MOST_RECORDS: Final = 32
"""Records of one key that are read. A pop takes no more messages, so its client writes no more acknowledgements."""
_CLOCK_BACK_MS: Final = 3_600_000
"""A record may be so much older than its pop time: the clock was set back between."""


class UnorderedDeliveries:
    """The deliveries of one broker that are not in order.

    Args:
        store: Its store.
        revive_topic: The name of the revive topic.
        indexed: Whether the store has an index. Without one only the latest changes are known.
    """

    def __init__(self, store: StoreProtocol, revive_topic: str, *, indexed: bool) -> None:
        self._store = store
        self._revive_topic = revive_topic
        self._indexed = indexed
        self._changed: OrderedDict[tuple[PopQueue, int, int], None] = OrderedDict()

    def note_change(self, queue: PopQueue, offset: int, pop_time: int) -> None:
        """Note that the invisible time of a message was changed that was popped at a time, in ms since 1970."""
        self._changed[queue, offset, pop_time] = None
        if len(self._changed) > _KEPT:
            self._changed.popitem(last=False)

    def is_outstanding(self, queue: PopQueue, handle: PopHandle, offset: int, now: int) -> bool:
        """Whether a message is out by a handle: not acknowledged, not changed, and not visible again."""
        if handle.due <= now or (queue, offset, handle.pop_time) in self._changed:
            return False
        if not self._indexed:
            return True
        return self._was_popped(queue, handle, offset, now) and not self._was_acked(queue, handle, offset, now)

    def _was_popped(self, queue: PopQueue, handle: PopHandle, offset: int, now: int) -> bool:
        wanted = CheckPoint(**_check_point_of(queue, handle))
        key = wanted.key(handle.broker)
        # One that is due within a second goes to the revive topic at once.
        topics = (TIMER_TOPIC, self._revive_topic) if handle.invisible_time <= AHEAD else (TIMER_TOPIC,)
        for each in topics:
            for body in self._bodies(each, wanted.unique_key, handle, now):
                try:
                    point = decode_check_point(body)
                except PopRecordInvalid:  # of another message whose key has the same hash
                    continue
                if point.key(handle.broker) == key and offset in point.offsets:
                    return True
        return False

    def _was_acked(self, queue: PopQueue, handle: PopHandle, offset: int, now: int) -> bool:
        """Whether a message was acknowledged, by a change as well, alone or together with others."""
        for named in (offset, BATCH_ACK_OFFSET):
            wanted = Ack(**_check_point_of(queue, handle), offset=named)
            key = wanted.key(handle.broker)
            for body in self._bodies(TIMER_TOPIC, wanted.unique_key, handle, now):
                try:
                    ack = decode_ack(body)
                except PopRecordInvalid:
                    continue
                if ack.key(handle.broker) == key and offset in ack.acked_offsets:
                    return True
        return False

    def _bodies(self, topic: str, key: str, handle: PopHandle, now: int) -> Iterator[memoryview]:
        """The bodies of records with a key, since the pop."""
        begin = handle.pop_time - _CLOCK_BACK_MS
        for record in self._store.query(topic, key, _MOST_RECORDS, begin, now + _CLOCK_BACK_MS).records:
            try:
                yield stored_message(record).body
            except RecordInvalid:
                continue


def _check_point_of(queue: PopQueue, handle: PopHandle) -> dict[str, Any]:
    """What a check point and its acknowledgements have in common, by the names of their attributes."""
    return {
        "topic": queue.topic,
        "group": queue.group,
        "queue_id": queue.queue_id,
        "start_offset": handle.start_offset,
        "pop_time": handle.pop_time,
        "broker": handle.broker,
    }
