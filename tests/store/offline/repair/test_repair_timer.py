"""What waits in a repaired store is what waited and was not lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trio
import trio.testing

from rocketwire.store.offline.read.directory import discover
from rocketwire.store.offline.repair.repair import repair
from rocketwire.store.offline.timer.timer import StoreTimer, read_check
from rocketwire.store.offline.verify.findings import Finding
from rocketwire.store.timer.timer_index import TimerIndex
from tests.server.timer.support import Timers as ServerTimers
from tests.store.offline.support import Quick, damages
from tests.store.offline.timers import NOW, Timers, made
from tests.store.support import Clock, Golden, draft, open_store, small


def repaired(root: Path, target: Path) -> list[Finding]:
    findings: list[Finding] = []
    repair(str(root), str(target), findings.append, clock=Clock(), files=Quick())
    assert not damages(target), [str(each) for each in damages(target)]
    return findings


def waiting(root: Path) -> list[str]:
    with StoreTimer(discover(str(root)), print) as timer:
        found = [message for _, message in timer.messages(timer.waiting)]
        return sorted(message.unique_key or "" for message in found if message is not None)


def recovered(root: Path) -> TimerIndex:
    """The index of a store that is opened, less what was never read from its topic."""
    sizes = {"index_slots": 5_000_000, "index_entries": 20_000_000, "timer_log_file_size": 2600}
    settings = small(root, commit_log_file_size=65536, **sizes)
    store = open_store(settings, Clock(NOW), Quick())
    index = TimerIndex.open(settings, store, Quick(), now=NOW)
    for _ in index.recovery():
        pass
    index.log.close()
    index.wheel.unmap()
    # New messages stand where the log was cut.
    store.append([draft(number) for number in range(20)])
    store.close()
    return index


def fill(timers: Timers) -> list[int]:
    places = [timers.add(NOW + 5000 + number) for number in range(60)]
    timers.index.settle(52, timers.copy(places[1], out=NOW + 5001, key="U0000001"))
    timers.save()
    return places


KEYS = sorted(f"U{number:07d}" for number in range(60) if number != 1)


def test_without_a_loss_everything_stays(tmp_path: Path) -> None:
    with made(tmp_path / "store") as timers:
        fill(timers)
    check = (tmp_path / "store" / "config" / "timercheck").read_bytes()
    assert not repaired(tmp_path / "store", tmp_path / "new")
    assert (tmp_path / "new" / "config" / "timercheck").read_bytes() == check
    assert waiting(tmp_path / "new") == KEYS
    index = recovered(tmp_path / "new")
    assert (index.pending, index.queue_offset, index.stale) == (59, 60, 0)


def test_a_lost_record_waits_no_more(tmp_path: Path) -> None:
    with made(tmp_path / "store") as timers:
        places = fill(timers)
    log = tmp_path / "store" / "commitlog" / f"{0:020}"
    data = bytearray(log.read_bytes())
    data[places[7] : places[7] + 8] = bytes(8)
    log.write_bytes(data)
    findings = repaired(tmp_path / "store", tmp_path / "new")
    assert [(each.topic, each.offset) for each in findings if each.what == "lost"] == [("rmq_sys_wheel_timer", 7)]
    assert waiting(tmp_path / "new") == [key for key in KEYS if key != "U0000007"]
    check = read_check(discover(str(tmp_path / "new")))
    assert check is not None
    assert (check.extension, check.last_queue_offset) == (None, 60)
    index = recovered(tmp_path / "new")
    assert (index.pending, index.queue_offset) == (58, 60)


def test_messages_that_were_cut_off_wait_no_more_and_new_ones_are_not_missed(tmp_path: Path) -> None:
    with made(tmp_path / "store") as timers:
        places = fill(timers)
    log = tmp_path / "store" / "commitlog" / f"{0:020}"
    data = bytearray(log.read_bytes())
    data[places[50] :] = bytes(len(data) - places[50])
    log.write_bytes(data)
    repaired(tmp_path / "store", tmp_path / "new")
    check = read_check(discover(str(tmp_path / "new")))
    assert check is not None
    assert (check.extension, check.last_queue_offset, check.master_queue_offset) == (None, 50, 50)
    # The copy of the message 1 was cut off as well: its message waits again once the start has read the log.
    index = recovered(tmp_path / "new")
    assert (index.pending, index.queue_offset) == (50, 50)


def test_a_damaged_timer_log_is_made_again_by_the_next_start(tmp_path: Path) -> None:
    with made(tmp_path / "store") as timers:
        fill(timers)
    units = tmp_path / "store" / "timerlog" / f"{0:020}"
    data = bytearray(units.read_bytes())
    data[520] = 0x7F
    units.write_bytes(data)
    findings = repaired(tmp_path / "store", tmp_path / "new")
    assert [each.path for each in findings] == ["timerlog"]
    assert not (tmp_path / "new" / "timerwheel").exists()
    assert not (tmp_path / "new" / "config" / "timercheck").exists()
    index = recovered(tmp_path / "new")
    assert (index.pending, index.queue_offset) == (0, 0)


def test_a_missing_file_of_the_timer_log_is_damage(tmp_path: Path) -> None:
    with made(tmp_path / "store") as timers:
        for number in range(120):
            timers.add(NOW + 5000 + number)
        timers.save()
    (tmp_path / "store" / "timerlog" / f"{2600:020}").unlink()
    assert [each.path for each in repaired(tmp_path / "store", tmp_path / "new")] == ["timerlog"]
    assert list((tmp_path / "new" / "timerlog").iterdir()) == []


def test_a_unit_that_was_torn_by_a_crash_is_no_damage(tmp_path: Path) -> None:
    with made(tmp_path / "store") as timers:
        fill(timers)
        timers.add(NOW + 9000)
        position = timers.last
    units = tmp_path / "store" / "timerlog" / f"{position // 2600 * 2600:020}"
    data = bytearray(units.read_bytes())
    data[position % 2600 + 15] = 0x70
    units.write_bytes(data)
    assert not repaired(tmp_path / "store", tmp_path / "new")
    assert recovered(tmp_path / "new").pending == 59


@pytest.mark.parametrize("lose", [False, True])
def test_the_timer_of_apache(golden_550: Golden, tmp_path: Path, lose: bool) -> None:
    root = golden_550.copy(tmp_path)
    if lose:
        with (root / "commitlog" / "00000000000001048576").open("r+b") as file:
            file.seek(1246354 - 1048576)
            file.write(bytes(8))
    repaired(root, tmp_path / "new")
    kept = waiting(tmp_path / "new")
    assert len(kept) == (4 if lose else 5)


@pytest.mark.parametrize("damage", ["record", "tail", "timerlog"])
def test_the_timer_of_a_repaired_store_delivers_the_remaining_messages(tmp_path: Path, damage: str) -> None:
    first = ServerTimers(tmp_path / "damaged")
    root = first.settings.root

    async def before() -> None:
        for number in range(20):
            first.send_in(b"body %02d" % number, 1500 + 1000 * (number // 2))
        async with first.running():
            await first.pass_time(4000)
            assert len(first.delivered()) == 6
        first.stop()

    trio.run(before, clock=trio.testing.MockClock())
    with StoreTimer(discover(str(root)), print) as timer:
        row = timer.waiting[np.argsort(timer.waiting["physical_offset"])[5]]
    place, position = int(row["physical_offset"]), int(row["position"])
    if damage == "timerlog":
        overwrite(root / "timerlog" / f"{0:020}", position, b"\x7f")
    else:
        log = root / "commitlog" / f"{0:020}"
        overwrite(log, place, bytes(8 if damage == "record" else log.stat().st_size - place))
    expected = {
        "record": {b"body %02d" % number for number in range(20) if number != 11},
        # The copies were cut off as well, and messages of which there is no copy are delivered.
        "tail": {b"body %02d" % number for number in range(11)},
        "timerlog": {b"body %02d" % number for number in range(20)},
    }
    repaired(root, tmp_path / "new" / "store")

    second = ServerTimers(tmp_path / "new", clock=first.clock)

    async def after() -> None:
        async with second.running():
            for _ in range(12):
                await second.pass_time(1000)
            assert set(second.delivered()) == expected[damage]
            assert len(second.delivered()) == len(expected[damage])
            second.send_in(b"new", 1500)
            await second.pass_time(2000)
            assert second.delivered()[-1] == b"new"
        second.stop()

    trio.run(after, clock=trio.testing.MockClock())
    assert not damages(tmp_path / "new" / "store")


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
