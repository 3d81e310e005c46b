"""Pops in order of one broker: which queues give nothing, acknowledgements, and the group's offsets.

While a message of a queue is out and not acknowledged, the queue gives its group nothing, except to the attempt that
has it: its answer may have been lost. When their time is up, the queue gives all again from the first that was not
acknowledged on; so far goes the group's offset.

Unlike with Apache's broker, an acknowledgement of a batch that is not known, because a kill lost it, does not move the
offset past messages that were not acknowledged.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.offsets.consumed import commit_offset
from rocketwire.server.pop.order.batches import (
    FreeTimes,
    after_ack,
    after_postponing,
    invisible_until,
    is_held,
    make_batch,
    next_offset,
    reconsume_counts,
)
from rocketwire.server.pop.ordered import OrderedBatch, PopQueue
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.event import Event
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.store.tables.pop.order_info import OrderInfo, OrderInfoTable
from rocketwire.wire.pop_handle import OrderCount

log = logging.getLogger(__name__)

_KEPT_IDLE: Final = 24 * 3600 * 1000  # ms
_CLEAN_SECONDS: Final = 3600.0
_REST: Final = 10
"""After a cleaning there is none for so many times as long as it took."""
_AT_ONCE: Final = 16
_LONGEST_SLEEP: Final = 60.0


class OrderedQueues:
    """Keeps which messages are out in order, for `server.pop.ordered.Ordered`.

    Attributes:
        freed: Called with each queue that gives messages again: the batch was acknowledged, or its time is up.
    """

    def __init__(
        self,
        table: OrderInfoTable,
        offsets: OffsetTable,
        *,
        topics: BrokerTopics,
        groups: SubscriptionGroups,
        clock: Clock,
        due_time: DueTime,
        renewals: Renewals,
        resets: OffsetResetter,
    ) -> None:
        self.freed = Event[[PopQueue]]()
        self._table = table
        self._offsets = offsets
        self._topics = topics
        self._groups = groups
        self._clock = clock
        self._due_time = due_time
        self._renewals = renewals
        self._resets = resets
        resets.release = self.release
        resets.is_ordered = lambda topic, group: bool(table.of(topic, group))
        self._free = FreeTimes()
        #: The offset of each group whose messages are out, as it was seen last.
        self._expected_offsets: dict[PopQueue, int] = {}
        self._sleeping = trio.CancelScope()
        self._sleeps_until: float = -math.inf
        self._unclean = trio.Event()
        self._move_offsets()
        for topic, group in table.consumptions():
            for queue_id, info in table.of(topic, group).items():
                queue = PopQueue(topic, group, queue_id)
                self._free.put(queue, self._out_until(queue, info))

    def _move_offsets(self) -> None:
        """Move offsets to where a killed process had moved them since it saved them, by the batches."""
        for change in self._table.unsaved_changes:
            if change.info is not None and change.info.offset_list:
                queue = PopQueue(change.topic, change.group, change.queue_id)
                with contextlib.suppress(LimitExceeded):
                    self._commit(queue, next_offset(change.info, self._committed(queue)))

    def is_blocked(self, queue: PopQueue, attempt_id: str | None, invisible_time: int) -> bool:
        """Whether the queue gives nothing now to an attempt that wants its messages for so many ms."""
        info = self._table.get(*queue)
        if info is None or (info.attempt_id is not None and info.attempt_id == attempt_id):
            return False
        if self._set_back(queue):
            self._forget(queue)
            return False
        until = self._out_until(queue, info, invisible_time)
        if until is None:
            return False
        return until > self._clock() or self._renewed(queue, info)

    def _renewed(self, queue: PopQueue, info: OrderInfo) -> bool:
        """Whether a batch whose time is up is kept for longer, because its client is connected."""
        invisible_time = self._renewals.renewal_ms(info.renewer, info.pop_time, self._clock(), info.invisible_time or 0)
        if invisible_time is None or not is_held(info, consumed=self._committed(queue)):
            return False
        self._put(queue, replace(info, invisible_time=invisible_time))
        return True

    def reconsume_counts(self, taken: OrderedBatch) -> Sequence[OrderCount]:
        """How often the messages of a batch that is to be taken were popped before, for the answer."""
        return reconsume_counts(self._batch(taken), taken.queue.topic, taken.queue.queue_id)

    def note_popped(self, taken: OrderedBatch) -> None:
        """Note a batch."""
        self._put(taken.queue, self._batch(taken))
        self._expected_offsets[taken.queue] = self._committed(taken.queue)

    def _batch(self, taken: OrderedBatch) -> OrderInfo:
        return make_batch(
            self._table.get(*taken.queue),
            attempt_id=taken.attempt_id,
            pop_time=taken.pop_time,
            invisible_time=taken.invisible_time,
            offsets=taken.offsets,
            renewer=taken.renewer,
        )

    def ack(self, queue: PopQueue, offset: int, pop_time: int, invisible_time: int) -> None:
        """Acknowledge a message, which was popped then for so long; the group's offset moves on as far as it can.

        Nothing is done for one that was acknowledged, or popped again meanwhile.

        Raises:
            MessageIllegal: it is not of the batch.
            LimitExceeded: there is no room for the group's offset.
        """
        if self._set_back(queue):
            self.release(queue)
        committed = self._committed(queue)
        if offset < committed:
            return
        info = self._table.get(*queue)
        if info is None:
            if offset == committed and not self._resets.cancels(queue, offset, pop_time):
                self._commit(queue, offset + 1)
            return
        if info.pop_time != pop_time:
            return
        changed = after_ack(info, offset)
        if changed is None:
            key = "@".join(map(str, queue))
            raise MessageIllegal(f"offset is illegal, key:{key}, old:{committed}, commit:{offset}, next:-1")
        self._put(queue, changed)
        self._commit(queue, next_offset(changed, committed))
        if not self.is_blocked(queue, None, invisible_time):
            self.freed(queue)

    def change(self, queue: PopQueue, offset: int, pop_time: int, visible_at: int) -> bool:
        """Keep a message until another time, in ms since 1970; false if it was acknowledged.

        Nothing is done for one that was popped again meanwhile, or not in this batch.
        """
        if self._set_back(queue):
            self.release(queue)
        if offset < self._committed(queue):
            return False
        info = self._table.get(*queue)
        if info is not None and info.pop_time == pop_time and offset in info.offsets:
            self._put(queue, after_postponing(info, offset, visible_at))
            if not self.is_blocked(queue, None, 0):
                self.freed(queue)
        return True

    def release(self, queue: PopQueue) -> None:
        """Forget what is out of a queue, whose group was set to another offset: it gives messages again."""
        self._forget(queue)
        self.freed(queue)

    def _forget(self, queue: PopQueue) -> None:
        self._table.remove(*queue)
        self._free.put(queue, None)
        self._expected_offsets.pop(queue, None)

    def _set_back(self, queue: PopQueue) -> bool:
        """Whether the group was set back by a commit (15) while messages are out; then it is noted as a reset.

        The kernel serves commits, without a notification: so the offset is compared when the queue is used next.
        """
        expected = self._expected_offsets.get(queue)
        if expected is None:
            return False
        offset = self._committed(queue)
        if offset >= expected:
            self._expected_offsets[queue] = offset
            return False
        self._resets.note(queue, offset)
        return True

    def _out_until(self, queue: PopQueue, info: OrderInfo, invisible_time: int = 0) -> int | None:
        return invisible_until(info, invisible_time, consumed=self._committed(queue))

    def _committed(self, queue: PopQueue) -> int:
        return self._offsets.query(queue.group, queue.topic, queue.queue_id) or 0

    def _commit(self, queue: PopQueue, offset: int) -> None:
        commit_offset(self._offsets, queue.group, queue.topic, queue.queue_id, offset)
        if queue in self._expected_offsets:
            self._expected_offsets[queue] = offset

    def _put(self, queue: PopQueue, info: OrderInfo) -> None:
        self._table.put(*queue, info)
        self._free.put(queue, self._out_until(queue, info))
        first = self._free.first
        if first is not None and first < self._sleeps_until:
            self._sleeping.cancel()

    # --- tasks ---

    async def run(self, budget: BackgroundBudget) -> None:
        """Notify of queues whose time is up, and clean at intervals, as background work; never returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._clean_at_times, budget)
            while True:
                await self._sleep()
                for queue in list(self._free.due(self._clock())):
                    info = self._table.get(*queue)
                    if info is None or not self._renewed(queue, info):
                        self.freed(queue)

    async def _sleep(self) -> None:
        """Wait until a queue is free, or another one may be sooner."""
        with trio.CancelScope() as self._sleeping:
            first = self._free.first
            self._sleeps_until = math.inf if first is None else first
            seconds = (self._sleeps_until - self._clock()) / 1000
            await self._due_time.sleep(min(_LONGEST_SLEEP, max(0.0, seconds)))

    def schedule_cleaning(self) -> None:
        """Note that topics or groups may be deleted."""
        self._unclean.set()

    async def _clean_at_times(self, budget: BackgroundBudget) -> None:
        while True:
            with trio.move_on_after(_CLEAN_SECONDS):
                await self._unclean.wait()
            self._unclean = trio.Event()
            began = trio.current_time()
            await budget.carry_out(self._cleaning())
            await trio.sleep(_REST * (trio.current_time() - began))

    def _cleaning(self) -> Generator[None, None, None]:
        """Forget batches of topics, groups and queues that do not exist, and those without a request for a day."""
        oldest = self._clock() - _KEPT_IDLE
        forgotten, last = 0, ""
        for number, (topic, group) in enumerate(self._table.consumptions(), 1):
            config = self._topics.get(topic)
            queues = 0 if config is None or self._groups.table.get(group) is None else config.read_queue_nums
            for queue_id, info in self._table.of(topic, group).items():
                if queue_id >= queues or info.last_consume_timestamp < oldest:
                    self._forget(PopQueue(topic, group, queue_id))
                    forgotten, last = forgotten + 1, f"queue {queue_id} of topic {topic}, group {group}"
            if number % _AT_ONCE == 0:
                yield
        if forgotten:
            log.info(
                "nothing is out in order of %(count)d queues any more, the last: %(last)s",
                {"count": forgotten, "last": last},
            )
