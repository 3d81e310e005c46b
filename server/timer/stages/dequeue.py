"""The third and fourth stages: units that are due are taken out of the wheel, and their records fetched."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple

import trio

from rocketwire.server.core.background import OVERDUE_MS, BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.messages.restoring import DestinationInvalid
from rocketwire.server.timer.records import NotYetDue, RecordLost, drafts_to_store
from rocketwire.server.timer.tasks import JobFaults, WakeSignal
from rocketwire.server.timer.topic import split_into_groups
from rocketwire.server.timer.wheel.loaded import DueCopy, DueRun, LoadedSlot
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.append.drafts import Draft
from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import DueTimerUnit

#: Most messages of a group; of one that is overdue, while requests come.
GROUP: Final = 256
_SMALL_GROUP: Final = 16


class DequeueGet:
    """Sends groups of messages that are due to the next stage."""

    def __init__(self, wheel: NearWheel, bell: WakeSignal, budget: BackgroundBudget) -> None:
        self._wheel = wheel
        self._bell = bell
        self._budget = budget
        self._faults = JobFaults("reading the timer's wheel")

    async def run(self, groups: trio.MemorySendChannel[Sequence[DueRun]]) -> None:
        """Send groups without end."""
        while True:
            async with self._faults.log_and_pause():
                await self._step(groups)

    async def _step(self, groups: trio.MemorySendChannel[Sequence[DueRun]]) -> None:
        wheel = self._wheel
        now = wheel.now()
        overdue = wheel.lag(now) > OVERDUE_MS
        more, runs = await self._budget.call(partial(self._take, now, overdue=overdue), overdue=overdue)
        try:
            more |= await self._budget.call(partial(wheel.read, now), overdue=overdue)
        except (OSError, StoreError):
            while runs:  # messages in memory do not wait for the reading
                await groups.send(runs)
                runs = wheel.take(wheel.now(), GROUP)
            raise
        if runs:
            await groups.send(runs)
        elif more:
            await trio.lowlevel.checkpoint()
        else:
            await self._bell.wait(wheel.pause_seconds(now))

    def _take(self, now: int, *, overdue: bool) -> tuple[bool, list[DueRun]]:
        """Pass slots that are over, and take out messages that are due; also whether there are more such slots."""
        more = self._wheel.pass_slots(now)
        return more, self._wheel.take(now, _SMALL_GROUP if overdue and self._budget.is_busy() else GROUP)


log = logging.getLogger(__name__)

_by_unit: Final = itemgetter(0)


class _Wanted(NamedTuple):
    """A unit of a slot, due at a time in ms."""

    unit: DueTimerUnit
    slot: LoadedSlot
    due: int


class DequeueMessage:
    """Turns units into copies to store."""

    def __init__(self, index: TimerIndex, store: StoreProtocol, clock: Clock, budget: BackgroundBudget) -> None:
        self._index = index
        self._store = store
        self._clock = clock
        self._budget = budget
        self._faults = JobFaults("reading timer messages that are due")

    async def run(
        self, groups: trio.MemoryReceiveChannel[Sequence[DueRun]], copies: trio.MemorySendChannel[list[DueCopy]]
    ) -> None:
        """Fetch the records of each group, without end."""
        async for runs in groups:
            budget = self._budget if self._clock() - min(run.due for run in runs) > OVERDUE_MS else None
            for part in await self._faults.until_done(partial(self._parts, runs), budget):
                await copies.send(await self._faults.until_done(partial(self._fetch, part), budget))

    def _parts(self, runs: Sequence[DueRun]) -> list[list[_Wanted]]:
        """The units of a group in the order of their records, in parts whose records are not too large together."""
        wanted: list[_Wanted] = []
        for slot, due, positions in runs:
            if slot.dropped:
                continue
            wanted += [_Wanted(unit, slot, due) for unit in self._index.log.due_units(positions)]
        wanted.sort(key=_by_unit)
        return list(split_into_groups(wanted, [unit.record_size for unit, _, _ in wanted]))

    def _fetch(self, wanted: list[_Wanted]) -> list[DueCopy]:
        copies: list[DueCopy] = []
        units = [each.unit for each in wanted]
        now = self._clock()
        early, at = False, 0
        while at < len(units):
            place = units[at].physical_offset
            part = self._store.log_part(place)
            end = at + 1
            if part is None:
                drafts: list[Draft | DestinationInvalid] = [RecordLost("it is not in the log any more")]
            else:
                while end < len(units) and units[end].physical_offset < part.end:
                    end += 1
                drafts = drafts_to_store(part, units[at:end], now)
            copies += [
                DueCopy(slot, due, unit.position, unit.rolls, draft)
                for (unit, slot, due), draft in zip(wanted[at:end], drafts, strict=True)
            ]
            early = early or NotYetDue in map(type, drafts)
            at = end
        # Only now: when the group is read again after an error, the result is the same.
        return _with_early(copies, now) if early else copies


def _with_early(copies: list[DueCopy], now: int) -> list[DueCopy]:
    """Store messages that are not due, although their units are, in new records.

    If the unit is not due either, the clock was set back meanwhile: the fifth stage drops such slots from memory.
    """
    result: list[DueCopy] = []
    damaged: list[int] = []
    for copy in copies:
        draft = copy.draft
        if isinstance(draft, NotYetDue) and copy.due <= now:
            damaged.append(copy.position)
            copy.slot.rolls += 1
            result.append(copy._replace(rolls=True, draft=draft.again))
        else:
            result.append(copy)
    if damaged:
        log.error(
            "timer: %(units)d units of the timer log are damaged, the first at %(position)d; their messages wait on",
            {"units": len(damaged), "position": min(damaged)},
        )
    return result
