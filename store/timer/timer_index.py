"""The index of waiting timer messages: a unit in the timer log for each, a slot of the wheel for each time.

The consume queue of the timer's topic is the source of truth: a record there waits until its copy is stored. Records
before `queue_offset` have a unit, without an outcome while they wait. Log and wheel are memory-mapped, so a killed
process loses nothing; `recovery` restores what a power cut loses.

No file is created before the first `put`. All belongs to one thread except `save`, which waits for the disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from rocketwire.store.errors import DiskFull
from rocketwire.store.layout.timer_log import NO_UNIT
from rocketwire.store.timer.check import StartPositions, TimerCheckpoint
from rocketwire.store.timer.log import TimerLog
from rocketwire.store.timer.packing import pack
from rocketwire.store.timer.saver import TimerFilesSaver, TimerSnapshot
from rocketwire.store.timer.units import TimerRecord, TimerUnit, slot_of
from rocketwire.store.timer.wheel import Slot, TimerWheel, empty
from rocketwire.wire.names import TIMER_TOPIC

if TYPE_CHECKING:
    from rocketwire.store.disk.files import FileSystem
    from rocketwire.store.settings import StoreSettings
    from rocketwire.store.store import MessageStore

__all__ = ["TimerIndex", "TimerSnapshot"]

#: Units that are read of a slot at once.
_PART: Final = 64
#: A window larger than half of the wheel less these slots, or of one slot, is set to that, as by Apache's brokers.
_SPARE: Final = 60


class TimerIndex:
    """The open index of one store; made by `open`, usable when `recovery` is exhausted.

    Attributes:
        precision: Milliseconds of a slot.
        window: A message that is so many slots away or more rolls: it is stored again for another round.
        queue_offset: Offset of the next record of the timer's topic that gets a unit; set by the caller of `put`.
        read_time: Start in ms of the slot to be read next; no slot before it holds a unit that waits.
        pending: Messages that wait, markers not counted.
        pending_by_hash: The same by the hash of their topic.
        stale: Units that recovery dropped because the log was cut before their records.
        already_until: Queue offset up to which `already` applies.
        blocked: Number of the slot that the last `put` could not write; None when it put all.
    """

    def __init__(self, settings: StoreSettings, store: MessageStore, files: FileSystem, now: int) -> None:
        self.precision = settings.timer_precision
        self.log = TimerLog(settings.timer_log, settings.timer_log_file_size, files)
        self.wheel = TimerWheel(settings.timer_wheel, files)
        window, most = settings.timer_roll_window, self.wheel.slots // 2 - _SPARE
        self.window = window if 2 <= window < most else most
        self.queue_offset = 0
        self.read_time = slot_of(now, self.precision)
        self.pending = 0
        self.pending_by_hash: Counter[int] = Counter()
        self.stale = 0
        self.already_until = 0
        self.blocked: int | None = None
        self._taken = 0
        self._already: set[int] = set()
        self._store = store
        self._saver = TimerFilesSaver(settings, self.log, self.wheel, files)
        self._ends = StartPositions(store.max_physical_offset, store.max_offset(TIMER_TOPIC, 0), now)

    @classmethod
    def open(cls, settings: StoreSettings, store: MessageStore, files: FileSystem, *, now: int) -> TimerIndex:
        """Find the files of a store; `recovery` has to follow.

        Args:
            settings: The store's.
            store: The store, open and recovered.
            files: The file system.
            now: The time in ms.

        Raises:
            StoreForeign: the timer log has files of another size than in the settings.
            OSError: a file cannot be read.
        """
        self = cls(settings, store, files, now)
        self.log.load()
        self._saver.load()
        return self

    @property
    def needs_recovery(self) -> bool:
        """Whether anything may wait: then `recovery` imports numpy, which takes 0.1 s."""
        return bool(self._saver.check is not None or self.log.segments or self.wheel.exists or self._ends.queue)

    def recovery(self) -> Iterator[None]:
        """Find the waiting messages, in steps of some milliseconds; nothing else is called before it is exhausted.

        Raises:
            StoreError: a file cannot be written.
        """
        ends, saver = self._ends, self._saver
        if not self.needs_recovery:
            return
        from rocketwire.store.timer.recovery import TimerRecovery  # noqa: PLC0415 - needs numpy, most stores need no timer

        recovery = TimerRecovery(
            self.log, self.wheel, saver.check, self._store, self.precision, ends, saver.begin_again
        )
        yield from recovery.steps()
        self.read_time = recovery.read_time
        self.queue_offset = recovery.queue_offset
        self._already, self.already_until = recovery.already, ends.queue
        self.pending_by_hash = recovery.pending
        self.pending = recovery.pending.total()
        self.stale = recovery.stale
        if not recovery.repaired:
            return
        yield
        # Dropped units must not come back when other records are stored at the physical offsets of lost ones.
        snapshot = self.snapshot()
        if snapshot is not None:
            self._store.flush_to(ends.log)
            self.save(snapshot._replace(log_end=ends.log))

    # --- entering ---

    @property
    def already(self) -> AbstractSet[int]:
        """Physical offsets of records behind `queue_offset` that get no unit: they have one, or were delivered."""
        return self._already

    def forget_already(self) -> None:
        """Drop `already`: the queue was read to the end it had at the start."""
        self._already = set()

    def move_read_time(self, time: int) -> None:
        """Make the slot of a time in ms the next to be read; forwards only past slots of which no unit waits."""
        self.read_time = slot_of(time, self.precision)

    def put(self, waiting: Sequence[TimerRecord], write_time: int) -> list[tuple[int, int]]:
        """Enter messages in their order; return position and start of the slot in ms of each.

        A message due in a slot before `read_time` goes into the slot of `write_time`. The caller moves `queue_offset`.

        Args:
            waiting: The messages.
            write_time: The time in ms.

        Returns:
            Fewer than were given when there is no room for the next one: its slot still has units of another lap that
            wait (then none at all, as long as that lasts), or the disk is full (then the next call raises).

        Raises:
            DiskFull: there is no room for the first one; the same call may succeed later.
        """
        entered: list[tuple[int, int]] = []
        write_time = slot_of(write_time, self.precision)
        try:
            while len(entered) < len(waiting):
                room = self.log.make_room(len(waiting) - len(entered))
                following = waiting[len(entered) : len(entered) + room]
                done = self._put_together(following, write_time)
                entered += done
                if len(done) < len(following):
                    break
        except DiskFull:
            if not entered:
                raise
        return entered

    def _put_together(self, waiting: Sequence[TimerRecord], write_time: int) -> list[tuple[int, int]]:
        """Enter messages that all fit into the timer log's file; raises when not even the first has a slot."""
        rows, entered, slots, hashes, self.blocked = pack(self, waiting, write_time)
        if entered:
            self.log.append(rows)
            for slot in slots:
                self.wheel.put(slot)
            self.pending += len(hashes)
            self.pending_by_hash.update(hashes)
        return entered

    def slot_to_put(self, number: int) -> Slot | None:
        """The content of a slot, by its number, before it is written; None when units of another lap wait there.

        Raises:
            DiskFull: the disk has no room for it.
        """
        self.wheel.reserve(number)
        slot = self.wheel.at(number) or empty(number)
        if slot.time == number:
            return slot
        waits = slot.time * self.precision >= self.read_time and any(self._walk(slot))
        return None if waits else empty(number)

    # --- reading and settling ---

    def waiting_in(self, slot_ms: int) -> list[TimerUnit]:
        """The units of a slot, given by its start in ms, that wait: newest first."""
        return [unit for part in self.walk(slot_ms) for unit in part]

    def walk(self, slot_ms: int) -> Iterator[list[TimerUnit]]:
        """As `waiting_in`, some milliseconds' worth at a time; between two parts messages may be put and settled."""
        slot = self.wheel.get(slot_ms // self.precision)
        return iter(()) if slot is None else self._walk(slot)

    def _walk(self, slot: Slot) -> Iterator[list[TimerUnit]]:
        number, precision, position = slot.time, self.precision, slot.last_position
        while position != NO_UNIT:
            part, position = self.log.part_of_chain(position, _PART)
            yield [unit for unit in part if not unit[8] and (unit[3] + unit[4]) // precision == number]

    def next_slot(self, from_ms: int, to_ms: int) -> int | None:
        """Start in ms of the first slot that begins in [from_ms, to_ms) and holds units; maybe none of them waits."""
        precision = self.precision
        number = self.wheel.next(-(-from_ms // precision), -(-to_ms // precision))
        return None if number is None else number * precision

    def settle(self, position: int, outcome: int) -> None:
        """Set the outcome of a unit: see `settle_all`."""
        self.settle_all([(position, outcome)])

    def settle_all(self, outcomes: list[tuple[int, int]]) -> None:
        """Set the outcomes of units: the physical offset of the copy of each, or NO_COPY.

        Must be called in the same step as the append. A unit that is settled already is not counted again.

        Args:
            outcomes: Positions in the timer log, each with its outcome.
        """
        for topic_hash, count in self.log.settle(outcomes).items():
            self.pending -= count
            self.pending_by_hash[topic_hash] -= count

    def remove_settled_files(self) -> int:
        """Remove the oldest files of the timer log, as long as no unit of them waits; return how many.

        Only what is saved is removed.

        Raises:
            OSError: one cannot be removed.
        """
        # The outcomes of the oldest units must be flushed, with the copies; and all that recovery found needs a unit.
        unsaved = self._saver.saved != self._taken or self.queue_offset < self.already_until
        if unsaved or len(self.log.segments) <= 1:
            return 0
        from rocketwire.store.timer.unit_table import remove_settled_files  # noqa: PLC0415 - needs numpy

        return remove_settled_files(self.log)

    # --- the disk ---

    def check_now(self) -> TimerCheckpoint:
        """The progress that config/timercheck will hold when it is saved."""
        return self._saver.check_of(self._snapshot())

    def snapshot(self) -> TimerSnapshot | None:
        """What `save` has to flush; None when nothing changed since the last one.

        The store's log has to be flushed up to its `log_end` before it is saved.
        """
        snapshot = self._snapshot()
        if not (self.log.unsynced or self._saver.differs(snapshot)):
            return None
        return self._take(snapshot)

    def _take(self, snapshot: TimerSnapshot) -> TimerSnapshot:
        self._taken += 1
        return snapshot._replace(segments=self.log.take_unsynced(), number=self._taken)

    def _snapshot(self) -> TimerSnapshot:
        return TimerSnapshot(self._store.max_physical_offset, self.read_time, self.log.end, self.queue_offset, [])

    def save(self, snapshot: TimerSnapshot) -> None:
        """Flush a snapshot. Blocking; safe in a thread, one call at a time.

        Raises:
            FlushFailed: a sync failed; nothing is saved any more until the store is opened again.
            FlushDelayed: it could not be started now; the next snapshot includes it.
        """
        self._saver.save(snapshot, clean=False)

    def close(self) -> None:
        """Stop cleanly: prepare the files so that Apache's broker delivers nothing twice, and flush them.

        The store has to be flushed before, and closed after.

        Raises:
            StoreError: something could not be written; the next start recovers.
        """
        try:
            clean = True
            if len(self.log.segments):
                from rocketwire.store.timer.tidying import tidy  # noqa: PLC0415 - needs numpy

                clean = tidy(self, self._store, self._saver.save_log)
            snapshot = self._snapshot()
            if self.log.unsynced or self._saver.differs(snapshot, clean=clean):
                self._saver.save(self._take(snapshot), clean=clean)
        finally:
            self.log.close()
            self.wheel.unmap()
