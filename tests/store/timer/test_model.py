"""The timer's index against the commit log, whatever happens to either.

What happens: records that are stored, get units, are delivered, rolled and cancelled; saves; stops of the process, in
the middle of a write as well, and of the machine, which lose any of the dirty pages; files that are deleted between two
runs; a full disk; a clock that goes back; another precision. The log is the truth: a record of the timer's topic waits
as long as no copy of it is stored.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rocketwire.store.errors import DiskFull, FlushDelayed
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.layout.record import properties_of
from rocketwire.store.layout.timer_log import NO_COPY
from rocketwire.store.timer.copies import find_copies
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord, TimerUnit, due_time, slot_of
from rocketwire.store.timer.wheel import TimerWheel
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_properties
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.support import START, Clock, draft, kill, open_store, small

SLOTS = 1024
NOW = START - START % 1000


class KilledError(Exception):
    """The process ends here."""


class TimerModel(RuleBasedStateMachine):
    @initialize(precision=st.sampled_from([1000, 100]), log_file=st.sampled_from([1024, 4096, 8192]))
    def start(self, precision: int, log_file: int) -> None:
        shared = Path("/dev/shm")
        self.work = Path(tempfile.mkdtemp(prefix="rocketwire-timer-", dir=shared if shared.is_dir() else None))
        self.patch = mock.patch.object(TimerWheel, "slots", SLOTS)
        self.patch.start()
        self.machines = self.numbers = 0
        self.clock = Clock(NOW)
        self.precision = precision
        self.log_file = log_file
        self.cancelled: set[int] = set()
        self.boot({})

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.guard(self.finish)
            self.end()
            shutil.rmtree(self.work)
            self.patch.stop()

    # --- runs ---

    def boot(self, left: dict[str, bytes | None]) -> None:
        self.machines += 1
        self.root = self.work / str(self.machines)
        self.root.mkdir()
        disk_images.put(left, self.root)
        self.disk = CrashDisk(self.root)
        self.open()

    def open(self) -> None:
        self.disk.room = self.disk.observer = None
        settings = small(
            self.root / "store",
            commit_log_file_size=1 << 16,
            timer_log_file_size=self.log_file,
            timer_precision=self.precision,
            timer_roll_window=60,
        )
        self.store = open_store(settings, self.clock, self.disk)
        self.index = TimerIndex.open(settings, self.store, self.disk, now=self.clock.now)
        for _ in self.index.recovery():
            pass
        end = self.store.max_physical_offset
        self.cancelled = {place for place in self.cancelled if place < end}
        self.check()

    def guard(self, action: Callable[[], Any]) -> None:
        """Do something, in the middle of which the process may be killed."""
        try:
            action()
        except KilledError:
            self.disk.observer = None
            self.end()
            self.open()

    def end(self) -> None:
        if not self.store._closed:
            kill(self.store)

    # --- the content of the log ---

    def records(self) -> list[tuple[int, int, int]]:
        """Queue offset, place and size of the timer's records."""
        found: list[tuple[int, int, int]] = []
        offset, end = self.store.min_offset(TIMER_TOPIC, 0), self.store.max_offset(TIMER_TOPIC, 0)
        while offset < end:
            offset, entries = self.store.queue_entries(TIMER_TOPIC, 0, offset, 100)
            for place, size, _ in ENTRY_STRUCT.iter_unpack(entries):
                found.append((offset, place, size))
                offset += 1
        return found

    def properties(self, place: int) -> dict[str, str]:
        record = self.store.record_at(place)
        assert record is not None
        return decode_properties(properties_of(record).decode())

    def copied(self) -> list[int]:
        store = self.store
        parts = find_copies(store, store.log.start, store.max_physical_offset)
        return [copy.prepared_offset for part in parts for copy in part]

    def waiting(self) -> list[tuple[int, TimerUnit]]:
        """All units that wait, each with its slot, as the wheel leads to them."""
        found = []
        lap = SLOTS * self.precision
        for start in range(self.index.read_time, max(self.clock.now, self.index.read_time) + lap, lap):
            at: int | None = start
            while at is not None and (at := self.index.next_slot(at, start + lap)) is not None:
                found += [(at, unit) for unit in self.index.waiting_in(at)]
                at += self.precision
        return found

    def check(self) -> None:
        copied = self.copied()
        assert len(set(copied)) == len(copied), "delivered twice"
        done = set(copied)
        waiting = self.waiting()
        places = [unit.physical_offset for _, unit in waiting]
        assert len(set(places)) == len(places), "waits twice"
        known = {place: self.properties(place) for _, place, _ in self.records()}
        to_come = {
            place
            for offset, place, _ in self.records()
            if offset >= self.index.queue_offset
            and not (offset < self.index.already_until and place in self.index.already)
        }
        assert not to_come & set(places)
        there = to_come | set(places)
        markers = {known[place]["TIMER_DEL_UNIQKEY"] for place in there if "TIMER_DEL_UNIQKEY" in known[place]}
        for place, properties in known.items():
            marker = "TIMER_DEL_UNIQKEY" in properties
            if place in done:
                assert place not in there, "is redelivered"
                assert place not in self.cancelled or "TIMER_ROLL_TIMES" in properties
            elif place in self.cancelled:
                assert place not in there or marker or properties["UNIQ_KEY"] in markers, "cancelled, and comes"
            elif not marker:
                assert place in there, "lost"
        for slot, unit in waiting:
            out = int(known[unit.physical_offset]["TIMER_OUT_MS"])
            assert slot == slot_of(unit.slot_time, self.precision)
            assert unit.rolls or unit.slot_time >= out
            assert slot >= self.index.read_time
            assert unit.topic_hash == string_hash("T")
        hashes = [unit.topic_hash for _, unit in waiting if not unit.cancels]
        assert self.index.pending == len(hashes)
        assert self.index.pending_by_hash[string_hash("T")] == len(hashes)

    # --- messages ---

    @rule(
        group=st.lists(
            st.tuples(st.integers(-2_000, 200_000) | st.integers(0, 6).map(lambda n: n * 1000), st.booleans()),
            min_size=1,
            max_size=12,
        ),
        cancels=st.booleans(),
    )
    def send(self, group: list[tuple[int, bool]], cancels: bool) -> None:
        drafts = []
        for ahead, exact in group:
            self.numbers += 1
            out = self.clock.now + ahead
            out = slot_of(out, 1000) if exact else out
            item = f"UNIQ_KEY\x01U{self.numbers}\x02TIMER_OUT_MS\x01{out}\x02REAL_TOPIC\x01T\x02REAL_QID\x010"
            drafts.append(self.timer_draft(item))
            if cancels:
                drafts.append(self.timer_draft(item + f"\x02TIMER_DEL_UNIQKEY\x01U{self.numbers}"))
        self.guard(lambda: self.store.append(drafts))

    def timer_draft(self, item: str, prepared_offset: int = 0) -> Any:
        return draft(topic=TIMER_TOPIC, properties=item.encode(), prepared_offset=prepared_offset, keys=None)

    @rule(most=st.integers(1, 40))
    def enqueue(self, most: int) -> None:
        self.guard(lambda: self.put_some(most))

    def put_some(self, most: int) -> bool:
        """Give records units; false when none gets one."""
        index = self.index
        if index.queue_offset >= index.already_until:
            index.forget_already()
        records = [row for row in self.records() if row[0] >= index.queue_offset][:most]
        group: list[TimerRecord] = []
        for _, place, size in records:
            if place not in index.already:
                properties = self.properties(place)
                deletes = "TIMER_DEL_UNIQKEY" in properties
                group.append(
                    TimerRecord(int(properties["TIMER_OUT_MS"]), place, size, string_hash("T"), cancels=deletes)
                )
        try:
            entered = index.put(group, self.clock.now)
        except (DiskFull, OSError):
            assert self.disk.refused
            return False
        assert len(entered) <= len(group)
        if len(entered) == len(group):
            index.queue_offset += len(records)
        else:
            stop = group[len(entered)].physical_offset
            index.queue_offset = next(offset for offset, place, _ in records if place == stop)
        return bool(records) and (len(entered) > 0 or not group)

    def enqueue_all(self) -> None:
        while self.put_some(1000):
            pass

    @rule(passed=st.integers(0, 90_000), most=st.integers(0, 30) | st.just(1000), backwards=st.booleans())
    def deliver(self, passed: int, most: int, backwards: bool) -> None:
        self.clock.now += passed
        self.guard(lambda: self.deliver_some(most, backwards=backwards))

    def deliver_some(self, most: int, *, backwards: bool = False) -> None:
        index, now = self.index, self.clock.now
        self.enqueue_all()
        waiting = self.waiting()
        loaded = [unit for slot, unit in waiting if slot + self.precision <= now]
        # One that is late may be a slot behind what it cancels.
        markers = [unit for slot, unit in waiting if slot <= now and unit.cancels and not unit.rolls]
        cancels = {self.properties(unit.physical_offset)["TIMER_DEL_UNIQKEY"]: unit for unit in markers}
        messages = [unit for unit in loaded if unit.rolls or not unit.cancels]
        for unit in sorted(messages, reverse=backwards)[:most]:
            if not self.deliver_one(unit, cancels):
                return
        if len(messages) <= most:
            for unit in (unit for unit in markers if unit in loaded):
                index.settle(unit.position, NO_COPY)
                self.cancelled.add(unit.physical_offset)
            if index.queue_offset == self.store.max_offset(TIMER_TOPIC, 0):
                assert not [unit for slot, unit in self.waiting() if slot + self.precision <= now]
                index.move_read_time(max(index.read_time, slot_of(now, self.precision)))

    def deliver_one(self, unit: TimerUnit, cancels: dict[str, TimerUnit]) -> bool:
        properties = self.properties(unit.physical_offset)
        now = self.clock.now
        if not unit.rolls and properties["UNIQ_KEY"] in cancels:
            self.cancelled.add(unit.physical_offset)
            self.index.settle(unit.position, NO_COPY)
            return True
        times = int(properties.get("TIMER_ROLL_TIMES", 0)) + int(unit.rolls)
        stamps = {"TIMER_ENQUEUE_MS": unit.write_time, "TIMER_DEQUEUE_MS": now, "TIMER_ROLL_TIMES": times}
        item = "\x02".join(f"{name}\x01{value}" for name, value in {**properties, **stamps}.items())
        if unit.rolls:
            copy = self.timer_draft(item, unit.physical_offset)
        else:
            assert due_time(int(properties["TIMER_OUT_MS"]), self.precision) <= now + self.precision
            copy = draft(properties=item.encode(), prepared_offset=unit.physical_offset, keys=None)
        # A kill between the two is one of the machine: both are in one step for others.
        appended = self.store.append([copy])
        if not appended:
            assert self.disk.refused
            return False
        self.index.settle(unit.position, appended[0].physical_offset)
        return True

    def finish(self) -> None:
        """In the end nothing waits."""
        self.disk.room = self.disk.observer = None
        for _ in range(12):
            self.clock.now += 60_000
            for _ in range(20):
                self.deliver_some(1 << 30)
                if not self.waiting_now():
                    break
        self.check()
        assert not self.waiting()
        assert self.index.queue_offset == self.store.max_offset(TIMER_TOPIC, 0)

    def waiting_now(self) -> bool:
        self.enqueue_all()
        return any(slot + self.precision <= self.clock.now for slot, _ in self.waiting())

    @rule(back=st.integers(0, 20_000))
    def turn_clock_back(self, back: int) -> None:
        self.clock.now -= back
        self.index.move_read_time(min(self.index.read_time, self.clock.now))

    # --- the disk ---

    @rule()
    def save(self) -> None:
        self.guard(self.save_all)

    def save_all(self) -> None:
        snapshot = self.index.snapshot()
        if snapshot is None:
            return
        self.store.flush_to(snapshot.log_end)
        try:
            self.index.save(snapshot)
        except FlushDelayed:
            assert self.disk.refused

    @rule()
    def flush(self) -> None:
        self.guard(lambda: self.store.flush_to(self.store.max_physical_offset))

    @rule()
    def remove_files(self) -> None:
        self.guard(self.index.remove_settled_files)

    @rule(room=st.sampled_from([0, 4096, 20_000]))
    def fill_disk(self, room: int) -> None:
        self.disk.room = room

    @rule()
    def free_disk(self) -> None:
        self.disk.room = None

    @rule(steps=st.integers(0, 40))
    def kill_later(self, steps: int) -> None:
        at = self.disk.steps + steps

        def observe(step: Any) -> None:
            if step.number > at:
                raise KilledError

        self.disk.observer = observe

    # --- stops ---

    def close(self) -> None:
        self.disk.room = None
        self.store.flush_to(self.store.max_physical_offset)
        self.index.close()
        self.store.close()

    @rule(precision=st.sampled_from([1000, 1000, 100]))
    def stop(self, precision: int) -> None:
        def again() -> None:
            self.close()
            self.precision = precision
            self.open()

        self.guard(again)

    @rule()
    def kill(self) -> None:
        kill(self.store)
        self.open()

    @rule(changes=st.integers(0, 8), pages=st.integers(0, (1 << 64) - 1))
    def crash(self, changes: int, pages: int) -> None:
        self.disk.observer = None
        left = disk_images.after(self.disk.image(), disk_images.chosen(changes, pages))
        kill(self.store)
        self.boot(left)

    @rule(
        lost=st.sets(st.sampled_from(["timerlog", "timerwheel", "config/timercheck"]), min_size=1), clean=st.booleans()
    )
    def delete(self, lost: set[str], clean: bool) -> None:
        self.disk.observer = None
        if clean:
            self.close()
        else:
            kill(self.store)
        for name in lost:
            path = self.root / "store" / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self.disk = CrashDisk(self.root)
        self.open()

    @invariant()
    def all_is_right(self) -> None:
        if hasattr(self, "store"):
            self.guard(self.check)


TestTimerModel = TimerModel.TestCase
TestTimerModel.settings = hypothesis_settings(deadline=None, max_examples=40, stateful_step_count=25)
