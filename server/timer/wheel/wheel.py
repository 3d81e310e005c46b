"""The near part of the wheel: the slots that are loaded ahead of time, and the progress of settling them.

It owns the common state of two stages: `enqueue_put` enters messages, `dequeue_get` reads and passes slots. All of
this is done in steps of some milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.timer.tasks import WakeSignal
from rocketwire.server.timer.topic import TimerEntries, TimerTopicReader
from rocketwire.server.timer.wheel.loaded import DueCopy, DueRun, LoadedSlot, LoadedSlots
from rocketwire.server.timer.wheel.markers import CancelMarkers, split_at_markers
from rocketwire.store.layout.timer_log import NO_COPY
from rocketwire.store.layout.timer_wheel import SLOT_COUNT
from rocketwire.store.timer.packing import free_blocked_slot
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord, TimerUnit, due_time, is_coarse, slot_of

#: Slots are read so long before they begin, in ms; two of them at least.
_AHEAD: Final = 2000
#: Slots of the wheel that are searched in one step.
_SEARCHED: Final = 1 << 12
#: Markers that are settled in one step.
_MARKERS: Final = 1024
#: The longest pause in ms while something waits, since the clock may be set meanwhile.
_LONGEST_REST: Final = 500
#: Messages that are due within this time are taken out together.
_SHORTEST_REST: Final = 2


class NearWheel:
    """The slots that are due soon.

    Attributes:
        loaded: The slots in memory.
        index: The index.
    """

    def __init__(
        self, index: TimerIndex, topic: TimerTopicReader, markers: CancelMarkers, clock: Clock, bell: WakeSignal
    ) -> None:
        self.index = index
        self.loaded = LoadedSlots(index.read_time, index.precision)
        self._topic = topic
        self._markers = markers
        self._clock = clock
        self._bell = bell
        self._precision = index.precision
        self._ahead = max(_AHEAD, 2 * index.precision)
        #: A message put at a time so many ms after `read_time` goes into a slot less than a lap of the wheel after it.
        self._reach = (index.wheel.slots - index.window - 1) * index.precision
        self._reading: tuple[LoadedSlot, Iterator[Sequence[TimerUnit]]] | None = None
        #: The first slot that is not in memory, if there is one before `_searched`.
        self._next: int | None = None
        self._searched = self.loaded.to
        #: Physical offset of the last record that was put.
        self._entered = -1
        #: Whether messages wait until more is in the index.
        self._awaits_entries = False

    # --- time ---

    def now(self) -> int:
        """The time in ms; if the clock was set back before passed slots, all is read again from there."""
        now = self._clock()
        if now < self.index.read_time:
            self.index.move_read_time(now)
            self.drop()
        return now

    def drop(self) -> None:
        """Drop the memory; it is read again."""
        self.loaded.drop(self.index.read_time)
        self._reading = None
        self._next = None
        self._searched = self.loaded.to
        self._bell.wake()

    # --- entering ---

    def enter(self, group: TimerEntries) -> None:
        """Put messages into the index, and into memory if their slots are in memory.

        Raises:
            StoreError: not all can be put now; the same call continues later.
        """
        now = self.now()
        self._move_on(now)
        already = self.index.already
        waiting: Sequence[TimerRecord] = [
            each
            for each in group.waiting
            if each.physical_offset > self._entered and each.physical_offset not in already
        ]
        while waiting:
            waiting = waiting[self._put(waiting, now) :]
        index = self.index
        if index.queue_offset < index.already_until <= group.end:
            index.forget_already()
        index.queue_offset = group.end
        self._markers.enqueued(group.end)
        if self._awaits_entries:
            self._bell.wake()

    def _put(self, waiting: Sequence[TimerRecord], now: int) -> int:
        """Put some messages, from the first on; returns how many: 0 if it only made room for them.

        An overdue message goes into the slot of its time, where its marker is. While the timer is far behind, other
        messages roll less than a lap of the wheel after `read_time`: farther away they would take slots that overdue
        messages still need, and each would wait for the other.
        """
        read_time = self.index.read_time
        write_time = min(slot_of(now, self._precision), read_time + self._reach)
        if read_time < write_time:
            overdue = waiting[0].out_time < write_time
            number = next((at for at, each in enumerate(waiting) if (each.out_time < write_time) is not overdue), None)
            waiting = waiting[:number]
            if overdue:
                write_time = read_time
        entered = self.index.put(waiting, write_time)
        if not entered:
            moved = free_blocked_slot(self.index)
            if moved < self.loaded.to:
                self.drop()
            elif moved < (self._searched if self._next is None else self._next):
                self._next = moved
                self._bell.wake()
            return 0
        self._entered = waiting[len(entered) - 1].physical_offset
        try:
            self._note(waiting, entered)
        except BaseException:
            self.drop()  # no message is omitted
            raise
        return len(entered)

    def _note(self, waiting: Sequence[TimerRecord], entered: Sequence[tuple[int, int]]) -> None:
        """Add the messages that were put to their slots in memory, if these are loaded."""
        loaded, precision = self.loaded, self._precision
        nearest = self._next
        for (position, start), each in zip(entered, waiting, strict=False):
            if start >= loaded.to:
                if start < (self._searched if nearest is None else nearest):
                    nearest = start
                continue
            slot = loaded.at(start)
            own = slot_of(each.out_time, precision)
            if own > start:
                loaded.add(slot, position, start, rolls=True)
            elif each.cancels:
                self._mark(slot, position, each.physical_offset, each.record_size)
            else:
                loaded.add(slot, position, due_time(each.out_time, precision), rolls=False)
                slot.coarse |= is_coarse(each.out_time)
            self._bell.wake()
        if nearest is None or nearest != self._next:
            self._next = nearest
            self._bell.wake()  # the reader continues its search, if that is not over

    def _mark(self, slot: LoadedSlot, position: int, physical_offset: int, size: int) -> None:
        slot.markers.append(position)
        key = self._topic.cancelled_by(physical_offset, size)
        if key is not None:
            slot.cancelled.add(key)

    # --- reading ---

    def read(self, now: int) -> bool:
        """Read a piece of the next slots; true if there is more to read.

        Raises:
            StoreError, OSError: a slot cannot be read now; the next call reads it again.
        """
        if self._reading is None and not self._begin(now):
            return self._next is None and self._search()
        assert self._reading is not None  # noqa: S101 - just begun
        slot, pieces = self._reading
        try:
            self._read_piece(slot, pieces)
        except BaseException:
            self.loaded.forget(slot)
            self._reading = None
            self._next = slot.start if self._next is None else min(self._next, slot.start)
            raise
        return True

    def _read_piece(self, slot: LoadedSlot, pieces: Iterator[Sequence[TimerUnit]]) -> None:
        units = next(pieces, None)
        if units is None:
            self.loaded.finish_slot(slot)
            self._reading = None
            return
        add, precision = self.loaded.add, self._precision
        for unit in units:
            if unit.rolls:
                add(slot, unit.position, slot.start, rolls=True)
            elif unit.cancels:
                self._mark(slot, unit.position, unit.physical_offset, unit.record_size)
            else:
                add(slot, unit.position, due_time(unit.slot_time, precision), rolls=False)
                slot.coarse |= is_coarse(unit.slot_time)

    def _begin(self, now: int) -> bool:
        start = self._next
        loaded = self.loaded
        if start is None or start >= now + self._ahead:
            return False
        if not loaded.has_room:
            return False
        self._reading = loaded.begin_slot(start), split_at_markers(self.index.walk(start))
        self._next = None
        self._searched = loaded.to
        return True

    def _search(self) -> bool:
        """Search a little further for the next slot; true if the search is not over."""
        end = self.loaded.to + SLOT_COUNT * self._precision
        if self._searched >= end:
            return False
        upto = min(end, self._searched + _SEARCHED * self._precision)
        self._next = self.index.next_slot(self._searched, upto)
        self._searched = upto
        return True

    # --- coming out ---

    def take(self, now: int, most: int) -> list[DueRun]:
        """Take out messages that are due at a time in ms, `most` at most."""
        return self.loaded.take(now, most, self.index.queue_offset)

    def settled(self, copies: Iterable[DueCopy]) -> None:
        """Mark messages that were taken out as settled."""
        end = self._topic.end
        goes_on = False
        for copy in copies:
            goes_on |= self.loaded.settled(copy.slot, copy.due, rolled_to=end if copy.rolls else None)
        if goes_on:
            self._bell.wake()

    def pass_slots(self, now: int) -> bool:
        """Pass settled slots that are over; true if there is more to do."""
        loaded, index = self.loaded, self.index
        while (slot := loaded.first) is not None:
            if not slot.loaded or slot.waiting or now < slot.start + self._precision:
                break
            if slot.passed_at is None:
                slot.passed_at = self._topic.end
            if index.queue_offset < slot.passed_at:
                break
            if slot.markers:
                some = slot.markers[-_MARKERS:]
                del slot.markers[-_MARKERS:]
                index.settle_all([(position, NO_COPY) for position in some])
                return True
            loaded.remove(slot)
        self._move_on(now)
        return False

    def _move_on(self, now: int) -> None:
        """Advance the index's `read_time` to the first slot in which something may wait."""
        first = self.loaded.first
        start = slot_of(now, self._precision)
        if first is not None:
            start = min(start, first.start)
        else:
            start = min(start, self._searched if self._next is None else self._next)
            self.loaded.to = max(self.loaded.to, start)
        if start > self.index.read_time:
            self.index.move_read_time(start)

    def lag(self, now: int) -> int:
        """How many ms the oldest known undelivered message has been due."""
        slot, due = self.loaded.first, self.loaded.next_due
        moments = [now if due is None else due, now if self._next is None else self._next]
        if slot is not None and slot.waiting:
            moments.append(slot.start + self._precision)
        return max(0, now - min(moments))

    def delivered_before(self, now: int) -> int:
        """All messages of the index that are due before this time in ms are delivered; `now` at most."""
        oldest = self.loaded.oldest
        return min(now, self._searched if self._next is None else self._next, now if oldest is None else oldest)

    def pause_seconds(self, now: int) -> float:
        """How many seconds to pause at most, unless the bell rings."""
        moments = []
        loaded, first = self.loaded, self.loaded.first
        self._awaits_entries = loaded.is_blocked(self.index.queue_offset)
        if loaded.next_due is not None and not self._awaits_entries:
            moments.append(loaded.next_due)
        if first is not None and first.loaded and not first.waiting:
            over = first.start + self._precision
            if over > now:
                moments.append(over)
            else:
                self._awaits_entries = True
        if self._next is not None and loaded.has_room:
            moments.append(self._next - self._ahead)
        if first is None and self._next is None:
            return math.inf
        rest = min(moments, default=now + _LONGEST_REST) - now
        return min(max(rest, _SHORTEST_REST), _LONGEST_REST) / 1000
