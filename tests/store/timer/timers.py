"""What the tests of the timer's files share: a store with timer records, their index, and copies of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rocketwire.store.append.drafts import AppendResult
from rocketwire.store.disk.files import FileSystem
from rocketwire.store.settings import StoreSettings
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord, TimerUnit
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import TIMER_TOPIC
from tests.store.support import START, Clock, draft, kill, open_store, small

NOW = START - START % 1000
HASH = string_hash("T")


class Timers:
    """One store and its index."""

    def __init__(self, root: Path, files: FileSystem | None = None, **changes: Any) -> None:
        values: dict[str, Any] = {"commit_log_file_size": 1 << 16, "timer_log_file_size": 1024, **changes}
        self.settings: StoreSettings = small(root, **values)
        self.clock = Clock(NOW)
        self.files = files or FileSystem()
        self.open()

    def open(self) -> None:
        self.store: MessageStore = open_store(self.settings, self.clock, self.files)
        self.index = TimerIndex.open(self.settings, self.store, self.files, now=self.clock.now)
        for _ in self.index.recovery():
            pass

    def add(self, *outs: int, cancels: bool = False, rolled: int = 0) -> list[TimerRecord]:
        """Store timer records."""
        drafts = []
        for out in outs:
            item = f"UNIQ_KEY\x01U{out}\x02TIMER_OUT_MS\x01{out}\x02REAL_TOPIC\x01T\x02REAL_QID\x010"
            item += f"\x02TIMER_DEL_UNIQKEY\x01U{out}" if cancels else ""
            item += f"\x02TIMER_ROLL_TIMES\x01{rolled}\x02TIMER_DEQUEUE_MS\x01{self.clock.now}" if rolled else ""
            drafts.append(draft(topic=TIMER_TOPIC, properties=item.encode(), tags_code=0, keys=None))
        appended = self.store.append(drafts)
        return [
            TimerRecord(out, place, size, HASH, cancels=cancels)
            for out, (place, size, _) in zip(outs, appended, strict=True)
        ]

    def put(self, *outs: int, **changes: Any) -> list[tuple[int, int]]:
        """Store timer records, and give them units."""
        waiting = self.add(*outs, **changes)
        entered = self.index.put(waiting, self.clock.now)
        assert len(entered) == len(waiting)
        self.index.queue_offset += len(waiting)
        return entered

    def copy(self, unit: TimerUnit, *, by_apache: bool = False) -> AppendResult:
        """Store a message for a unit's record."""
        out = unit.slot_time if not unit.rolls else 0
        item = f"UNIQ_KEY\x01U{out}\x02TIMER_OUT_MS\x01{out}\x02REAL_TOPIC\x01T\x02TIMER_DEQUEUE_MS\x01{self.clock.now}"
        place = 0 if by_apache else unit.physical_offset
        (appended,) = self.store.append(
            [draft(properties=item.encode(), tags_code=0, prepared_offset=place, keys=None)]
        )
        return appended

    def unit(self, position: int) -> TimerUnit:
        unit = self.index.log.unit(position)
        assert unit is not None
        return unit

    def outcomes(self) -> list[int]:
        """Of all units of the log."""
        log = self.index.log
        positions = [segment.start + 52 * number for segment in log.segments for number in range(log.units_a_file)]
        return [unit.outcome for position in positions if (unit := log.unit(position)) is not None]

    def waiting(self) -> list[tuple[int, int]]:
        """Slot and position of all that waits, the oldest first."""
        found = []
        at: int | None = self.index.read_time
        while at is not None and (at := self.index.next_slot(at, at + 1_000_000_000)) is not None:
            found += [(at, unit.position) for unit in reversed(self.index.waiting_in(at))]
            at += self.index.precision
        return found

    def save(self) -> None:
        snapshot = self.index.snapshot()
        assert snapshot is not None
        self.store.flush_to(snapshot.log_end)
        self.index.save(snapshot)

    def kill(self) -> None:
        kill(self.store)
        self.open()

    def close(self) -> None:
        self.store.flush_to(self.store.max_physical_offset)
        self.index.close()
        self.store.close()

    def restart(self) -> None:
        self.close()
        self.open()
