"""The fourth stage: fetches the records of messages that are due, in the order of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

import trio

from rocketwire.server.clock import Clock
from rocketwire.server.restoring import Undeliverable
from rocketwire.server.timer.loaded import Copy, Run, Slot
from rocketwire.server.timer_records import Due, Stale, restored_timers, rolled_timers
from rocketwire.store.store import Draft, MessageStore
from rocketwire.store.timer.index import TimerIndex
from rocketwire.store.timer.units import Unit

#: Records of one group are not larger together, if there are more than one.
_GROUP_BYTES: Final = 512 << 10
_by_place: Final = itemgetter(0)


class _Wanted(NamedTuple):
    place: int
    unit: Unit
    slot: Slot
    due: int


class DequeueMessage:
    """Makes of units what is to be stored."""

    def __init__(self, index: TimerIndex, store: MessageStore, clock: Clock) -> None:
        self._index = index
        self._store = store
        self._clock = clock

    async def run(
        self, groups: trio.MemoryReceiveChannel[Sequence[Run]], copies: trio.MemorySendChannel[list[Copy]]
    ) -> None:
        """Fetch what comes, for ever."""
        async for runs in groups:
            for part in self._parts(runs):
                await copies.send(self._fetch(part))

    def _parts(self, runs: Sequence[Run]) -> Iterator[list[_Wanted]]:
        """The units of a group in the order of their records, so many at a time that these are not too large."""
        wanted: list[_Wanted] = []
        for slot, due, positions in runs:
            for unit in map(self._index.log.unit, positions):
                assert unit is not None  # noqa: S101 - files with units that wait are not removed
                wanted.append(_Wanted(unit.physical_offset, unit, slot, due))
        wanted.sort(key=_by_place)
        first = size = 0
        for number, each in enumerate(wanted):
            size += each.unit.record_size
            if size > _GROUP_BYTES and number > first:
                yield wanted[first:number]
                first, size = number, each.unit.record_size
        yield wanted[first:]

    def _fetch(self, wanted: list[_Wanted]) -> list[Copy]:
        copies: list[Copy] = []
        at = 0
        while at < len(wanted):
            part = self._store.log_part(wanted[at].place)
            if part is None:
                copies.append(_copy(wanted[at], Stale("it is not in the log any more")))
                at += 1
                continue
            end = at + 1
            while end < len(wanted) and wanted[end].place < part.end:
                end += 1
            now = self._clock()
            for rolls, make in ((False, restored_timers), (True, rolled_timers)):
                chosen = [each for each in wanted[at:end] if each.unit.rolls is rolls]
                if chosen:
                    drafts = make(
                        part, [Due(each.place, each.unit.record_size, each.unit.write_time) for each in chosen], now
                    )
                    copies += map(_copy, chosen, drafts)
            at = end
        return copies


def _copy(wanted: _Wanted, draft: Draft | Undeliverable) -> Copy:
    return Copy(wanted.slot, wanted.due, wanted.unit.position, wanted.unit.rolls, draft)
