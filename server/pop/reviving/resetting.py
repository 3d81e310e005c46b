"""Setting a group that pops to another offset: the broker has its offsets, and knows what it has of a queue.

A reset moves the offset, and cancels what is out of the messages from there on: they come by the new offset, and not a
second time when their invisible time is up. In order, the queue gives messages again at once. Messages before the new
offset that are out stay so: their client may fail, and they are redelivered then.

Check points wait in the timer, where those of a group cannot be found. So a reset is noted with the end of the commit
log at that moment, and the reviver drops what check points before that place have of it. Handles of before are without
effect: acknowledging them moves no offset, and changing their time does nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import InThread, in_batches
from rocketwire.server.offsets.consumed import commit_offset
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.pop.offset_resets import OffsetReset, OffsetResetTable

log = logging.getLogger(__name__)

MOST_RESETS: Final = 200_000
_MOST_POPPING: Final = 200_000
_MARGIN_MS: Final = 24 * 60 * 60 * 1000
"""By so much clocks may differ from the longest time that messages are out."""


class OffsetResetter:
    """The resets of one broker.

    Args:
        table: Those that were made.
        offsets: The groups' offsets.
        store: The store.
        clock: Gives the time in ms since 1970.
        timer_keys: For how long messages may be out.
        wake: Called when queues give messages that they did not give before.

    Attributes:
        release: Forgets what is out of a queue in order, and notes that it gives messages.
        is_ordered: Whether a group has popped a topic in order, before the start, too.
    """

    def __init__(
        self,
        table: OffsetResetTable,
        offsets: OffsetTable,
        *,
        store: StoreProtocol,
        clock: Clock,
        timer_keys: LiveGroup[TimerKeys],
        wake: Callable[[], None],
    ) -> None:
        self._table = table
        self._offsets = offsets
        self._store = store
        self._clock = clock
        self._timer_keys = timer_keys
        self._popping: dict[tuple[str, str], None] = {}
        self._wake = wake
        self.release: Callable[[PopQueue], None] = lambda _: None
        self.is_ordered: Callable[[str, str], bool] = lambda _topic, _group: False

    # --- who pops

    def note_pop(self, topic: str, group: str) -> None:
        """Note that a group pops a topic."""
        key = topic, group
        if key not in self._popping:
            if len(self._popping) >= _MOST_POPPING:
                self._popping.clear()
            self._popping[key] = None

    def has_popped(self, topic: str, group: str) -> bool:
        """Whether a group has popped a topic since the start, or in order before it."""
        return (topic, group) in self._popping or self.is_ordered(topic, group)

    # --- a reset

    def reset(self, group: str, topic: str, offsets: Mapping[int, int]) -> Operation[None]:
        """Set a group to the offsets of some queues, by queue id; it is on the disk then.

        Raises:
            LimitExceeded: there are too many resets, or too many offsets are kept.
            StoreNotWritable: they could not be saved.
        """
        now = self._clock()
        self._table.forget(now - self._timer_keys.current.timer_max_delay_sec * 1000 - _MARGIN_MS)
        if len(self._table) + len(offsets) > MOST_RESETS:
            raise LimitExceeded("offsetResets", MOST_RESETS)
        for part in in_batches(offsets.items()):
            for queue_id, offset in part:
                queue = PopQueue(topic, group, queue_id)
                commit_offset(self._offsets, group, topic, queue_id, offset)
                self.note(queue, offset)
                self.release(queue)
            yield None
        self._wake()
        text = self._table.encode()
        if text is not None:
            yield InThread(partial(self._table.write, text))

    def note(self, queue: PopQueue, offset: int) -> None:
        """Note that a queue's group was set to an offset now; the next save takes it to the disk."""
        reset = OffsetReset(offset=offset, place=self._store.max_physical_offset, time=self._clock())
        self._table.put(*queue, reset)

    # --- what was popped before

    def first_cancelled_offset(self, queue: PopQueue, place: int) -> int | None:
        """From which queue offset on messages of a check point come by a new offset; None: they do not.

        Args:
            queue: Their queue.
            place: A physical offset at or before which the check point was first stored.
        """
        reset = self._table.get(*queue)
        return None if reset is None or place >= reset.place else reset.offset

    def cancels(self, queue: PopQueue, offset: int, pop_time: int) -> bool:
        """Whether a message that was popped at a time, in ms since 1970, comes by a new offset."""
        reset = self._table.get(*queue)
        return reset is not None and offset >= reset.offset and pop_time < reset.time

    def repeat_since(self, time: int) -> None:
        """Set groups again to the offsets of resets from a time on: after a kill the table of offsets may be older."""
        for topic, group, queue_id, reset in self._table.all():
            if reset.time >= time:
                self._offsets.put(group, topic, queue_id, reset.offset)
