"""The index of waiting timer messages."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import DiskFull
from rocketwire.store.layout.timer_check import FILE_SIZE
from rocketwire.store.layout.timer_log import UNIT_SIZE, blank
from rocketwire.store.layout.timer_wheel import SLOT_COUNT
from rocketwire.store.store import MessageStore
from rocketwire.store.timer.check import TimerCheckpoint, TimerCheckpointExtension, decode_checkpoint, encode_checkpoint
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord, slot_of
from rocketwire.store.timer.wheel import TimerWheel
from tests.store.crash_disk import CrashDisk
from tests.store.support import START, kill
from tests.store.timer.timers import HASH, Timers

NOW = START - START % 1000


def test_what_is_put_waits_in_its_slot_until_it_is_settled(tmp_path: Path, store: MessageStore) -> None:
    index = TimerIndex.open(store.settings, store, FileSystem(), now=NOW + 5)
    assert list(index.recovery()) == []
    assert not (tmp_path / "timerlog").exists()
    entered = index.put([TimerRecord(NOW + 2345, 100 * n, 90, 7, cancels=n == 2) for n in range(3)], NOW + 5)
    assert entered == [(52 * n, NOW + 2000) for n in range(3)]
    assert index.pending == index.pending_by_hash[7] == 2
    assert index.next_slot(NOW, NOW + 2000) is None
    assert index.next_slot(NOW, NOW + 2001) == NOW + 2000
    units = index.waiting_in(NOW + 2000)
    assert [unit.position for unit in units] == [104, 52, 0]
    assert [unit.cancels for unit in units] == [True, False, False]
    index.settle(52, 1234)
    assert [unit.position for unit in index.waiting_in(NOW + 2000)] == [104, 0]
    assert index.pending == 1
    snapshot = index.snapshot()
    assert snapshot is not None
    index.save(snapshot)
    assert index.snapshot() is None
    index.close()


def many(*outs: int) -> list[TimerRecord]:
    return [TimerRecord(out, 1000 * n, 100, HASH, cancels=False) for n, out in enumerate(outs, 1)]


def apaches_slot(out: int, now: int, window: int, precision: int) -> tuple[int, bool]:
    """As TimerMessageStore.doEnqueue of 5.5.0 has it: the time of the slot, and whether it rolls.

    But for one thing: with a window of 2, Apache's broker has what is 2 slots away roll in its own slot.
    """
    if out - now < window * precision or (window == 2 and out - now < 3 * precision):
        return out, False
    if out - now - window * precision < window // 3 * precision:
        return now + window // 2 * precision, True
    return now + window * precision, True


@given(
    outs=st.lists(st.integers(0, 400_000), min_size=1, max_size=60),
    precision=st.sampled_from([100, 200, 500, 1000]),
    window=st.integers(2, 200),
    late=st.integers(0, 30_000),
)
@settings(max_examples=60, deadline=None)
def test_messages_go_into_the_slots_that_apache_has_for_them(
    outs: list[int], precision: int, window: int, late: int
) -> None:
    with tempfile.TemporaryDirectory() as work, mock.patch.object(TimerWheel, "slots", 8192):
        root = Path(work)  # on a disk that syncs nothing, for it is done often
        timers = Timers(root / "store", CrashDisk(root), timer_precision=precision, timer_roll_window=window)
        index = timers.index
        index.move_read_time(NOW + late)
        now = NOW + 10_000
        entered = index.put(many(*(NOW + out for out in outs)), now + 7)
        assert len(entered) == len(outs)
        for (position, slot), out in zip(entered, outs, strict=True):
            unit = timers.unit(position)
            time, rolls = apaches_slot(NOW + out, now, window, precision)
            assert (unit.write_time, unit.rolls) == (now, rolls)
            if slot_of(time, precision) >= index.read_time:
                assert (unit.slot_time, slot) == (time, slot_of(time, precision))
            else:
                assert slot == max(now, index.read_time)
                assert slot_of(unit.slot_time, precision) == slot
        found = [(position, slot) for slot, position in timers.waiting()]
        assert sorted(found) == entered
        for slot in {slot for _, slot in entered}:
            kept = index.wheel.get(slot // precision)
            inside = [position for position, at in entered if at == slot]
            assert kept is not None
            assert (kept.first_position, kept.last_position, kept.messages) == (inside[0], inside[-1], len(inside))
        timers.store.close()


@pytest.mark.parametrize("slots", [2, 3])
def test_nothing_rolls_in_its_own_slot(tmp_path: Path, slots: int) -> None:
    """There it would be stored again while its marker, or what it cancels, is delivered."""
    timers = Timers(tmp_path, timer_roll_window=2)
    out = NOW + slots * 1000 + 500
    ((message, _), (marker, _)) = (timers.put(out, cancels=cancels)[0] for cancels in (False, True))
    rolls = slots > 2
    for position in (message, marker):
        unit = timers.unit(position)
        assert unit.rolls is (unit.slot_time // 1000 < out // 1000) is rolls
    timers.restart()
    assert [position for _, position in timers.waiting()] == [message, marker]


def test_a_group_fills_more_than_one_file(timers: Timers) -> None:
    entered = timers.index.put(many(*[NOW + 5_000] * 50), NOW)
    assert [position for position, _ in entered] == [n // 19 * 1024 + n % 19 * UNIT_SIZE for n in range(50)]
    first = (timers.settings.root / "timerlog" / f"{0:020d}").read_bytes()
    assert first[19 * UNIT_SIZE :].rstrip(b"\0") == blank(1024 - 19 * UNIT_SIZE)
    assert len(timers.index.waiting_in(NOW + 5_000)) == 50
    assert timers.index.log.last_unit() == timers.unit(entered[-1][0])


def test_between_two_parts_of_a_slot_messages_may_come_and_be_settled(tmp_path: Path) -> None:
    timers = Timers(tmp_path, timer_log_file_size=1 << 20)
    entered = timers.index.put(many(*[NOW + 5_000] * 5_000), NOW)
    seen = parts = 0
    for part in timers.index.walk(NOW + 5_000):
        parts += 1
        timers.index.settle_all([(unit.position, 1 << 40) for unit in part])
        timers.index.put(many(NOW + 5_000), NOW)
        seen += len(part)
    assert seen == len(entered)
    timers.index.settle(entered[0][0], 1 << 40)  # once more
    assert timers.index.pending == timers.index.pending_by_hash[HASH] == parts > 1


def test_a_slot_of_another_lap_is_not_written_over_while_it_waits(timers: Timers) -> None:
    lap = SLOT_COUNT * 1000
    index = timers.index
    ((position, slot),) = index.put(many(NOW + 5_000), NOW)
    now = NOW + lap
    waiting = many(now + 4_000, now + 5_500, now + 6_000)
    assert index.put(waiting, now) == [(UNIT_SIZE, now + 4_000)]
    assert index.put(waiting[1:], now) == []
    index.settle(position, 1 << 40)
    assert [at for _, at in index.put(waiting[1:], now)] == [now + 5_000, now + 6_000]
    assert index.waiting_in(slot) == []
    # One that is over is written over whatever it holds.
    index.move_read_time(now + 10_000)
    assert len(index.put(many(now + lap + 4_000), now + lap)) == 1


def test_two_messages_of_one_group_do_not_take_the_same_place(timers: Timers) -> None:
    lap = SLOT_COUNT * 1000
    timers.index.move_read_time(NOW)
    first, second = NOW + 5_000, NOW + 5_000 + lap
    assert [slot for _, slot in timers.index.put(many(first, second), second - 1_000)] == [first]


def test_a_full_disk_takes_what_fits(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    with mock.patch.object(TimerWheel, "slots", 8192):
        timers = Timers(tmp_path / "store", disk)
        index = timers.index
        group = many(*[NOW + 5_000 + n * 1000 for n in range(60)])
        disk.room = 0
        for _ in range(2):
            with pytest.raises(DiskFull):
                index.put(group, NOW)
        assert (index.pending, index.log.end) == (0, 0)
        disk.room = 1024 * 2 + (1 << 16)  # two files of the log, and one part of the wheel
        entered = index.put(group, NOW)
        assert len(entered) == 38
        with pytest.raises(DiskFull):
            index.put(group[38:], NOW)
        disk.room = None
        entered += index.put(group[38:], NOW)
        assert [slot for _, slot in entered] == [waiting.out_time for waiting in group]
        assert sorted(slot for slot, _ in timers.waiting()) == [waiting.out_time for waiting in group]
        # The other part of the wheel has no room: what goes into the first part is taken.
        disk.room = 1024
        far = index.wheel.slots // 2 * 1000
        near = many(NOW + 5_000, NOW + far - 100_000)
        other = (NOW // 1000 + far // 1000 - 100) % 8192 * 32 >> 16 != (NOW // 1000 + 5) % 8192 * 32 >> 16
        assert len(index.put(near, NOW)) == (1 if other else 2)
        kill(timers.store)


def test_a_chain_that_goes_forward_is_cut(timers: Timers) -> None:
    timers.put(*[NOW + 5_000] * 3)
    mapping = timers.index.log.mapping_of(0)
    mapping[UNIT_SIZE + 4 : UNIT_SIZE + 12] = (UNIT_SIZE * 2).to_bytes(8)
    assert [unit.position for unit in timers.index.waiting_in(NOW + 5_000)] == [2 * UNIT_SIZE, UNIT_SIZE]


def test_the_next_slot_is_found_over_many_empty_ones(timers: Timers) -> None:
    index = timers.index
    assert index.next_slot(NOW, NOW + 10**9) is None
    days = [NOW + day * 86_400_000 + 3_000 for day in range(2)]
    index.put(many(*days), NOW)
    assert index.next_slot(NOW, NOW + 10**9) == days[0]
    assert index.next_slot(days[0] + 1, NOW + 10**9) == days[1]
    assert index.next_slot(days[0] + 1, days[1]) is None
    assert index.next_slot(days[1] + 1, NOW + 10**12) is None


def test_nothing_is_saved_twice(timers: Timers) -> None:
    assert timers.index.snapshot() is None
    ((position, _),) = timers.put(NOW + 5_000)
    timers.save()
    assert timers.index.snapshot() is None
    counter = timers.index.check_now().counter
    for change in (
        lambda: timers.index.settle(position, 1 << 40),
        lambda: timers.index.move_read_time(NOW + 7_000),
        lambda: timers.put(NOW + 9_000),
    ):
        change()
        assert timers.index.check_now().counter == counter
        timers.save()
        counter += 1
    assert timers.index.check_now().last_queue_offset == 2


checks = st.builds(
    TimerCheckpoint,
    **dict.fromkeys(
        (
            "last_read_time",
            "last_log_flushed",
            "last_queue_offset",
            "master_queue_offset",
            "state_version",
            "timestamp",
            "counter",
        ),
        st.integers(0, 1 << 62),
    ),
    extension=st.none()
    | st.builds(
        TimerCheckpointExtension,
        log_place=st.integers(0, 1 << 62),
        precision=st.sampled_from([100, 1000]),
        clean=st.booleans(),
    ),
)


@given(checks, st.integers(0, 87), st.integers(1, 255))
def test_a_check_is_read_as_it_was_written(check: TimerCheckpoint, at: int, change: int) -> None:
    data = encode_checkpoint(check).ljust(FILE_SIZE, b"\0")
    assert decode_checkpoint(data) == (check if check != TimerCheckpoint() else decode_checkpoint(data))
    damaged = bytearray(data)
    damaged[at] ^= change
    found = decode_checkpoint(bytes(damaged))
    if found is not None and found.extension is not None:
        assert 56 <= at < 64  # between the two
