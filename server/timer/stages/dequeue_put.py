"""The fifth stage: stores the copies, and records the outcome of each message in the index.

Both happen in one step, so that no other task runs in between. Copies that the store refuses for now are retried
separately, a little later, while others are stored.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Final

import trio

from rocketwire.server.core.background import OVERDUE_MS, BackgroundBudget
from rocketwire.server.core.threads import run_with_checkpoints
from rocketwire.server.messages.loss_log import LossLog
from rocketwire.server.messages.message_writer import MessageWriter, Refusals
from rocketwire.server.messages.restoring import DestinationInvalid
from rocketwire.server.timer.counts import TimerCounts
from rocketwire.server.timer.records import CancelledMessage, NotYetDue, RecordLost
from rocketwire.server.timer.stages.enqueue import MANY_BEHIND
from rocketwire.server.timer.tasks import RETRY_SECONDS, JobFaults
from rocketwire.server.timer.topic import split_into_groups
from rocketwire.server.timer.wheel.loaded import DueCopy
from rocketwire.server.timer.wheel.markers import CancelMarkers
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.errors import DraftRefused, StoreError
from rocketwire.store.layout.timer_log import NO_COPY

log = logging.getLogger(__name__)

#: Most refused messages, or bytes of them, that are kept while new ones are taken.
_MOST_REFUSED: Final = 1024
_MOST_BYTES: Final = 16 << 20
_Steps = Generator[None, None, list[DueCopy] | None]
CarryOut = Callable[[_Steps], Awaitable[list[DueCopy] | None]]
"""Runs steps to their end: as background work, or in turns with other tasks."""


class DequeuePut:
    """Stores copies and rolled records.

    Args:
        wheel: The source of the copies.
        markers: Markers that are not in the index yet.
        storing: Stores messages.
        counts: Counts them.
        wake: Called when messages were stored.
        changed: Called when messages were settled.
        budget: Of the background work, which overdue messages are.
    """

    def __init__(
        self,
        wheel: NearWheel,
        markers: CancelMarkers,
        *,
        storing: MessageWriter,
        counts: TimerCounts,
        wake: Callable[[], None],
        changed: Callable[[], None],
        budget: BackgroundBudget,
    ) -> None:
        self._wheel = wheel
        self._markers = markers
        self._storing = storing
        self._counts = counts
        self._wake = wake
        self._changed = changed
        self._budget = budget
        self._losses = LossLog(log, logging.ERROR)
        #: Copies that were refused for now; those that caused a refusal come last.
        self._refused: list[DueCopy] = []
        self._retry_at = math.inf
        self._faults = JobFaults("timer messages are not delivered for now")
        self._preparing = JobFaults("timer messages wait to be delivered")

    async def run(self, groups: trio.MemoryReceiveChannel[list[DueCopy]]) -> None:
        """Store groups without end."""
        while True:
            await self._store_in_groups(await self._next(groups))

    async def _next(self, groups: trio.MemoryReceiveChannel[list[DueCopy]]) -> list[DueCopy]:
        """The next group to store: refused copies first, if it is time to retry them, then new ones."""
        copies: list[DueCopy] = []
        self._losses.log_if_due()
        with trio.move_on_at(min(self._retry_at, self._losses.due)):
            if len(self._refused) >= _MOST_REFUSED or sum(map(_size, self._refused)) >= _MOST_BYTES:
                await trio.sleep_forever()
            copies = await groups.receive()
        if trio.current_time() >= self._retry_at:
            copies = self._refused + copies
            self._refused, self._retry_at = [], math.inf
        return copies

    async def _store_in_groups(self, copies: list[DueCopy]) -> None:
        held_up: list[DueCopy] = []
        for number, group in enumerate(split_into_groups(copies, map(_size, copies))):
            if held_up:
                held_up += group
                continue
            late = self._wheel.now() - min(copy.due for copy in group) > OVERDUE_MS
            overdue = late or self._markers.behind >= MANY_BEHIND
            if number and not overdue:
                await trio.lowlevel.checkpoint()
            held_up = await self._store_when_ready(group, self._budget.carry_out if overdue else run_with_checkpoints)
        self._refused = held_up + self._refused
        if self._refused:
            self._retry_at = min(self._retry_at, trio.current_time() + RETRY_SECONDS)

    async def _store_when_ready(self, copies: list[DueCopy], carry_out: CarryOut) -> list[DueCopy]:
        """As `_store`, as soon as that can be done."""
        while True:
            unblamed = await carry_out(self._steps(copies))
            if unblamed is not None:
                return unblamed
            await trio.sleep(RETRY_SECONDS)

    def _steps(self, copies: list[DueCopy]) -> _Steps:
        """Store a group: as `_store`, but None if that cannot be done now.

        Before that read all markers, and open the files of the index: the outcomes of stored copies must be recorded.
        """
        try:
            for _ in self._markers.read_new(is_busy=self._budget.is_busy):
                yield
            for copy in copies:
                if not copy.slot.dropped:
                    self._wheel.index.log.mapping_of(copy.position)
        except (OSError, StoreError) as error:
            self._preparing.note(error)
            return None
        self._preparing.clear()
        return self._store(copies)  # no other task ran since the markers were read

    def _store(self, copies: list[DueCopy]) -> list[DueCopy]:
        """Store a group; returns the copies that were refused because of others."""
        now = self._wheel.now()
        copies = [copy for copy in copies if not copy.slot.dropped]
        if any(copy.due > now or isinstance(copy.draft, NotYetDue) for copy in copies):  # the clock was set back
            self._wheel.drop()
            return []
        copies = [copy for copy in copies if not self._is_settled(copy)]
        unblamed = self._append(copies, now)
        self._wake()
        self._changed()
        return unblamed

    def _is_settled(self, copy: DueCopy) -> bool:
        """Settle a message that needs no copy; false for any other."""
        draft = copy.draft
        if isinstance(draft, DestinationInvalid):
            self._drop(copy, draft)
            return True
        if copy.rolls or draft.unique_key is None:
            return False
        key = CancelledMessage(draft.topic, draft.unique_key)
        if key not in copy.slot.cancelled and not self._markers.is_cancelled(key, draft.properties):
            return False
        self._settle(copy, NO_COPY)
        self._counts.cancelled += 1
        return True

    def _append(self, copies: list[DueCopy], now: int) -> list[DueCopy]:
        """Store copies; one that causes a refusal is set aside, and the rest retried without it.

        Returns:
            The copies that were refused although they did not cause it: if the next ones are refused too, all are.
        """
        last: int | None = None
        while copies:
            drafts = [copy.draft for copy in copies if not isinstance(copy.draft, DestinationInvalid)]
            appended, refusals = self._storing.append(drafts)
            refused = next((n for n in sorted(refusals) if not isinstance(refusals[n], DraftRefused)), len(copies))
            self._note_stored(copies[:refused], appended, refusals, now)
            if refused == len(copies):
                self._faults.clear()
                return []
            self._faults.note(refusals[refused])
            self._refused.append(copies[refused])
            copies = copies[refused + 1 :]
            if refused == 0 and last == 0:
                return copies
            last = refused
        return []

    def _note_stored(
        self, copies: list[DueCopy], appended: Sequence[AppendResult], refusals: Refusals, now: int
    ) -> None:
        """Record the outcomes of copies that were stored, or never can be."""
        counts = self._counts
        stored = list(zip(copies, appended, strict=False))
        if refusals:
            for number in refusals:
                if number < len(copies):
                    self._drop(copies[number], refusals[number])
            stored = [each for number, each in enumerate(stored) if number not in refusals]
        if not stored:
            return
        self._wheel.index.settle_all([(copy.position, place.physical_offset) for copy, place in stored])
        self._wheel.settled([copy for copy, _ in stored])
        rolled = sum(1 for copy, _ in stored if copy.rolls)
        counts.rolled += rolled
        counts.delivered += len(stored) - rolled
        counts.lateness = now - min(copy.due for copy, _ in stored)

    def _settle(self, copy: DueCopy, outcome: int) -> None:
        self._wheel.index.settle(copy.position, outcome)
        self._wheel.settled([copy])

    def _drop(self, copy: DueCopy, error: Exception) -> None:
        """Skip a message that can never be stored."""
        if isinstance(error, RecordLost):
            self._counts.stale += 1
        else:
            self._counts.dropped += 1
            self._losses.add(f"timer: the message due at {copy.due} is not delivered: {error}")
        self._settle(copy, NO_COPY)


def _size(copy: DueCopy) -> int:
    draft = copy.draft
    return 0 if isinstance(draft, DestinationInvalid) else len(draft.body) + len(draft.properties)
