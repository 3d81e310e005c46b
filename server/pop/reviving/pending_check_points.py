"""Joins the check points of one revive queue with their acknowledgements.

Check points come a second before their messages are visible again, so only few are in memory, however many messages are
out. An acknowledgement without its check point is of messages that were redelivered already, and counts for nothing.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Final

import msgspec

from rocketwire.wire.pop_records import Ack, CheckPoint, CheckPointKey

NONE: Final = -1
"""The offset of a queue of which no check point is done."""


class PendingCheckPoint(msgspec.Struct, order=True, kw_only=True, gc=False):
    """A check point that is not done; the order is that in which they are due.

    The garbage collector skips it: it would stop the event loop for 7 ms with each 10,000 that are read.

    Attributes:
        due: When it is to be decided, in ms since 1970: once its messages are visible again, or a while later.
        offset: Its queue offset in the revive topic.
        point: The check point.
        place: A physical offset before which its messages stand in the log.
        unacked: The queue offsets of the messages that are not acknowledged, in their order.
        done: Whether nothing remains to be done for it.
    """

    due: int
    offset: int
    point: CheckPoint
    place: int
    unacked: dict[int, None]
    done: bool = False


class PendingCheckPoints:
    """The check points of one revive queue.

    Attributes:
        committed: The queue offset of the last check point before which all are done, itself included.
        read_to: The queue offset of the next record to read.
        seen: The latest time of delivery of the records that were read, in ms since 1970.
    """

    def __init__(self, committed: int, broker: str) -> None:
        """Begin behind a check point that is done; records that name no broker are of this one."""
        self.committed = committed
        self.read_to = committed + 1
        self.seen = 0
        self._broker = broker
        self._by_key: dict[CheckPointKey, PendingCheckPoint] = {}
        self._order: deque[PendingCheckPoint] = deque()
        self._due: list[PendingCheckPoint] = []

    def __len__(self) -> int:
        return len(self._order)

    @property
    def next_due(self) -> int | None:
        """When the first messages are visible again, in ms since 1970."""
        return self._due[0].due if self._due else None

    def add(self, point: CheckPoint, offset: int, place: int) -> None:
        """Add a check point that was read at a queue offset; its messages stand before a place in the log."""
        key = point.key(self._broker)
        known = self._by_key.get(key)
        # One that is renewed has the same key. One that was delivered twice stays empty: it redelivers nothing.
        twice = known is not None and known.point.invisible_time == point.invisible_time
        bits = point.bit_map
        unacked = {each: None for number, each in enumerate(point.offsets) if not (twice or bits >> number & 1)}
        pending = PendingCheckPoint(due=point.due, offset=offset, point=point, place=place, unacked=unacked)
        if not twice:
            self._by_key[key] = pending
        self._order.append(pending)
        heappush(self._due, pending)

    def ack(self, ack: Ack) -> None:
        """Note an acknowledgement."""
        pending = self._by_key.get(ack.key(self._broker))
        if pending is not None:
            for offset in ack.acked_offsets:
                pending.unacked.pop(offset, None)

    def take_due(self, until: int) -> PendingCheckPoint | None:
        """Take the next check point whose messages are visible again by a time in ms; None: there is none."""
        if not self._due or self._due[0].due > until:
            return None
        return heappop(self._due)

    def postpone(self, pending: PendingCheckPoint, until: int) -> None:
        """Have a check point that was taken come up again at a time in ms."""
        pending.due = until
        heappush(self._due, pending)

    def finish(self, pending: PendingCheckPoint) -> None:
        """Note that a check point that was taken is done."""
        pending.done = True
        pending.unacked.clear()
        key = pending.point.key(self._broker)
        if self._by_key.get(key) is pending:
            del self._by_key[key]
        order = self._order
        while order and order[0].done:
            self.committed = order.popleft().offset
