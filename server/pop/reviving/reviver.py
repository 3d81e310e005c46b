"""The reviver: makes messages visible again that were popped and not acknowledged in time.

It reads the revive topic as the timer fills it. A check point is decided when its time is over and the timer has
delivered all that was due by then, acknowledgements among it. What is not acknowledged is stored in a retry topic, and
with it in one group an acknowledgement by the broker, behind the check point. So after a kill the same records are read
again, from the group CID_RMQ_SYS_REVIVE_GROUP's offset on, and no message is redelivered twice; nor is it when Apache's
broker reads them.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from typing import Final

import trio

from rocketwire.server.core.background import OVERDUE_MS
from rocketwire.server.core.threads import run_with_checkpoints
from rocketwire.server.pop.parts import PopRuntime, PopState
from rocketwire.server.pop.reviving.pending_check_points import NONE, PendingCheckPoints
from rocketwire.server.pop.reviving.reading import ReviveTopicReader
from rocketwire.server.pop.reviving.redelivery import Redelivery
from rocketwire.server.timer.tasks import WakeSignal
from rocketwire.server.timer.timer import Timer
from rocketwire.wire import names

#: Most records that are stored together, and if they are background work, also beside requests. Each message takes two.
_GROUP: Final = 256
_OVERDUE_GROUP: Final = 64
_SMALL_GROUP: Final = 8
#: Most records that are read together, and while requests come.
_READ_AT_ONCE: Final = 64
_READ_IN_A_SLICE: Final = 4
#: Records of one queue that were not read yet; the timer delivers them in groups.
_MANY_BEHIND: Final = 4096
#: A redelivery in time is so late, for it waits for all that the timer delivers.
_USUALLY_LATE_MS: Final = 500
#: Records are read to the end before anything is decided, unless so many check points are in memory. Then what is read
#: decides: records stand about in the order of their times.
_MOST_PENDING: Final = 50_000
_APART_MS: Final = 2000
_LONGEST_PAUSE: Final = 0.5
_AFTER_DUE: Final = 0.002
#: What comes within this time is read together: check points come a second early.
_GATHER_SECONDS: Final = 0.01
#: The index may have a message as due 1 ms after its time: see `store.timer.units.due`.
_GRAIN_MS: Final = 2


class Reviver:
    """Makes messages of one broker visible again.

    Args:
        state: What it reads.
        runtime: The clock, and the budget of what is overdue.
        topic: The revive topic's name.
        timer: What the timer has delivered.
        broker_name: The broker's name.
        redelivery: Stores redelivered messages.

    Attributes:
        counts: What it did.
    """

    def __init__(
        self,
        state: PopState,
        runtime: PopRuntime,
        *,
        topic: str,
        timer: Timer,
        broker_name: str,
        redelivery: Redelivery,
    ) -> None:
        self.counts = redelivery.counts
        self._store = state.store
        self._offsets = state.offsets
        self._clock = runtime.clock
        self._budget = runtime.budget
        self._topic = topic
        self._timer = timer
        self._broker_name = broker_name
        self._coming_again = redelivery
        self._records = ReviveTopicReader(state.store, topic, redelivery.counts, redelivery.losses)
        self._queues: dict[int, PendingCheckPoints] = {}
        self._bell = WakeSignal()
        #: A moment, and how many records the timer's topic had then: they have to be in the index.
        self._since: tuple[int, int] | None = None
        #: When they were.
        self._entered: int | None = None
        #: All that was due up to a moment is in the revive topic, before these ends of its queues.
        self._until = 0
        self._ends: dict[int, int] = {}

    @property
    def pending(self) -> int:
        """How many check points are in memory."""
        return sum(map(len, self._queues.values()))

    def arrived(self, queues: Iterable[tuple[str, int]]) -> None:
        """Note that messages were stored in these queues."""
        for topic, _ in queues:
            if topic == self._topic:
                self._bell.wake()
                return

    def clock_moved(self) -> None:
        """Note that the clock has jumped."""
        self._bell.wake()

    async def run(self) -> None:
        """Revive without end."""
        while True:
            pause = _LONGEST_PAUSE
            async with self._coming_again.faults.log_and_pause():
                pause = await self.round()
            self._coming_again.losses.log_if_due()
            until = min(trio.current_time() + pause, self._coming_again.losses.due)
            pause = max(0.0, until - trio.current_time())
            await self._bell.wait(pause)
            await trio.sleep(max(0.0, min(until - trio.current_time(), _GATHER_SECONDS)))

    async def round(self) -> float:
        """Read what is new, and decide what can be decided; in how many seconds there may be more.

        Raises:
            StoreError, OSError: the revive topic cannot be read now.
        """
        store = self._store
        for queue_id in store.queue_ids(self._topic):
            if queue_id not in self._queues:
                committed = self._offsets.query(names.REVIVE_GROUP, self._topic, queue_id)
                last = store.max_offset(self._topic, queue_id) - 1
                self._queues[queue_id] = PendingCheckPoints(
                    NONE if committed is None else min(committed, last), self._broker_name
                )
        self._look_at_timer()
        for queue_id, points in self._queues.items():
            overdue = self._is_overdue(queue_id, points)
            carry_out = self._budget.carry_out if overdue else run_with_checkpoints
            await carry_out(self._read(queue_id, points))
            await carry_out(self._decide(queue_id, points, overdue=overdue))
        return self._pause()

    def _is_overdue(self, queue_id: int, points: PendingCheckPoints) -> bool:
        """Whether messages should be visible again for long, or much was not read yet: then it is background work."""
        due = points.next_due
        behind = self._store.max_offset(self._topic, queue_id) - points.read_to
        return behind > _MANY_BEHIND or (due is not None and self._clock() - due > OVERDUE_MS + _USUALLY_LATE_MS)

    def _look_at_timer(self) -> None:
        """Find out up to when all that was due is in the revive topic, and where it ends then.

        What the timer's topic has at one moment is in its index at a later one, or an earlier by the clock, if that is
        set back. A message that is entered when it is overdue is due then, by the index.
        """
        timer, now = self._timer, self._clock()
        if self._since is None:
            self._since = now, timer.stored_count
            self._entered = None
        moment, known = self._since
        if self._entered is None and timer.enqueued_count >= known:
            self._entered = now
        if self._entered is not None and timer.delivered_before(now) > self._entered + _GRAIN_MS:
            self._until = min(moment, self._entered)
            self._ends = {queue_id: self._store.max_offset(self._topic, queue_id) for queue_id in self._queues}
            self._since = None

    def _pause(self) -> float:
        due = min((points.next_due for points in self._queues.values() if points.next_due is not None), default=None)
        if due is None:
            self._since = None
            return math.inf
        wait = due - self._clock()
        if wait > 0:
            self._since = None
        return min(max(wait / 1000 + _AFTER_DUE, _AFTER_DUE), _LONGEST_PAUSE)

    def _read(self, queue_id: int, points: PendingCheckPoints) -> Generator[None, None, None]:
        end = self._store.max_offset(self._topic, queue_id)
        while points.read_to < end and len(points) < _MOST_PENDING:
            self._records.read(queue_id, points, _READ_IN_A_SLICE if self._budget.is_busy() else _READ_AT_ONCE)
            yield

    def _most(self, *, overdue: bool) -> int:
        """How many records are stored together."""
        if not overdue:
            return _GROUP
        return _SMALL_GROUP if self._budget.is_busy() else _OVERDUE_GROUP

    def _decide(self, queue_id: int, points: PendingCheckPoints, *, overdue: bool) -> Generator[None, None, None]:
        until = self._until
        if points.read_to < self._ends.get(queue_id, 0):  # too many are in memory
            until = min(until, points.seen - _APART_MS)
        while points.next_due is not None and points.next_due <= until:
            yield from self._coming_again.revive(queue_id, points, until, self._most(overdue=overdue))
            yield
        committed = points.committed
        if committed != NONE and committed != self._offsets.query(names.REVIVE_GROUP, self._topic, queue_id):
            self._offsets.put(names.REVIVE_GROUP, self._topic, queue_id, committed)
