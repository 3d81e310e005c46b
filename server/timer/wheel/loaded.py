"""The slots of the wheel that are due soon, in memory: of each message no more than where its unit stands.

A slot is read some time before it begins. From then on what is put into it comes here, too. Slots before `read_time` of
the index are passed: nothing waits in them. What is in memory can be dropped at any moment, for all of it stands in the
index; it is then read again.

Messages of a slot come out when each is due, by the ms; those whose record is only to be stored anew (they roll) when
the slot begins. A slot has to wait until all that rolled in the slots before it is back in the index: else, after a
long stop, a message could come out before the marker that cancels it, which has a lap left.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from typing import Final, NamedTuple

from rocketwire.server.messages.restoring import Undeliverable
from rocketwire.store.append.drafts import Draft

#: No further slot is read while something waits in so many, or so many messages do.
_MOST_UNSETTLED: Final = 256
_MOST_MESSAGES: Final = 1 << 20
#: Settled slots that cannot be passed stay as long as nothing can be put into the index; no more than these.
_MOST_SLOTS: Final = 4096


class Slot:
    """A slot in memory, from the time in ms at which it begins.

    Attributes:
        start: That time.
        waiting: How many messages of it are not settled.
        rolls: How many of these are only to be stored anew.
        markers: Positions of the units that cancel others, which stay until the slot is passed.
        cancelled: The unique keys of the messages that they cancel.
        passed_at: Where the timer's topic ended when nothing of the slot waited any more after its time.
        dropped: Whether it was forgotten: what came out of it is not to be stored.
    """

    __slots__ = ("buckets", "cancelled", "dropped", "loaded", "markers", "passed_at", "rolls", "start", "waiting")

    def __init__(self, start: int, *, loaded: bool) -> None:
        self.start = start
        self.waiting = 0
        self.rolls = 0
        self.markers = array("q")
        self.cancelled: set[str] = set()
        self.passed_at: int | None = None
        self.dropped = False
        self.loaded = loaded
        self.buckets: dict[int, array[int]] = {}


class Run(NamedTuple):
    """Positions of units of one slot that are due at the same time in ms."""

    slot: Slot
    due: int
    positions: array[int]


class Copy(NamedTuple):
    """What is to be stored for a message that is due.

    Attributes:
        slot: Its slot.
        due: When it was due, in ms since 1970; for one that rolls, the time of its slot.
        position: Where its unit stands in the timer log.
        rolls: Whether it is only stored anew in the timer's topic.
        draft: What is to be stored, or why there is nothing.
    """

    slot: Slot
    due: int
    position: int
    rolls: bool
    draft: Draft | Undeliverable


class Loaded:
    """All slots in memory.

    Attributes:
        to: Slots before this time in ms are in memory, or empty.
        count: How many messages in memory did not come out yet.
    """

    def __init__(self, start: int, precision: int) -> None:
        self.to = start
        self.count = 0
        self._precision = precision
        self._slots: dict[int, Slot] = {}
        self._due: list[tuple[int, int]] = []
        self._rolling: set[int] = set()
        #: The slot of which a message was stored anew last, and where the timer's topic ended then.
        self._rolled = start
        self._rolled_to = 0

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def first(self) -> Slot | None:
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
        """When the next message that is read comes out, in ms since 1970."""
        return self._due[0][0] if self._due else None

    def begin(self, start: int) -> Slot:
        """Have a slot in memory whose units are about to be read."""
        slot = self._slots[start] = Slot(start, loaded=False)
        self.to = start + self._precision
        return slot

    def finish(self, slot: Slot) -> None:
        """Note that all units of a slot are read."""
        slot.loaded = True
        for due in slot.buckets:
            heappush(self._due, (due, slot.start))

    def forget(self, slot: Slot) -> None:
        """Forget the last slot, whose units are being read: it is to be read again."""
        slot.dropped = True
        self.remove(slot)
        self._rolling.discard(slot.start)
        self.count -= slot.waiting
        self.to = slot.start

    def at(self, start: int) -> Slot:
        """The slot that begins at a time before `to`."""
        slot = self._slots.get(start)
        if slot is None:
            slot = self._slots[start] = Slot(start, loaded=True)
        return slot

    def add(self, slot: Slot, position: int, due: int, *, rolls: bool) -> None:
        """Have a message come out at a time in ms; older ones of the same time come out first."""
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

    def held_up(self, enqueued: int) -> bool:
        """Whether the next message has to wait for others that roll; the topic's entries before `enqueued` are put."""
        if not self._due:
            return False
        start = self._due[0][1]
        if self._rolling and min(self._rolling) < start:
            return True
        return start > self._rolled and enqueued < self._rolled_to

    def take(self, now: int, most: int, enqueued: int) -> list[Run]:
        """Take out what is due at a time in ms, up to `most` messages; see `held_up`."""
        runs: list[Run] = []
        while most > 0 and self._due and self._due[0][0] <= now and not self.held_up(enqueued):
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
            runs.append(Run(slot, due, taken))
            most -= len(taken)
            self.count -= len(taken)
        return runs

    def settled(self, slot: Slot, *, rolled_to: int | None) -> bool:
        """Note that a message that came out is settled; true when others may go on for that.

        Args:
            slot: The message's.
            rolled_to: Where the timer's topic ends, for one that was stored anew there.
        """
        if slot.dropped:
            return False
        slot.waiting -= 1
        if rolled_to is None:
            return not slot.waiting
        self._rolled, self._rolled_to = slot.start, rolled_to
        slot.rolls -= 1
        if slot.rolls:
            return False
        self._rolling.discard(slot.start)
        return True

    def remove(self, slot: Slot) -> None:
        """Forget a slot that is passed."""
        del self._slots[slot.start]

    def drop(self, start: int) -> None:
        """Forget everything; reading begins again at a time in ms."""
        for slot in self._slots.values():
            slot.dropped = True
        self._slots.clear()
        self._due.clear()
        self._rolling.clear()
        self.count = 0
        self.to = start
