"""Delivering delayed messages: one task for all levels.

A queue of the schedule topic has one level's messages in the order they are due. So only its head is checked, and an
empty queue not before the level's delay has passed. Messages that are due are stored in their topics, a group at a
time; other tasks run between two groups. While a level is late, because many messages became due at once or while the
broker was stopped, delivery is background work.

As on a 4.9.7 broker, a message further ahead than its level's delay (the clock was set back, or the levels are others)
is due at once. One that can never be delivered is skipped; Apache's broker retries it without end and blocks the others
of the level. What the store refuses for now is retried.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple

import trio

from rocketwire.server.core.background import OVERDUE_MS, BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.delay.levels import queue_of_level
from rocketwire.server.delay.progress import DelayProgress
from rocketwire.server.delay.progress_recovery import ProgressRecovery
from rocketwire.server.messages.loss_log import LossLog
from rocketwire.server.messages.message_writer import MessageWriter, Refusals
from rocketwire.server.messages.restoring import DestinationInvalid, restore_delayed
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import DraftRefused, StoreError
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT, HIGHEST_EXT_ADDRESS
from rocketwire.store.layout.record import store_timestamp
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.read.reader import LogPart
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.wire import names
from rocketwire.wire.facts.codes import ResponseCode

log = logging.getLogger(__name__)

#: Most messages of one group; of one that is background work beside requests.
_GROUP: Final = 128
_SMALL_GROUP: Final = 16
_GROUP_BYTES: Final = 512 << 10
#: The longest pause: the clock may be set meanwhile, and the progress has to be saved.
_LONGEST_REST_MS: Final = 500
_SHORTEST_REST_MS: Final = 10
_RETRY_MS: Final = 500
_FAULTS: Final = (OSError, StoreError)


class _Group(NamedTuple):
    """Messages of one level that are due: drafts and the offset of each, and why others are skipped.

    `first_due` is when the first is due, `end` the offset behind all of them, `next_due` when the one there is due.
    """

    drafts: list[Draft]
    offsets: list[int]
    passed: list[tuple[int, Exception]]
    first_due: int
    end: int
    next_due: int


class DelayDelivery:
    """Delivers the delayed messages of one broker.

    Attributes:
        delivered: How many messages were delivered since the start.
        dropped: How many were skipped, because they cannot be delivered.
    """

    def __init__(
        self,
        *,
        store: StoreProtocol,
        table: DelayOffsetTable,
        storing: MessageWriter,
        clock: Clock,
        wake: Callable[[], None],
        budget: BackgroundBudget,
        sleep: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        self.delivered = 0
        self.dropped = 0
        self._store = store
        self._storing = storing
        self._clock = clock
        self._wake = wake
        self._budget = budget
        self._losses = LossLog(log, logging.ERROR, now=budget.now)
        self._sleep = sleep
        self._delays = store.delay_levels
        self._progress = DelayProgress(store, table, len(self._delays))
        #: When the head of each level is due, or may be.
        self._look_at = [0] * len(self._delays)
        #: The levels whose last group was overdue.
        self._late: set[int] = set()
        self._now = 0
        self._turn = 0
        self._refused = False
        self._settling = self._settle()

    def waiting(self) -> list[int]:
        """How many messages wait on each level, the first level's at 0."""
        offsets = self._progress.offsets[: len(self._delays)]
        return [self._store.max_offset(names.SCHEDULE_TOPIC, level) - offset for level, offset in enumerate(offsets)]

    def progress(self) -> Iterator[tuple[int, int, int]]:
        """Of each level that was used: its number, the offset of the next message, and the end of its queue."""
        for level, offset in enumerate(self._progress.offsets, 1):
            end = self._store.max_offset(names.SCHEDULE_TOPIC, queue_of_level(level))
            if end:
                yield level, offset, end

    async def run(self) -> None:
        """Deliver what is due, without end."""
        while (rest := await self._budget.call(partial(next, self._settling, None))) is not None:
            await self._sleep(rest / 1000)
        while True:
            rest = await self._budget.call(self._try_to_deliver, overdue=bool(self._late))
            if rest:
                await self._sleep(rest / 1000)
            else:
                await trio.lowlevel.checkpoint()

    def _try_to_deliver(self) -> int:
        """As `deliver`, whatever the disk does; then note the progress."""
        try:
            rest = self.deliver()
        except _FAULTS as error:
            self._log_fault(error)
            rest = _RETRY_MS
        self._progress.save()
        self._losses.log_if_due()
        return rest

    def _log_fault(self, error: Exception) -> None:
        if not self._store.on_store_error(error):
            log.error("delayed messages: %(reason)s", {"reason": error})

    def _settle(self) -> Iterator[int]:
        """Find what was delivered before the last stop, in steps; yields the ms to pause between two."""
        settling = None
        while True:
            try:
                settling = settling or ProgressRecovery(self._store, self._progress.offsets, self._progress.log_offset)
                if not settling.step():
                    break
                rest = 0
            except _FAULTS as error:
                self._log_fault(error)
                settling, rest = None, _RETRY_MS
            yield rest
        for level, before, offset in settling.recovered_levels():
            log.info(
                "delay level %(delay_level)d: %(messages)d messages were delivered before the stop",
                {"delay_level": level, "messages": offset - before},
            )
            self._progress.advance(level, offset)

    def close(self) -> None:
        """Hand the progress to the table, which is saved later. Nothing is delivered after this."""
        if not any(self._settling):  # else reading failed: the saved offsets stay
            self._progress.close()

    def deliver(self) -> int:
        """Deliver one group, if one is due; returns the ms until the next is due, 0 if it is due now."""
        now = self._clock()
        if now < self._now:
            self._look_at = [0] * len(self._delays)
        self._now = now
        count = len(self._delays)
        for step in range(count):
            level = (self._turn + step) % count + 1
            if self._look_at[level - 1] <= now:
                self._turn = level % count
                self._look_at[level - 1] = self._deliver_level(level, now)
                break
        rest = min(self._look_at) - now
        return min(max(rest, _SHORTEST_REST_MS), _LONGEST_REST_MS) if rest > 0 else 0

    def _deliver_level(self, level: int, now: int) -> int:
        """Deliver a group of a level; returns when to check the level again."""
        wanted = self._progress.offsets[level - 1]
        most = _SMALL_GROUP if self._late and self._budget.is_busy() else _GROUP
        offset, entries = self._store.queue_entries(names.SCHEDULE_TOPIC, level - 1, wanted, most)
        if offset != wanted:
            log.error(
                "delay level %(delay_level)d: continues at offset %(offset)d, because %(wanted_offset)d does not exist",
                {"delay_level": level, "offset": offset, "wanted_offset": wanted},
            )
            self._progress.advance(level, offset)
        if not entries:
            self._late.discard(level)
            return now + max(self._delays[level - 1], _SHORTEST_REST_MS)
        group = self._collect(level, offset, entries, now)
        if now - group.first_due > OVERDUE_MS:
            self._late.add(level)
        else:
            self._late.discard(level)
        reached = self._store_group(group) if group.drafts else group.end
        for number, error in sorted(group.passed, key=itemgetter(0)):
            if number < reached:
                self.dropped += 1
                self._losses.add(f"delay level {level}: the message at offset {number} is not delivered: {error}")
        if reached != offset:
            self._progress.advance(level, reached)
        return group.next_due if reached == group.end else now + _RETRY_MS

    def _collect(self, level: int, offset: int, entries: bytes, now: int) -> _Group:
        """The messages that are due among some entries of a level, the first of them at an offset."""
        drafts: list[Draft] = []
        offsets: list[int] = []
        passed: list[tuple[int, Exception]] = []
        size = 0
        due = now
        first_due = ENTRY_STRUCT.unpack_from(entries)[2]
        if not HIGHEST_EXT_ADDRESS < first_due <= now:
            first_due = now
        part: LogPart | None = None
        for place, record_size, tags_code in ENTRY_STRUCT.iter_unpack(entries):
            if not HIGHEST_EXT_ADDRESS < tags_code <= now:
                due = self._due(level, place, record_size, tags_code, now)
                if due > now:
                    break
            if size > _GROUP_BYTES:
                break
            try:
                if part is None or not part.start <= place <= part.end - record_size:
                    part = self._part(place, record_size)
                at = place - part.start
                drafts.append(restore_delayed(part.data[at : at + record_size]))
                offsets.append(offset)
                size += record_size
            except DestinationInvalid as error:
                passed.append((offset, error))
            offset += 1
        return _Group(drafts, offsets, passed, first_due, offset, due)

    def _part(self, place: int, size: int) -> LogPart:
        """The part of the log with the record at a position."""
        part = self._store.log_part(place)
        if part is None or place > part.end - size:
            raise DestinationInvalid("it is not in the log any more")
        return part

    def _due(self, level: int, place: int, size: int, tags_code: int, now: int) -> int:
        """When an entry's message is due, in ms since 1970."""
        delay = self._delays[level - 1]
        if tags_code <= HIGHEST_EXT_ADDRESS:  # the time is in the queue's extension: Apache's enableConsumeQueueExt
            record = self._store.record_at(place, size)
            tags_code = now if record is None else store_timestamp(record) + delay
        return tags_code if tags_code <= now + delay else now

    def _store_group(self, group: _Group) -> int:
        """Store a group; returns the offset behind the messages that are done: the group's end if all are."""
        reached = group.end

        def outcome(appended: Sequence[AppendResult], _code: ResponseCode, refusals: Refusals) -> None:
            nonlocal reached
            for number, error in sorted(refusals.items(), key=itemgetter(0)):
                if not isinstance(error, DraftRefused):
                    reached = group.offsets[number]
                    self._note_refusal(error)
                    break
                group.passed.append((group.offsets[number], error))
            else:
                self._refused = False
            self.delivered += len(appended) - len(refusals)

        self._storing.append_and_report(group.drafts, outcome, wait=False)
        self._wake()
        return reached

    def _note_refusal(self, error: Exception) -> None:
        if not self._refused:
            log.warning("delayed messages are not delivered for now: %(reason)s", {"reason": error})
        self._refused = True
