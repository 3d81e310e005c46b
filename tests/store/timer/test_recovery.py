"""What the timer finds at a start, case by case; `test_model` has them in any order."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest

from rocketwire.store.errors import DiskFull, FlushFailed, StoreForeign
from rocketwire.store.layout import timer_check, timer_log
from rocketwire.store.layout.timer_log import FILLER, NO_COPY, NO_RECORD, UNIT_SIZE
from rocketwire.store.timer.check import TimerCheckpoint, read_checkpoint, write_checkpoint
from rocketwire.store.timer.timer_index import TimerIndex
from rocketwire.store.timer.units import TimerRecord
from rocketwire.store.timer.wheel import TimerWheel
from tests.store import disk_images
from tests.store.crash_disk import CrashDisk
from tests.store.support import kill
from tests.store.timer.timers import HASH, NOW, Timers

IN_5 = NOW + 5_500
IN_9 = NOW + 9_250


def void_extension(timers: Timers) -> None:
    """As when Apache's broker has written the check since."""
    path = Path(timers.settings.timer_check)
    data = bytearray(path.read_bytes())
    data[timer_check.CHECK_STRUCT.size - 1] ^= 1
    path.write_bytes(data)


def test_a_store_without_timer_messages_gets_no_files(tmp_path: Path) -> None:
    timers = Timers(tmp_path)
    timers.restart()
    timers.close()
    assert not {path.name for path in tmp_path.iterdir()} & {"timerlog", "timerwheel", "timercheck"}
    assert not (tmp_path / "config" / "timercheck").exists()


def test_units_survive_a_clean_stop_and_a_kill(timers: Timers) -> None:
    entered = timers.put(IN_5, IN_9, IN_5)
    expected = [(slot, position) for position, slot in (entered[0], entered[2], entered[1])]
    for again in (timers.restart, timers.kill, timers.kill, timers.restart):
        again()
        assert timers.waiting() == expected
        assert (timers.index.pending, dict(timers.index.pending_by_hash)) == (3, {HASH: 3})
        assert timers.index.read_time == NOW


def test_a_record_that_has_a_unit_gets_no_other_after_a_kill(timers: Timers) -> None:
    timers.put(IN_5)
    timers.save()
    (second,) = timers.add(IN_9)
    timers.index.put([second], NOW)  # and killed before the next checkpoint
    (third,) = timers.add(IN_9)
    timers.kill()
    index = timers.index
    assert (index.queue_offset, index.already_until) == (1, 3)
    assert set(index.already) == {second.physical_offset}
    assert third.physical_offset not in index.already
    timers.restart()  # before any query
    assert (timers.index.queue_offset, set(timers.index.already)) == (1, {second.physical_offset})
    timers.index.forget_already()
    assert not timers.index.already


def test_a_copy_settles_a_unit_without_an_outcome(timers: Timers) -> None:
    timers.put(NOW + 3)  # the log's first record
    (position, _), _ = timers.put(IN_5, IN_9)
    timers.save()
    copy = timers.copy(timers.unit(position))
    timers.kill()
    assert timers.unit(position).outcome == copy.physical_offset
    assert timers.index.pending == 2


def test_a_copy_of_a_record_without_a_unit_is_known_for_good(timers: Timers) -> None:
    timers.put(IN_5)
    timers.save()
    ((position, _),) = timers.put(IN_9)
    unit = timers.unit(position)
    timers.copy(unit)
    # The unit never reached the disk.
    segment = timers.index.log.segments.find(position)
    assert segment is not None
    segment.mapping[position : position + UNIT_SIZE] = bytes(UNIT_SIZE)
    for again in (timers.kill, timers.kill, timers.restart):
        again()
        assert set(timers.index.already) == {unit.physical_offset}
        assert timers.index.pending == 1


@pytest.mark.parametrize("outcome", [1 << 40, 1, -(1 << 40), NO_RECORD - 1])
def test_an_outcome_that_cannot_be_is_none(timers: Timers, outcome: int) -> None:
    timers.put(NOW + 3, IN_5)
    timers.save()
    timers.index.settle(UNIT_SIZE, outcome)
    timers.kill()
    assert timers.index.pending == 2
    assert timers.outcomes()[:2] == [0, 0]


@pytest.mark.parametrize("void", [False, True])
def test_an_outcome_counts_only_with_an_existing_copy(timers: Timers, *, void: bool) -> None:
    """After a power cut another record may stand where the copy stood."""
    (first, _), (second, _), (third, _) = timers.put(IN_5, IN_9, IN_9)
    timers.save()
    other = timers.add(IN_9 + 1_000)
    copy = timers.copy(timers.unit(second))
    timers.index.settle_all([(first, other[0].physical_offset), (second, copy.physical_offset)])
    timers.index.move_read_time(NOW + 7_000)
    if void:
        void_extension(timers)
    timers.kill()
    assert timers.outcomes()[:3] == [0, copy.physical_offset, 0]
    assert [position for _, position in timers.waiting()] == [first, third]


@pytest.mark.parametrize("whole", [False, True])
def test_half_an_outcome_is_compared_with_the_copy(tmp_path: Path, *, whole: bool) -> None:
    timers = Timers(tmp_path, timer_log_file_size=1 << 16, commit_log_file_size=1 << 20)
    timers.put(*[IN_5] * 709)
    unit = timers.unit(708 * UNIT_SIZE)
    assert unit.position + 44 < 9 * 4096 < unit.position + UNIT_SIZE  # in two pages, of which one may be lost
    timers.copy(unit._replace(physical_offset=1))
    timers.save()
    copy = timers.copy(unit) if whole else timers.copy(unit._replace(physical_offset=1))
    timers.index.settle(unit.position, copy.physical_offset)
    timers.kill()
    assert timers.index.pending == (708 if whole else 709)


def test_a_marker_is_done_again_with_what_it_cancelled(timers: Timers) -> None:
    ((message, _),) = timers.put(IN_5)
    ((marker, _),) = timers.put(IN_5, cancels=True)
    timers.save()
    timers.index.settle(marker, NO_COPY)  # the other page is lost
    timers.kill()
    assert [position for _, position in timers.waiting()] == [message, marker]
    assert timers.index.pending == 1


def test_a_unit_whose_record_the_log_has_lost_is_dropped_for_good(timers: Timers) -> None:
    timers.put(IN_5)
    (lost,) = timers.add(IN_9)
    timers.index.put([lost._replace(physical_offset=lost.physical_offset + 200)], NOW)
    timers.kill()
    assert (timers.index.stale, timers.index.pending) == (1, 1)
    assert timers.outcomes() == [0, NO_RECORD]
    assert not {lost.physical_offset + 200} & set(timers.index.already)
    timers.kill()
    assert timers.index.stale == 0


@pytest.mark.parametrize("field", ["out_time", "physical_offset", "record_size", "topic_hash"])
def test_a_unit_that_does_not_fit_its_record_ends_the_log(timers: Timers, field: str) -> None:
    waiting = timers.add(IN_5, IN_9, IN_9)
    wrong = TimerRecord._make((waiting[1]._asdict() | {field: 7}).values())
    timers.index.put([waiting[0], wrong, waiting[2]], NOW)
    timers.kill()
    assert timers.index.log.end == UNIT_SIZE
    assert set(timers.index.already) == {waiting[0].physical_offset}
    assert timers.index.queue_offset == 0


@pytest.mark.parametrize("damage", [b"\0", b"\xff"])
def test_a_damaged_unit_before_the_checkpoint_makes_all_records_get_units_again(timers: Timers, damage: bytes) -> None:
    timers.put(IN_5, IN_9, IN_9)
    timers.close()
    path = Path(timers.settings.timer_log) / f"{0:020d}"
    data = bytearray(path.read_bytes())
    data[UNIT_SIZE : UNIT_SIZE + 4] = damage * 4
    path.write_bytes(data)
    timers.open()
    assert (timers.index.queue_offset, timers.index.log.end) == (0, UNIT_SIZE)
    assert len(timers.index.already) == 1
    assert timers.index.pending == 1


@pytest.mark.parametrize("lost", ["timerlog", "timerwheel", "config/timercheck"])
def test_a_lost_file_costs_no_message_and_no_second_copy(timers: Timers, lost: str) -> None:
    timers.put(NOW + 3, IN_5, IN_9)
    first = timers.unit(UNIT_SIZE)
    timers.index.settle(UNIT_SIZE, timers.copy(first).physical_offset)
    timers.close()
    path = timers.settings.root / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    timers.open()
    index = timers.index
    assert first.physical_offset not in [timers.unit(position).physical_offset for _, position in timers.waiting()]
    if lost == "timerwheel":
        assert index.queue_offset == 3
        assert index.pending == 2
    else:
        assert index.queue_offset == 0
        assert first.physical_offset in index.already
        assert len(index.already) == (1 if lost == "timerlog" else 3)


@pytest.mark.parametrize("content", ["zeros", "older"])
def test_a_wheel_that_does_not_lead_to_all_units_is_made_again(timers: Timers, content: str) -> None:
    timers.put(IN_5, IN_9)
    timers.close()
    path = timers.settings.root / "timerwheel"
    wheel = path.read_bytes() if content == "older" else bytes(path.stat().st_size)
    timers.open()
    timers.put(IN_5)
    timers.close()
    path.write_bytes(wheel)
    timers.open()
    assert timers.waiting() == [(NOW + 5_000, 0), (NOW + 5_000, 2 * UNIT_SIZE), (NOW + 9_000, UNIT_SIZE)]
    timers.restart()
    assert len(timers.waiting()) == 3


def test_a_check_that_cannot_be_is_none(timers: Timers) -> None:
    timers.put(IN_5, IN_9)
    timers.close()
    Path(timers.settings.timer_check).write_bytes(b"\x55" * timer_check.FILE_SIZE)
    timers.open()
    assert (timers.index.pending, timers.index.queue_offset, timers.index.read_time) == (2, 0, NOW)
    assert len(timers.waiting()) == len(timers.index.already) == 2


def test_copies_that_apaches_broker_stored_are_found_by_what_they_are_of(timers: Timers) -> None:
    timers.put(NOW + 3)
    timers.put(IN_5, IN_9)
    waiting = timers.add(NOW + 7_000)  # without a unit
    timers.clock.now = NOW + 8_000
    timers.close()
    timers.open()
    delivered = timers.copy(timers.unit(UNIT_SIZE), by_apache=True)
    late = timers.unit(UNIT_SIZE)._replace(write_time=NOW + 7_000, delay=0)
    timers.copy(late, by_apache=True)
    void_extension(timers)
    timers.kill()
    assert timers.unit(UNIT_SIZE).outcome == delivered.physical_offset
    assert timers.index.pending == 2
    assert set(timers.index.already) == {waiting[0].physical_offset}


def test_what_apache_has_not_flushed_may_have_been_delivered_before_its_read_time(tmp_path: Path) -> None:
    timers = Timers(tmp_path, commit_log_file_size=4096)
    entered = timers.put(NOW + 3, *[IN_5] * 3)
    timers.clock.now = NOW + 6_100
    for position, _ in entered:
        timers.copy(timers.unit(position), by_apache=True)
    for _ in range(10):
        timers.add(*[NOW + 90_000] * 3)  # a file of the log that begins before the read time, and has no copy
    check = TimerCheckpoint(last_read_time=NOW + 7_000, last_queue_offset=4, master_queue_offset=4, counter=1)
    write_checkpoint(timers.settings.timer_check, timers.files, check)
    assert timers.store.file_before(NOW + 7_000) > timers.unit(0).physical_offset
    timers.kill()
    assert timers.index.pending == 0


def test_a_copy_of_apaches_that_fits_the_logs_first_record_settles_the_waiting_message(timers: Timers) -> None:
    """The first record's place is 0, which Apache writes into all copies; here it went another round."""
    day = 86_400_000
    out = NOW + 2 * day + 5_000
    ((first, _),) = timers.put(out)
    assert timers.unit(first).physical_offset == 0
    assert timers.unit(first).rolls
    timers.clock.now = NOW + day
    ((second, _),) = timers.put(out, rolled=1)
    rolled = timers.unit(second)
    timers.index.settle_all([(first, rolled.physical_offset)])
    timers.save()
    timers.clock.now = out + 1_000
    copy = timers.copy(rolled, by_apache=True)
    void_extension(timers)
    timers.kill()
    assert timers.unit(second).outcome == copy.physical_offset
    assert timers.index.pending == 0


def test_outcomes_that_were_doubted_are_found_though_an_older_unit_is_stale(tmp_path: Path) -> None:
    timers = Timers(tmp_path, commit_log_file_size=4096)
    _, (position, _) = timers.put(NOW + 3, NOW + 70_000)
    timers.clock.now = NOW + 12_000
    copy = timers.copy(timers.unit(position))
    timers.index.settle_all([(position, copy.physical_offset)])
    timers.clock.now = NOW + 50_000
    for _ in range(10):
        timers.put(*[NOW + 90_000] * 3)
    timers.index.settle(0, NO_COPY)
    timers.index.move_read_time(NOW + 60_000)
    timers.save()
    assert timers.store.file_before(NOW + 60_000) > copy.physical_offset
    void_extension(timers)
    timers.index.move_read_time(NOW)  # the clock went back
    timers.index.put([TimerRecord(IN_9, timers.store.max_physical_offset + 200, 100, HASH, cancels=False)], NOW)
    timers.kill()
    assert timers.index.stale == 1
    assert timers.unit(position).outcome == copy.physical_offset


def test_units_of_slots_that_apache_has_done_do_not_wait(timers: Timers) -> None:
    timers.put(NOW + 3, IN_5, IN_9)
    timers.index.move_read_time(NOW + 6_000)  # which we would not do
    timers.save()
    timers.kill()
    assert timers.outcomes() == [NO_COPY, NO_COPY, 0]
    assert timers.index.pending == 1


def test_what_is_put_after_the_clock_went_back_waits(timers: Timers) -> None:
    timers.index.move_read_time(NOW + 60_000)
    timers.put(NOW + 61_000)
    timers.save()
    timers.index.move_read_time(NOW)
    timers.put(IN_5)
    timers.kill()
    assert timers.index.pending == 2
    assert timers.index.read_time == NOW


def test_what_was_put_while_the_clock_stood_far_ahead_rolls_in_time(timers: Timers) -> None:
    lap = timers.index.wheel.slots * 1000
    timers.clock.now = NOW + 5 * lap
    ((position, _),) = timers.put(timers.clock.now + 5_000)
    timers.clock.now = NOW
    timers.kill()
    unit = timers.unit(position)
    assert unit.rolls
    assert NOW < unit.slot_time < NOW + lap
    assert timers.waiting() == [(unit.slot_time, position)]


def test_another_precision_has_the_wheel_made_again(timers: Timers) -> None:
    timers.put(IN_5, NOW + 5_550, IN_9)
    for precision in (100, 1000, 200):
        timers.close()
        timers.settings = replace(timers.settings, timer_precision=precision)
        timers.open()
        slots = [out - out % precision for out in (IN_5, NOW + 5_550, IN_9)]
        assert timers.waiting() == sorted(zip(slots, (0, UNIT_SIZE, 2 * UNIT_SIZE), strict=True))


def test_recovery_that_finds_no_room_may_be_tried_again(tmp_path: Path) -> None:
    timers = Timers(tmp_path / "store", CrashDisk(tmp_path))
    disk = timers.files
    assert isinstance(disk, CrashDisk)
    timers.put(IN_5)
    timers.close()
    (tmp_path / "store" / "timerwheel").unlink()
    timers.files = disk = CrashDisk(tmp_path)
    disk.files_left = 0
    with pytest.raises(DiskFull):
        timers.open()
    disk.files_left = None
    for _ in timers.index.recovery():
        pass
    assert timers.index.pending == 1
    assert timers.waiting() == [(NOW + 5_000, 0)]


def test_a_timer_log_of_another_file_size_is_refused(timers: Timers, tmp_path: Path) -> None:
    timers.put(IN_5)
    timers.close()
    with pytest.raises(StoreForeign, match=r"mappedFileSizeTimerLog.*made again"):
        Timers(tmp_path, timer_log_file_size=2048)


# --- saving ---


def test_a_clean_check_is_believed_only_once(timers: Timers) -> None:
    timers.put(IN_5)
    timers.save()
    path, files = timers.settings.timer_check, timers.files
    check = read_checkpoint(path, files)
    assert check is not None
    assert check.extension is not None
    assert (check.last_queue_offset, check.master_queue_offset, check.last_log_flushed) == (1, 1, UNIT_SIZE)
    assert not check.extension.clean
    timers.close()
    check = read_checkpoint(path, files)
    assert check is not None
    assert check.extension is not None
    assert check.extension.clean
    timers.open()
    void_extension(timers)
    check = read_checkpoint(path, files)
    assert check is not None
    assert check.extension is None


def test_a_refused_sync_is_not_repeated(tmp_path: Path) -> None:
    disk = CrashDisk(tmp_path)
    timers = Timers(tmp_path / "store", disk)
    timers.put(IN_5)
    snapshot = timers.index.snapshot()
    assert snapshot is not None
    timers.store.flush_to(snapshot.log_end)
    disk.refusing = {"sync": 5}
    with pytest.raises(FlushFailed):
        timers.index.save(snapshot)
    disk.refusing = {}
    timers.put(IN_9)
    following = timers.index.snapshot()
    assert following is not None
    with pytest.raises(FlushFailed):
        timers.index.save(following)


def test_files_of_which_nothing_waits_are_removed_when_that_is_saved(timers: Timers) -> None:
    entered = timers.put(*[IN_5] * 45)
    assert len(timers.index.log.segments) == 3
    for position, _ in entered[:39]:
        timers.index.settle(position, timers.copy(timers.unit(position)).physical_offset)
    assert timers.index.remove_settled_files() == 0
    timers.save()
    assert timers.index.remove_settled_files() == 2
    assert timers.index.log.start == 2048
    assert timers.index.log.unit(0) is None
    timers.kill()
    assert timers.index.pending == 6
    assert [position for _, position in timers.waiting()] == [position for position, _ in entered[39:]]


# --- a clean stop, as Apache's broker reads it ---


def apache_slots(timers: Timers) -> dict[int, list[int]]:
    """Where the records are that 5.5.0 would deliver, by slot: it leads each slot to its last unit in the log."""
    log = timers.index.log
    last: dict[int, int] = {}
    for segment in log.segments:
        for number in range(log.units_a_file):
            unit = log.unit(segment.start + number * UNIT_SIZE)
            if unit is not None and unit.slot_time >= timers.index.read_time:
                last[unit.slot_time // 1000 * 1000] = unit.position
    markers = timer_log.UnitMagic.DELETE
    return {
        slot: sorted(unit.physical_offset for unit in log.chain(position) if not unit.magic & markers)
        for slot, position in last.items()
    }


def test_a_clean_stop_leaves_nothing_that_apache_would_deliver_twice(timers: Timers) -> None:
    timers.put(NOW + 3, IN_5, IN_5 + 1, IN_9, NOW + 20_000)
    places = [timers.unit(n * UNIT_SIZE).physical_offset for n in range(5)]
    timers.index.settle(0, timers.copy(timers.unit(0)).physical_offset)
    timers.index.settle(2 * UNIT_SIZE, NO_COPY)
    timers.index.settle(3 * UNIT_SIZE, NO_COPY)
    timers.close()
    timers.open()
    expected = {NOW: [], NOW + 5_000: [places[1]], NOW + 9_000: [], NOW + 20_000: [places[4]]}
    assert apache_slots(timers) == expected
    last = timers.index.log.last_unit()
    assert last is not None
    assert last.physical_offset == places[4]  # of the last record that has a unit
    assert timers.index.pending == 2
    end = timers.index.log.end
    timers.close()
    check = Path(timers.settings.timer_check).read_bytes()
    timers.open()
    assert Path(timers.settings.timer_check).read_bytes() == check  # nothing is made again
    assert timers.index.log.end == end  # nothing more to tidy up
    assert apache_slots(timers) == expected
    assert FILLER in timers.outcomes()


def test_the_last_unit_is_the_last_records(timers: Timers) -> None:
    timers.put(IN_5, IN_9)
    timers.index.settle(0, NO_COPY)
    unit = timers.unit(UNIT_SIZE)
    timers.restart()
    last = timers.index.log.last_unit()
    assert last is not None
    assert (last.physical_offset, last.cancels, last.outcome) == (unit.physical_offset, True, FILLER)


def test_a_full_disk_does_not_keep_a_stop_from_being_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    disk = CrashDisk(tmp_path)
    timers = Timers(tmp_path / "store", disk)
    timers.put(*[IN_5] * 19)  # a whole file
    timers.index.settle(0, NO_COPY)
    disk.files_left = 0
    timers.close()
    assert "twice" in caplog.text
    disk.files_left = None
    timers.open()
    assert timers.index.pending == 18


def test_a_power_cut_in_the_middle_of_a_clean_stop_loses_nothing(tmp_path: Path) -> None:
    with mock.patch.object(TimerWheel, "slots", 1024):
        disk = CrashDisk(tmp_path / "0")
        timers = Timers(tmp_path / "0" / "store", disk, timer_log_file_size=1 << 14)
        timers.put(*[IN_9 + 1_000 * n for n in range(70)])  # so that the units again come into another page
        (message, _), (waits, _) = timers.put(IN_5, IN_5)
        timers.index.settle(message, timers.copy(timers.unit(message)).physical_offset)
        timers.save()
        place = timers.unit(waits).physical_offset
        images = [disk.image()]
        disk.observer = lambda _: images.append(disk.image())
        timers.close()
        crashes = (disk_images.EVERYTHING, disk_images.NOTHING, disk_images.EVEN, disk_images.ODD)
        for number, (image, crash) in enumerate(itertools.product(images, crashes), 1):
            root = tmp_path / str(number)
            root.mkdir()
            disk_images.put(disk_images.after(image, crash), root)
            timers.files, timers.settings = CrashDisk(root), replace(timers.settings, root=root / "store")
            timers.open()
            there = [timers.unit(position).physical_offset for _, position in timers.waiting()]
            assert (len(there), there.count(place)) == (71, 1)
            kill(timers.store)


def test_a_clean_check_is_not_believed_when_something_was_appended_since(timers: Timers) -> None:
    timers.put(IN_5)
    timers.close()
    wheel = Path(timers.settings.timer_wheel)
    former = wheel.read_bytes()
    timers.open()
    timers.put(IN_9)
    timers.kill()
    timers.index.close()
    timers.store.close()
    # As if the timer had not come to save anything: the check is that of the first stop, and the wheel's page was lost.
    check = read_checkpoint(timers.settings.timer_check, timers.files)
    assert check is not None
    assert check.extension is not None
    old = replace(
        check, last_log_flushed=UNIT_SIZE, last_queue_offset=1, extension=replace(check.extension, log_place=0)
    )
    write_checkpoint(timers.settings.timer_check, timers.files, old)
    wheel.write_bytes(former)
    timers.open()
    assert timers.waiting() == [(NOW + 5_000, 0), (NOW + 9_000, UNIT_SIZE)]


def test_a_recovery_that_makes_all_again_may_be_stopped(timers: Timers) -> None:
    entered = timers.put(*[IN_5] * 4)
    timers.index.settle(0, timers.copy(timers.unit(0)).physical_offset)
    timers.close()
    path = Path(timers.settings.timer_log) / f"{0:020d}"
    data = bytearray(path.read_bytes())
    data[entered[1][0] : entered[1][0] + UNIT_SIZE] = b"\xff" * UNIT_SIZE  # before the checkpoint
    path.write_bytes(data)
    with mock.patch.object(TimerIndex, "save", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        timers.open()
    for _ in range(2):
        timers.kill()
        assert timers.index.queue_offset == 0
        assert len(timers.index.already) == 1  # the other three get units again


@pytest.mark.parametrize("days", [-30, 30])
def test_a_stop_tidies_slots_beyond_the_range_of_a_unit(timers: Timers, days: int) -> None:
    """The clock stood wrong; `delay` is 24.8 days at most."""
    timers.clock.now = far = NOW + days * 86_400_000
    timers.index.move_read_time(far)
    timers.put(far + 5_500, far + 9_250)
    timers.index.settle(0, NO_COPY)
    timers.clock.now = NOW
    timers.close()
    timers.open()
    last = timers.index.log.last_unit()
    assert last is not None
    assert (last.physical_offset, last.outcome) == (timers.unit(UNIT_SIZE).physical_offset, FILLER)
    assert timers.index.pending == 1
