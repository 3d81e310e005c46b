"""What waits in a store: of `timer`, `timer_units`, `timer_message` and `timer_slots`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.store.layout.timer_check import CHECK, CHECK_STRUCT
from rocketwire.store.layout.timer_log import UNIT, UNIT_SIZE
from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.read.scan import ReadProblem
from rocketwire.store.offline.timer.messages import TimerMessage
from rocketwire.store.offline.timer.slots import WaitingSlot, next_slots
from rocketwire.store.offline.timer.timer import StoreTimer
from rocketwire.wire.facts.layout import positions
from tests.store.offline.timers import NOW, Timers, made
from tests.store.support import START, Golden

_OUTCOME_AT = positions(UNIT)["outcome"]


def read_timer(root: Path) -> tuple[dict[str, TimerMessage], StoreTimer, list[ReadProblem]]:
    """The messages that wait, markers too, by their unique keys and what they cancel."""
    troubles: list[ReadProblem] = []
    with StoreTimer(discover(str(root)), troubles.append) as timer:
        found = [message for _, message in timer.messages(timer.waiting) if message is not None]
        return {f"{each.unique_key}{'!' * (each.cancels is not None)}": each for each in found}, timer, troubles


def keys(root: Path) -> list[str]:
    found, timer, troubles = read_timer(root)
    assert not troubles
    assert timer.stale == 0
    return sorted(found)


def mark(root: Path, position: int, outcome: int, *, file_size: int = 2600) -> None:
    """Set the outcome of a unit in its file."""
    room = (file_size - 16) // UNIT_SIZE * UNIT_SIZE
    start = position // file_size * file_size
    assert position - start < room
    with (root / "timerlog" / f"{start:020}").open("r+b") as file:
        file.seek(position - start + _OUTCOME_AT)
        file.write(outcome.to_bytes(8, "big", signed=True))


def change_check(root: Path, **values: int) -> None:
    path = root / "config" / "timercheck"
    data = bytearray(path.read_bytes())
    fields = dict(zip(positions(CHECK), CHECK_STRUCT.unpack_from(data), strict=True))
    assert values.keys() <= fields.keys()
    CHECK_STRUCT.pack_into(data, 0, *(fields | values).values())
    path.write_bytes(data)


# --- Apache's ---


def test_what_waits_in_a_store_of_apache(golden_550: Golden) -> None:
    found, timer, troubles = read_timer(golden_550.untouched)
    assert troubles == []
    assert (timer.precision, timer.queue_end, timer.stale) == (1000, 52, 0)
    assert timer.check is not None
    assert timer.check.last_read_time == 1795252066000
    expected = {
        "timer_at7200000": (1795259155000, "GoldenTimer", 0, 3, 1245031, 47, 448),
        "recall_1800": (1795253755000, "GoldenRecall", 0, 3, 1245479, 48, 433),
        "timer_s3600": (1795255555000, "GoldenTimer", 0, 3, 1246354, 50, 430),
        "timer_s86400": (1795338355000, "GoldenTimer", 1, 3, 1246784, 51, 433),
    }
    messages = {each.keys[0]: each for each in found.values() if each.cancels is None}
    assert {
        key: (each.out, each.topic, each.queue_id, each.rolls, each.physical_offset, each.queue_offset, each.size)
        for key, each in messages.items()
    } == expected
    (marker,) = (each for each in found.values() if each.cancels is not None)
    assert marker.cancels == messages["recall_1800"].unique_key
    assert marker.mark == messages["recall_1800"].mark
    assert len({each.mark for each in messages.values()}) == 4
    assert messages["timer_s3600"].tags == "Tm"
    assert messages["timer_s3600"].message_id == messages["timer_s3600"].unique_key


def test_the_next_slot_of_apaches_wheel(golden_550: Golden) -> None:
    directory = discover(str(golden_550.untouched))
    with StoreTimer(directory, print) as timer:
        assert next_slots(directory, timer.waiting, timer.precision, 10) == [
            WaitingSlot(
                time=1795252078000, number=205678, messages=0, rolls=5, markers=0, chain=5, first=2444, last=2704
            )
        ]


def test_records_that_timercheck_does_not_count_and_have_no_unit_wait_too(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    before = keys(root)
    # Those that have a unit already count once.
    change_check(root, last_queue_offset=40)
    assert keys(root) == before
    for file in (root / "timerlog").iterdir():
        file.unlink()
    change_check(root, last_queue_offset=50)
    found, timer, _ = read_timer(root)
    assert {each.keys for each in found.values()} == {("timer_s3600",), ("timer_s86400",)}
    assert timer.waiting["position"].tolist() == [-1, -1]
    assert timer.waiting["out"].tolist() == [1795255555000, 1795338355000]


def test_without_timercheck_everything_that_was_not_settled_waits(golden_550: Golden, tmp_path: Path) -> None:
    root = golden_550.copy(tmp_path)
    (root / "config" / "timercheck").write_bytes(b"short")
    _, timer, _ = read_timer(root)
    assert timer.check is None
    assert len(timer.waiting) == 52
    (root / "config" / "timercheck").unlink()
    assert len(read_timer(root)[1].waiting) == 52


# --- ours ---


@pytest.fixture
def timers(tmp_path: Path) -> Any:
    with made(tmp_path / "store") as found:
        yield found


def root_of(timers: Timers) -> Path:
    return Path(timers.store.settings.root)


def test_what_is_settled_waits_no_more(timers: Timers) -> None:
    places = [timers.add(NOW + 5000 + n) for n in range(4)]
    copy = timers.copy(places[1], out=NOW + 5001, key="U0000001")
    timers.index.settle(52, copy)
    timers.index.settle(104, -1)
    assert keys(root_of(timers)) == ["U0000000", "U0000003"]


@pytest.mark.parametrize("saved", [False, True])
def test_messages_without_a_unit_wait(timers: Timers, saved: bool) -> None:
    timers.add(NOW + 5000)
    if saved:
        timers.save()
    timers.add(NOW + 6000)
    timers.add(NOW + 7000, unit=False)
    timers.add(NOW + 5000, unit=False, cancels="U0000000")
    found, timer, troubles = read_timer(root_of(timers))
    assert not troubles
    assert sorted(found) == ["U0000000", "U0000001", "U0000002", "U0000003!"]
    assert timer.queue_end == 4
    assert timer.waiting["magic"].tolist() == [1, 1, 1, 5]


def test_units_in_several_files(timers: Timers) -> None:
    for number in range(120):
        timers.add(NOW + 5000 + number % 3)
    timers.save()
    found, timer, _ = read_timer(root_of(timers))
    assert len(found) == 120
    assert len({int(each) // 2600 for each in timer.waiting["position"]}) == 3
    directory = discover(str(root_of(timers)))
    ((slot),) = next_slots(directory, timer.waiting, timer.precision, 10)
    assert (slot.time, slot.messages, slot.chain, slot.first, slot.last) == (NOW + 5000, 120, 120, 0, timers.last)


def test_after_a_power_cut_the_log_shows_what_was_delivered(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        places = [timers.add(NOW + 5000 + n) for n in range(5)]
        timers.save()
        timers.copy(places[1], out=NOW + 5001, key="U0000001")
        end = timers.store.max_physical_offset
    # The timer log's page was lost: nothing is marked. Then some outcomes are of copies that the log has not.
    assert keys(root) == ["U0000000", "U0000002", "U0000003", "U0000004"]
    mark(root, 104, end)
    mark(root, 156, places[3])
    mark(root, 208, end - 1)
    assert keys(root) == ["U0000000", "U0000002", "U0000003"]


@pytest.mark.parametrize("crashed", [False, True])
def test_what_was_stored_after_the_clock_was_set_back_waits(tmp_path: Path, crashed: bool) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 5000)
        timers.add(NOW + 500_000)
        timers.index.move_read_time(NOW + 100_000)
        timers.save()
        timers.index.move_read_time(NOW)
        timers.add(NOW + 6000)
        if not crashed:
            assert keys(root) == ["U0000001", "U0000002"]
    assert keys(root) == ["U0000001", "U0000002"]


def test_what_was_delivered_before_it_had_a_unit_waits_no_more(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 5000)
        timers.save()
        place = timers.add(NOW, unit=False)
        timers.copy(place, out=NOW, key="U0000001")
    assert keys(root) == ["U0000000"]


def test_a_second_unit_of_a_record_does_not_count(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 5000)
        file = root / "timerlog" / f"{0:020}"
        data = bytearray(file.read_bytes())
        data[UNIT_SIZE : 2 * UNIT_SIZE] = data[:UNIT_SIZE]
        file.write_bytes(data)
    _, timer, _ = read_timer(root)
    assert timer.waiting["position"].tolist() == [52]


def test_units_of_records_that_the_log_has_no_more_are_counted(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 5000)
        timers.save()
    mark_place = positions(UNIT)["physical_offset"]
    file = root / "timerlog" / f"{0:020}"
    data = bytearray(file.read_bytes())
    data[mark_place : mark_place + 8] = (1 << 40).to_bytes(8)
    file.write_bytes(data)
    _, timer, troubles = read_timer(root)
    assert (timer.stale, len(timer.waiting), troubles) == (1, 0, [])


def test_what_is_no_timer_record_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        (other,) = timers.store.append([_plain()])
        timers.add(NOW + 5000)
        timers.add(NOW + 6000)
        timers.save()
    at = positions(UNIT)
    file = root / "timerlog" / f"{0:020}"
    data = bytearray(file.read_bytes())
    data[at["physical_offset"] : at["physical_offset"] + 8] = other.physical_offset.to_bytes(8)
    data[at["record_size"] : at["record_size"] + 4] = other.size.to_bytes(4)
    data[UNIT_SIZE + at["record_size"] : UNIT_SIZE + at["record_size"] + 4] = (70).to_bytes(4)
    file.write_bytes(data)
    found, _, troubles = read_timer(root)
    assert found == {}
    assert [each.reason for each in troubles] == [
        "of a message that waits for its time: the record is of topic T",
        "of a message that waits for its time: message record of 205 bytes is cut short: only 70 bytes are there",
    ]
    data[:4] = (51).to_bytes(4)
    file.write_bytes(data)
    _, timer, troubles = read_timer(root)
    assert len(timer.waiting) == 0
    assert [(each.path, each.reason) for each in troubles] == [(str(file), "at byte 0: no unit of a timer log")]


def _plain() -> Any:
    from tests.store.support import draft

    return draft()


def test_a_record_without_a_due_time_is_reported(tmp_path: Path) -> None:
    from rocketwire.wire.names import TIMER_TOPIC
    from tests.store.support import draft

    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 5000)
        timers.save()
        timers.store.append([draft(1, topic=TIMER_TOPIC)])
    found, _, troubles = read_timer(root)
    assert list(found) == ["U0000000"]
    (trouble,) = troubles
    assert trouble.reason.endswith("the timer's record does not say when it is due, or for whom")


@pytest.mark.parametrize("precision", [100, 200, 500])
def test_the_precision_is_what_the_store_was_written_with(tmp_path: Path, precision: int) -> None:
    root = tmp_path / "store"
    with made(root, timer_precision=precision) as timers:
        for number in range(5):
            timers.clock.now = START + number * precision
            timers.add(NOW + 5000 + number * 310)
        assert read_timer(root)[1].precision == precision
        timers.save()
        assert read_timer(root)[1].precision == precision


def test_the_wheel_may_be_missing_or_short(tmp_path: Path) -> None:
    root = tmp_path / "store"
    with made(root) as timers:
        timers.add(NOW + 5000)
        timers.save()
    wheel = root / "timerwheel"
    for _ in range(2):
        if wheel.stat().st_size:
            wheel.write_bytes(b"")
        else:
            wheel.unlink()
        directory = discover(str(root))
        with StoreTimer(directory, print) as timer:
            (slot,) = next_slots(directory, timer.waiting, timer.precision, 1)
        assert (slot.messages, slot.chain) == (1, None)
