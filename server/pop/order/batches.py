"""The batch of a queue that a group popped in order: until when it is out, and what follows it.

It is one value, `OrderInfo`, as in config/consumerOrderInfo.json; these functions read it and make the next one. A
batch is over when each of its messages is acknowledged or its time is up; then the queue gives messages again, from the
first that was not acknowledged on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from typing import Final

from rocketwire.server.pop.ordered import PopQueue
from rocketwire.store.tables.pop.order_info import OrderInfo
from rocketwire.wire.pop_handle import OrderCount, topic_kind


def make_batch(
    former: OrderInfo | None,
    *,
    attempt_id: str | None,
    pop_time: int,
    invisible_time: int,
    offsets: Sequence[int],
    renewer: str | None = None,
) -> OrderInfo:
    """The batch that a pop made, after the former one of the queue, if there was any. Times in ms."""
    first = offsets[0]
    return OrderInfo(
        attempt_id=attempt_id,
        invisible_time=invisible_time,
        last_consume_timestamp=pop_time,
        offset_list=(first, *[each - first for each in offsets[1:]]),
        offset_consumed_count=None if former is None else _consumed(former, attempt_id, offsets),
        pop_time=pop_time,
        renewer=renewer,
    )


def _consumed(former: OrderInfo, attempt_id: str | None, offsets: Sequence[int]) -> dict[int, int]:
    """How often messages were popped before, of those that were; the same attempt does not count again."""
    counts = former.offset_consumed_count or {}
    if former.attempt_id is not None and former.attempt_id == attempt_id:
        return counts
    before = set(former.offsets)
    return {offset: counts.get(offset, 0) + 1 for offset in offsets if offset in before}


def reconsume_counts(info: OrderInfo, topic: str, queue_id: int) -> list[OrderCount]:
    """How often the messages of a batch were popped before, in the form of answers."""
    counts: Mapping[int, int] = info.offset_consumed_count or {}
    kind = topic_kind(topic)
    found = [OrderCount(kind, queue_id, offset, times) for offset, times in counts.items()]
    # Older clients read the one number for the whole queue.
    least = min(counts.values(), default=0) if len(counts) == len(info.offset_list) else 0
    return [*found, OrderCount(kind, queue_id, None, least)]


def after_ack(info: OrderInfo, offset: int) -> OrderInfo | None:
    """The batch after the acknowledgement of a message, None if that is not in it."""
    if offset not in info.offsets:
        return None
    return replace(info, commit_offset_bit=info.commit_offset_bit | 1 << info.offsets.index(offset))


def next_offset(info: OrderInfo, consumed: int = 0) -> int:
    """The queue offset of the first message that is waited for, or behind the last one; see `invisible_until`."""
    return next(_waited_for(info, consumed), max(consumed, info.offsets[-1] + 1))


def after_postponing(info: OrderInfo, offset: int, until: int) -> OrderInfo:
    """The batch when one of its messages is out until another time, in ms since 1970."""
    return replace(info, offset_next_visible_time={**(info.offset_next_visible_time or {}), offset: until})


def invisible_until(info: OrderInfo, invisible_time: int = 0, *, consumed: int = 0) -> int | None:
    """Until when the batch is out, in ms since 1970; None when all is acknowledged.

    Args:
        info: The batch.
        invisible_time: For how long messages are out whose time was not changed, in ms.
        consumed: The group's offset: messages before it are not waited for. After a kill, or when an administrator
            moved it, it may be ahead of the batch.
    """
    due = info.pop_time + (info.invisible_time or invisible_time)
    times = info.offset_next_visible_time or {}
    return max((times.get(offset, due) for offset in _waited_for(info, consumed)), default=None)


def is_held(info: OrderInfo, *, consumed: int = 0) -> bool:
    """Whether a message is waited for, and not kept until a changed time: its client is busy with it."""
    times = info.offset_next_visible_time or {}
    return any(offset not in times for offset in _waited_for(info, consumed))


def _waited_for(info: OrderInfo, consumed: int) -> Iterator[int]:
    not_acknowledged = ~info.commit_offset_bit
    return (offset for bit, offset in enumerate(info.offsets) if offset >= consumed and not_acknowledged >> bit & 1)


_FEWEST: Final = 1024
"""Entries that are out of date are dropped when there are more of all than this, and than twice those that count."""


class FreeTimes:
    """One time a queue, in ms since 1970."""

    def __init__(self) -> None:
        self._times: dict[PopQueue, int] = {}
        self._heap: list[tuple[int, PopQueue]] = []

    def __len__(self) -> int:
        return len(self._times)

    def put(self, queue: PopQueue, time: int | None) -> None:
        """Set when a queue is free; None: it is now."""
        if time is None:
            self._times.pop(queue, None)
        elif self._times.get(queue) != time:
            self._times[queue] = time
            heappush(self._heap, (time, queue))
        if len(self._heap) > max(_FEWEST, 2 * len(self._times)):
            self._heap = [(each, name) for name, each in self._times.items()]
            heapify(self._heap)

    @property
    def first(self) -> int | None:
        """The earliest time, None when all queues are free."""
        while self._heap and not self._counts(*self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: int) -> Iterator[PopQueue]:
        """Take out the queues that are free by now."""
        while (first := self.first) is not None and first <= now:
            _, queue = heappop(self._heap)
            del self._times[queue]
            yield queue

    def _counts(self, time: int, queue: PopQueue) -> bool:
        return self._times.get(queue) == time
