"""Recovery of the timer at a start: finds out from its files and the commit log which messages still wait.

After a clean stop of rocketwire the wheel is used if it leads to all waiting units, and units are only counted. Else:

* The timer log is read up to the first unit that is not whole; those behind the last checkpoint are compared with their
  record. If it ends before the checkpoint, or it is not known how far it was written, all records of the timer's queue
  get a unit again.
* A unit waits if its outcome is WAITS, or if its outcome may be a torn write or belong to a copy that the log may have
  lost since the checkpoint. A marker of a slot that may not have been processed waits again: processing it twice does
  no harm.
* A copy settles its unit. Copies are searched in the log behind the physical offset that the checkpoint proves.
* A unit whose record the log has lost is dropped. Of several units of one record the last one counts.
* The wheel is rebuilt from the units. So the precision may have been changed: times in units are in ms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from mmap import PAGESIZE
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.ma  # np.unique loads it at its first call, which would be a step of the event loop, of 45 ms

from rocketwire.store.layout.timer_log import (
    FILLER,
    NO_COPY,
    NO_RECORD,
    NO_UNIT,
    UNIT,
    UNIT_SIZE,
    UNIT_STRUCT,
    WAITS,
    UnitMagic,
)
from rocketwire.store.timer.check import StartPositions, TimerCheckpoint, plausible_checkpoint
from rocketwire.store.timer.copies import ForeignCopies, Key, find_copies, is_copy_of, key_of_copy, keys_of_record
from rocketwire.store.timer.unit_table import ByRecord, UnitTable
from rocketwire.store.timer.units import TimerUnit, is_timer_record, slot_of, topic_hash_of, unit_matches_record
from rocketwire.store.timer.wheel_rebuild import is_over_a_lap_late, leads_to_all, pull_slots_forward, rebuild
from rocketwire.wire.facts.layout import positions
from rocketwire.wire.java import INT64_MAX
from rocketwire.wire.names import TIMER_TOPIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocketwire.store.store import MessageStore
    from rocketwire.store.timer.log import TimerLog
    from rocketwire.store.timer.wheel import TimerWheel

_OUTCOME_AT: Final = positions(UNIT)["outcome"]
_QUEUE: Final = (TIMER_TOPIC, 0)
_DEFAULT: Final = int(UnitMagic.DEFAULT)
#: Records that are entered in one step.
_AT_ONCE: Final = 512
_NOWHERE: Final = INT64_MAX


class TimerRecovery:
    """One recovery; `steps` does it.

    Attributes:
        read_time: Start in ms of the slot to be read next.
        queue_offset: Offset of the first record that may have no unit.
        already: Physical offsets of records behind it that have one, or were delivered.
        pending: Messages that wait, by the hash of their topic.
        stale: Units dropped because the log has lost their records.
        repaired: Whether more was done than counting.
    """

    def __init__(
        self,
        log: TimerLog,
        wheel: TimerWheel,
        check: TimerCheckpoint | None,
        store: MessageStore,
        precision: int,
        ends: StartPositions,
        begin_again: Callable[[], None],
    ) -> None:
        self._log = log
        self._wheel = wheel
        self._check = plausible_checkpoint(check, newest=ends.now + wheel.slots * precision, log_end=log.files_end)
        self._store = store
        self._begin_again = begin_again
        self._precision = precision
        self._ends = ends
        self._units = UnitTable(log, precision)
        self.queue_offset = min(max(self._check.last_queue_offset, store.min_offset(*_QUEUE)), ends.queue)
        self.read_time = slot_of(self._check.last_read_time, precision)
        self.already: set[int] = set()
        self.pending: Counter[int] = Counter()
        self.stale = 0
        self.repaired = False
        #: By physical offset of a record without a unit: the physical offset of its copy.
        self._copied: dict[int, int] = {}

    def steps(self) -> Iterator[None]:
        """Recover, some milliseconds at a time.

        Raises:
            StoreError: a file cannot be written.
        """
        trusted = self._trusts_check()
        yield from self._read_units(strictly=not trusted)
        units = self._units
        # Apache's broker writes no outcome. Messages put since may be due earlier: the clock may have been set back.
        over = (units.number * self._precision < self.read_time) & (units.position < self._check.last_log_flushed)
        units.outcome[units.waits & over] = NO_COPY
        check = self._check
        # A check with neither was written by a recovery that was rebuilding everything, and was stopped.
        known = bool(check.last_log_flushed or check.last_queue_offset or units.end == self._log.start)
        complete = check != TimerCheckpoint() and known and check.last_log_flushed <= units.end
        trusted = trusted and check.last_log_flushed == units.end and leads_to_all(self._wheel, units)
        if not (trusted and complete):
            self.repaired = True
            self._log.resume(units.end, clear=True)
            yield from self._repair(complete=complete)
        units = self._units
        self.already.update(units.physical_offset[units.physical_offset >= self._place(self.queue_offset)].tolist())
        self._choose_read_time()
        self._count()

    def _trusts_check(self) -> bool:
        own = self._check.extension
        return (
            own is not None
            and own.clean
            and own.log_place == self._ends.log  # nothing has been appended since
            and own.precision == self._precision
            and self._store.recovered.clean
            and self._wheel.exists
        )

    # --- the timer log ---

    def _read_units(self, *, strictly: bool) -> Iterator[None]:
        yield from self._units.read(
            strict_from=self._check.last_log_flushed if strictly else _NOWHERE,
            is_whole=self._is_whole,
            oldest=self.read_time,
            first_offset=self._place(self.queue_offset),
            copies_from=self._ends.log if (own := self._check.extension) is None else own.log_place,
        )
        self._log.resume(self._units.end, clear=False)

    def _place(self, queue_offset: int) -> int:
        place = self._store.place(_QUEUE, queue_offset)
        return _NOWHERE if place is None else place

    def _is_whole(self, unit: TimerUnit) -> bool:
        """Whether a unit fits its record; one whose record the log has lost is handled later."""
        if unit.outcome == FILLER:
            return True
        if not self._store.log.start <= unit.physical_offset < self._ends.log:
            return True
        return unit_matches_record(unit, self._store.record_at(unit.physical_offset))

    # --- the outcomes of the units ---

    def _repair(self, *, complete: bool) -> Iterator[None]:
        units = self._units
        doubted_from = self._copies_from(complete=complete)
        self._doubt_outcomes(doubted_from)
        stale = units.waits & (units.physical_offset + units.record_size > self._ends.log)
        self.stale = int(np.count_nonzero(stale))
        self._drop(stale)
        units.settle_doubles()
        pull_slots_forward(units, self._wheel.slots, self._ends.now // self._precision)
        behind = is_over_a_lap_late(units, self._wheel.slots)
        complete = complete and not behind.any()
        if not complete:
            self._begin_again()
            self.queue_offset = self._store.min_offset(*_QUEUE)
            # These get units again; so do markers, because the message they cancelled may have no unit any more.
            self._drop(behind | (units.deletes & (units.outcome == NO_COPY)))
        yield
        # The set of waiting units has changed since: all doubtful outcomes have to be found.
        yield from self._settle_copied(min(doubted_from, self._copies_from(complete=complete)), complete=complete)
        yield from units.write()
        own = self._check.extension
        other_precision = own is not None and own.precision != self._precision
        yield from rebuild(self._wheel, units, oldest=1 if other_precision else self.read_time // self._precision)
        yield from self._enter_copied()

    def _doubt_outcomes(self, copies_from: int) -> None:
        """Make units wait whose copy may be lost; the copies that are not lost are found from there on."""
        units = self._units
        outcome = units.outcome
        doubtful = (outcome >= min(copies_from, self._ends.log)) | ((outcome > 0) & (outcome <= units.physical_offset))
        doubtful |= outcome < NO_COPY
        # The outcome spans two pages, of which a power cut may leave one.
        within = units.position % units.file_size % PAGESIZE
        torn = (outcome > 0) & ~doubtful & (within > PAGESIZE - UNIT_SIZE) & (within < PAGESIZE - _OUTCOME_AT)
        for index in np.flatnonzero(torn).tolist():
            copy, physical_offset = int(outcome[index]), int(units.physical_offset[index])
            if copy >= self._store.log.start and not is_copy_of(self._store.record_at(copy), physical_offset):
                doubtful[index] = True
        # A marker is processed again, because the message it cancels may wait again.
        for index in np.flatnonzero(units.deletes & (outcome == NO_COPY)).tolist():
            if self._may_be_undone(units.unit(index)):
                doubtful[index] = True
        outcome[doubtful] = WAITS

    def _may_be_undone(self, marker: TimerUnit) -> bool:
        return marker.slot_time >= self.read_time and self._is_whole(marker)

    def _drop(self, which: NDArray[np.bool_]) -> None:
        """Mark units as having no record any more."""
        self._units.outcome[which] = NO_RECORD
        self._units.physical_offset[which] = -1

    # --- copies ---

    def _settle_copied(self, start: int, *, complete: bool) -> Iterator[None]:
        if complete and self._check.extension is not None:
            yield from self._settle_by_copies(start, None)
            return
        foreign = ForeignCopies(self._store)
        yield from self._settle_by_copies(start, foreign)
        for pairs in foreign.of_units(self._units):
            for index, copy_at in pairs:
                self._units.outcome[index] = copy_at
            yield
        for places in foreign.of_records(self.queue_offset, self._ends.queue):
            self._copied.update(places)
            yield

    def _copies_from(self, *, complete: bool) -> int:
        """Physical offset from which on there may be copies that are missing from the units' outcomes."""
        if not complete:
            return self._store.log.start
        own = self._check.extension
        return self._store.file_before(self._oldest_copy()) if own is None else own.log_place

    def _oldest_copy(self) -> int:
        """The earliest time in ms of a copy for a waiting unit, or for a record without a unit."""
        units = self._units
        times = units.number[units.waits] * self._precision
        oldest = min(self._check.last_read_time, int(times.min()) if len(times) else _NOWHERE)
        if self.queue_offset < self._ends.queue:
            oldest = min(oldest, self._store.store_time(*_QUEUE, self.queue_offset))
        return oldest

    def _settle_by_copies(self, start: int, foreign: ForeignCopies | None) -> Iterator[None]:
        """Settle units by the copies from a physical offset on; `foreign` gets copies that do not name their record."""
        first = self._place(self.queue_offset)
        settled = ByRecord(self._units)
        of_first = self._keys_of_first()
        for copies in find_copies(self._store, start, self._ends.log):
            for copy in copies:
                if copy.prepared_offset or (foreign is None and of_first and key_of_copy(copy.record) in of_first):
                    has_unit = settled.settle(copy.prepared_offset, copy.physical_offset)
                    if copy.prepared_offset >= first and not has_unit:
                        self._copied[copy.prepared_offset] = copy.physical_offset
                elif foreign is not None:
                    foreign.add(copy)
            yield

    def _keys_of_first(self) -> tuple[Key, ...]:
        """The keys for copies of the log's very first record: its physical offset, 0, means none."""
        record = self._store.record_at(0)
        return () if record is None or not is_timer_record(record) else keys_of_record(record)

    def _enter_copied(self) -> Iterator[None]:
        """Add settled units for records that were delivered and have no unit, so that the next recovery knows."""
        for number, (place, copy_at) in enumerate(sorted(self._copied.items()), 1):
            record = self._store.record_at(place)
            if record is not None and is_timer_record(record):
                self._log.make_room(1)
                time = max(self.read_time - self._precision, 0)
                row = (UNIT_SIZE, NO_UNIT, _DEFAULT, time, 0, place, len(record), topic_hash_of(record), copy_at)
                self._log.append(UNIT_STRUCT.pack(*row))
                self.already.add(place)
            if number % _AT_ONCE == 0:
                yield

    # --- the result ---

    def _choose_read_time(self) -> None:
        """Start reading at the first slot with a waiting unit; without one, at the first slot that is not over."""
        units = self._units
        waits = units.waits
        time = slot_of(self._ends.now, self._precision)
        if waits.any():
            time = min(time, int(units.number[waits].min()) * self._precision)
        self.read_time = time

    def _count(self) -> None:
        units = self._units
        messages = units.waits & ~units.deletes
        hashes, counts = np.unique(units.topic_hash[messages], return_counts=True)
        self.pending = Counter(dict(zip(hashes.tolist(), counts.tolist(), strict=True)))
