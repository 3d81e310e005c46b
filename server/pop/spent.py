"""Which deliveries are over before their time: a message that was acknowledged, or whose invisible time was changed.

Each change of the invisible time writes a new check point, so a second one with the same handle would make a second
copy of the message. Nothing has to be kept for that: an acknowledgement, which a change writes as well, has a key that
names the delivery, and the index of the store finds it, after a restart or a kill too. The latest changes are known in
memory, which is faster and does not need the index.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from rocketwire.server.messages.stored_message import stored_message
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.protocol import Messages
from rocketwire.wire.errors import PopRecordInvalid, RecordInvalid
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.pop_handle import PopHandle
from rocketwire.wire.pop_records import SEVERAL, Ack, decode_ack

_KEPT: Final = 16_384
"""Deliveries in memory."""
_MOST_ACKS: Final = 32
"""Records of one key that are read. A pop takes no more messages, so its client writes no more acknowledgements."""
_CLOCK_BACK_MS: Final = 3_600_000
"""An acknowledgement may be so much older than its pop: the clock was set back between."""
_DeliveryKey = tuple[PopQueue, int, int]


class SpentHandles:
    """Tells whether the handle of a delivery that is not in order is still good.

    Args:
        store: The store that acknowledgements are in.
    """

    def __init__(self, store: Messages) -> None:
        self._store = store
        self._latest: OrderedDict[_DeliveryKey, None] = OrderedDict()

    def note(self, queue: PopQueue, offset: int, pop_time: int) -> None:
        """Note that the invisible time of a message was changed that was popped at a time, in ms since 1970."""
        self._latest[queue, offset, pop_time] = None
        if len(self._latest) > _KEPT:
            self._latest.popitem(last=False)

    def has(self, queue: PopQueue, handle: PopHandle, offset: int, now: int) -> bool:
        """Whether a message was acknowledged, or its invisible time changed, with a handle that names this delivery."""
        if (queue, offset, handle.pop_time) in self._latest:
            return True
        return self._acked(queue, handle, offset, offset, now) or self._acked(queue, handle, SEVERAL, offset, now)

    def _acked(self, queue: PopQueue, handle: PopHandle, named: int, offset: int, now: int) -> bool:
        """Whether an acknowledgement that names an offset, or several, is about a message."""
        topic, group, queue_id = queue
        point = Ack(
            topic=topic,
            group=group,
            queue_id=queue_id,
            start_offset=handle.start_offset,
            pop_time=handle.pop_time,
            broker=handle.broker,
            offset=named,
        )
        begin = handle.pop_time - _CLOCK_BACK_MS
        found = self._store.query(TIMER_TOPIC, point.unique_key, _MOST_ACKS, begin, now + _CLOCK_BACK_MS)
        key = point.key(handle.broker)
        for record in found.records:
            try:
                ack = decode_ack(stored_message(record).body)
            except (RecordInvalid, PopRecordInvalid):  # of another message whose key has the same hash
                continue
            if ack.key(handle.broker) == key and offset in ack.acked:
                return True
        return False
