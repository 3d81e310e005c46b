"""The slots of the wheel that are due soon, in memory: of each message only the position of its unit.

A slot is read some time before it begins. From then on messages put into it are added here, too. Slots before
`read_time` of the index are passed: nothing waits in them. The memory can be dropped at any moment and read again from
the index, which has everything.

A message is taken out at the ms at which it is due; one that rolls, whose record is only stored again, when its slot
begins. A slot has to wait until all messages that rolled in earlier slots are back in the index: otherwise, after a
long stop, a message could be taken out before the marker that cancels it, which still has a lap to wait.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from typing import Final, NamedTuple

from rocketwire.server.messages.restoring import DestinationInvalid
from rocketwire.server.timer.records import CancelledMessage
from rocketwire.store.append.drafts import Draft

#: No further slot is read while so many slots, or so many messages, wait in memory.
_MOST_UNSETTLED: Final = 256
_MOST_MESSAGES: Final = 1 << 20
#: Most settled slots in memory: they cannot be passed while nothing can be put into the index.
_MOST_SLOTS: Final = 4096


class LoadedSlot:
    """A slot in memory, from the time in ms at which it begins.

    Attributes:
        start: That time.
        waiting: How many of its messages are not settled.
        rolls: How many of these roll.
        markers: Positions of the units that cancel others, which stay until the slot is passed.
        cancelled: The messages that they cancel.
        passed_at: The end of the timer's topic when the slot was over and all of its messages were settled.
        coarse: Whether one of its messages has a time of Apache's, which is known to the slot only.
        dropped: Whether it was dropped: messages taken out of it must not be stored.
    """

    __slots__ = (
        "buckets",
        "cancelled",
        "coarse",
        "dropped",
        "loaded",
        "markers",
        "passed_at",
        "rolls",
        "start",
        "waiting",
    )

    def __init__(self, start: int, *, loaded: bool) -> None:
        self.start = start
        self.waiting = 0
        self.rolls = 0
        self.markers = array("q")
        self.cancelled: set[CancelledMessage] = set()
        self.passed_at: int | None = None
        self.coarse = False
        self.dropped = False
        self.loaded = loaded
        self.buckets: dict[int, array[int]] = {}


class DueRun(NamedTuple):
    """Positions of units of one slot that are due at the same time in ms."""

    slot: LoadedSlot
    due: int
    positions: array[int]


class DueCopy(NamedTuple):
    """The copy to store for a message that is due.

    Attributes:
        slot: Its slot.
        due: When it was due, in ms since 1970; for one that rolls, the time of its slot.
        position: The position of its unit in the timer log.
        rolls: Whether it is only stored again in the timer's topic.
        draft: The message to store, or why there is none.
    """

    slot: LoadedSlot
    due: int
    position: int
    rolls: bool
    draft: Draft | DestinationInvalid


class LoadedSlots:
    """All slots in memory.

    Attributes:
        to: Slots before this time in ms are in memory, or empty.
        count: How many messages in memory were not taken out yet.
    """

    def __init__(self, start: int, precision: int) -> None:
        self.to = start
        self.count = 0
        self._precision = precision
        self._slots: dict[int, LoadedSlot] = {}
        self._due: list[tuple[int, int]] = []
        self._rolling: set[int] = set()
        #: How many messages of each due time were taken out and are not settled.
        self._out: dict[int, int] = {}
        #: The slot of the last message that rolled, and the end of the timer's topic then.
        self._rolled = start
        self._rolled_to = 0

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def first(self) -> LoadedSlot | None:
        """The earliest slot."""
        return self._slots[min(self._slots)] if self._slots else None

    @property
    def has_room(self) -> bool:
        """Whether a further slot may be read."""
        if len(self) >= _MOST_UNSETTLED:
            unsettled = sum(1 for slot in self._slots.values() if slot.waiting or not slot.loaded)
            if unsettled >= _MOST_UNSETTLED or len(self) >= _MOST_SLOTS:
                return False
        return self.count < _MOST_MESSAGES

    @property
    def next_due(self) -> int | None:
        """When the next message in memory is due, in ms since 1970."""
        return self._due[0][0] if self._due else None

    @property
    def oldest(self) -> int | None:
        """When the first message of those in memory or taken out, which are not settled, is or was due, in ms.

        At the earliest: of a coarse time, or in a slot that is being read, that is when the slot begins.
        """
        slots = self._slots.values()
        moments = [slot.start for slot in slots if not slot.loaded or (slot.coarse and slot.waiting)]
        if self._out:
            moments.append(min(self._out))
        if self._due:
            moments.append(self._due[0][0])
        return min(moments, default=None)

    def begin_slot(self, start: int) -> LoadedSlot:
        """Add a slot whose units are about to be read."""
        slot = self._slots[start] = LoadedSlot(start, loaded=False)
        self.to = start + self._precision
        return slot

    def finish_slot(self, slot: LoadedSlot) -> None:
        """Mark a slot as completely read."""
        slot.loaded = True
        for due in slot.buckets:
            heappush(self._due, (due, slot.start))

    def forget(self, slot: LoadedSlot) -> None:
        """Forget the last slot, whose units are being read: it is to be read again."""
        slot.dropped = True
        self.remove(slot)
        self._rolling.discard(slot.start)
        self.count -= slot.waiting
        self.to = slot.start

    def at(self, start: int) -> LoadedSlot:
        """The slot that begins at a time before `to`."""
        slot = self._slots.get(start)
        if slot is None:
            slot = self._slots[start] = LoadedSlot(start, loaded=True)
        return slot

    def add(self, slot: LoadedSlot, position: int, due: int, *, rolls: bool) -> None:
        """Add a message that is due at a time in ms; older ones of the same time are taken out first."""
        slot.waiting += 1
        self.count += 1
        if rolls:
            slot.rolls += 1
            self._rolling.add(slot.start)
        bucket = slot.buckets.get(due)
        if bucket is None:
            bucket = slot.buckets[due] = array("q")
            if slot.loaded:
                heappush(self._due, (due, slot.start))
        bucket.append(position)

    def is_blocked(self, enqueued: int) -> bool:
        """Whether the next message has to wait for others that roll; topic entries before `enqueued` are indexed."""
        if not self._due:
            return False
        start = self._due[0][1]
        if self._rolling and min(self._rolling) < start:
            return True
        return start > self._rolled and enqueued < self._rolled_to

    def take(self, now: int, most: int, enqueued: int) -> list[DueRun]:
        """Take out messages that are due at a time in ms, up to `most`; see `is_blocked`."""
        runs: list[DueRun] = []
        while most > 0 and self._due and self._due[0][0] <= now and not self.is_blocked(enqueued):
            due, start = self._due[0]
            slot = self._slots[start]
            bucket = slot.buckets[due]
            if len(bucket) <= most:
                taken = bucket
                del slot.buckets[due]
                heappop(self._due)
            else:
                taken = bucket[-most:]
                del bucket[-most:]
            runs.append(DueRun(slot, due, taken))
            self._out[due] = self._out.get(due, 0) + len(taken)
            most -= len(taken)
            self.count -= len(taken)
        return runs

    def settled(self, slot: LoadedSlot, due: int, *, rolled_to: int | None) -> bool:
        """Mark a message that was taken out as settled; true if others need not wait any longer.

        Args:
            slot: The message's.
            due: When it was due, as `take` gave it.
            rolled_to: The end of the timer's topic, for one that rolled.
        """
        if slot.dropped:
            return False
        slot.waiting -= 1
        rest = self._out[due] - 1
        if rest:
            self._out[due] = rest
        else:
            del self._out[due]
        if rolled_to is None:
            return not slot.waiting
        self._rolled, self._rolled_to = slot.start, rolled_to
        slot.rolls -= 1
        if slot.rolls:
            return False
        self._rolling.discard(slot.start)
        return True

    def remove(self, slot: LoadedSlot) -> None:
        """Forget a slot that is passed."""
        del self._slots[slot.start]

    def drop(self, start: int) -> None:
        """Forget everything; reading begins again at a time in ms."""
        for slot in self._slots.values():
            slot.dropped = True
        self._slots.clear()
        self._due.clear()
        self._rolling.clear()
        self._out.clear()
        self.count = 0
        self.to = start
