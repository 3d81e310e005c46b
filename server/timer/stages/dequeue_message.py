"""The fourth stage: fetches the records of messages that are due, in the order of the log."""

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
from rocketwire.server.timer.groups import split_into_groups
from rocketwire.server.timer.records import NotYetDue, RecordLost, drafts_to_store
from rocketwire.server.timer.tasks import JobFaults
from rocketwire.server.timer.wheel.loaded import DueCopy, DueRun, LoadedSlot
from rocketwire.store.append.drafts import Draft
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import DueTimerUnit

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
        """Fetch the records of each group, for ever."""
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
