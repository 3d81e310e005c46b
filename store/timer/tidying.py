"""Preparing the timer's files at a clean stop for Apache's broker, which does not know the outcome of a unit.

At its start that broker reads the timer log and points each slot to the last of its units, whatever the wheel holds; it
delivers all units of the slots that are not over. And it assumes that the record of the last unit in the log is the
last one that has a unit. So for a slot that is not over and has settled units, those that wait are appended again, as a
separate chain; if none waits, a filler is appended: a marker that cancels nothing. The last unit of the log belongs to
the record before `queue_offset`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from rocketwire.store.errors import DiskFull
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.layout.timer_log import FILLER, NO_COPY, NO_UNIT, UNIT_SIZE, UNIT_STRUCT, WAITS, UnitMagic
from rocketwire.store.timer.unit_table import UnitTable
from rocketwire.store.timer.units import TimerUnit
from rocketwire.store.timer.wheel import Slot
from rocketwire.wire.java import INT64_MAX
from rocketwire.wire.names import TIMER_TOPIC

if TYPE_CHECKING:
    from rocketwire.store.store import MessageStore
    from rocketwire.store.timer.timer_index import TimerIndex

log = logging.getLogger(__name__)

_NOWHERE: Final = INT64_MAX


def tidy(index: TimerIndex, store: MessageStore, save_log: Callable[[], None]) -> bool:
    """Prepare timer log and wheel as described above; false when the disk is full, which is logged.

    The units appended again are flushed by `save_log` before the former ones are settled: if both wait, recovery uses
    the later ones.
    """
    offset, entries = store.queue_entries(TIMER_TOPIC, 0, index.queue_offset - 1, 1)
    try:
        if entries and offset == index.queue_offset - 1:
            moved = _Tidying(index, entries).run()
            if moved:
                save_log()
                index.log.settle([(position, NO_COPY) for position in moved])
    except DiskFull as error:
        log.warning(
            "Apache's broker would deliver some timer messages twice if it opened this store: %(reason)s",
            {"reason": error},
        )
        return False
    return True


class _Tidying:
    """One stop; `entry` is the consume queue entry of the last record that has a unit."""

    def __init__(self, index: TimerIndex, entry: bytes) -> None:
        self._index = index
        self._last_record, self._last_size, _ = ENTRY_STRUCT.unpack(entry)

    def run(self) -> list[int]:
        """Append the units; return the positions of the former units that were appended again."""
        index = self._index
        moved: list[int] = []
        for number, position in self._last_units():
            if any(unit.outcome not in (WAITS, FILLER) for unit in index.log.chain(position)):
                waiting = index.waiting_in(number * index.precision)
                self._append_again(number, waiting)
                moved += [unit.position for unit in waiting]
        last = index.log.last_unit()
        if last is not None and last.physical_offset != self._last_record:
            self._append_filler(index.read_time // index.precision - 1)
        return moved

    def _last_units(self) -> Iterator[tuple[int, int]]:
        """The slots that are not over and have settled units: the number, and the position of the last unit."""
        index = self._index
        units = UnitTable(index.log, index.precision, every=True)
        for _ in units.read(
            strict_from=_NOWHERE,
            is_whole=lambda _: True,
            oldest=index.read_time,
            first_offset=_NOWHERE,
            copies_from=_NOWHERE,
        ):
            pass
        settled = np.unique(units.number[~units.waits])
        numbers, from_end = np.unique(units.number[::-1], return_index=True)
        positions = units.position[::-1][from_end]
        wanted = np.isin(numbers, settled) & (numbers * index.precision >= index.read_time)
        return zip(numbers[wanted].tolist(), positions[wanted].tolist(), strict=True)

    def _append_again(self, number: int, waiting: list[TimerUnit]) -> None:
        index = self._index
        index.wheel.reserve(number)
        if not waiting:
            position = self._append_filler(number)
            index.wheel.put(Slot(number, position, position, 0, 0))
            return
        first = last = NO_UNIT
        count = 0
        for unit in reversed(waiting):
            last = self._append(unit._replace(previous=last))
            first = last if first == NO_UNIT else first
            count += -1 if unit.cancels else 1
        index.wheel.put(Slot(number, first, last, count, 0))

    def _append_filler(self, number: int) -> int:
        return self._append(
            TimerUnit(
                position=NO_UNIT,
                previous=NO_UNIT,
                magic=UnitMagic.DEFAULT | UnitMagic.DELETE,
                # Not `now`: after a wrong clock the slot may be farther away than the field `delay` can hold.
                write_time=number * self._index.precision,
                delay=0,
                physical_offset=self._last_record,
                record_size=self._last_size,
                topic_hash=0,
                outcome=FILLER,
            )
        )

    def _append(self, unit: TimerUnit) -> int:
        self._index.log.make_room(1)
        return self._index.log.append(UNIT_STRUCT.pack(UNIT_SIZE, *unit[1:]))
