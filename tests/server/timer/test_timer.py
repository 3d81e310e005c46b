"""All stages together: when and how timer messages are delivered, with stops, faults and changes of the clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.timer.stages.enqueue import MANY_BEHIND
from rocketwire.store.layout.timer_wheel import SLOT_COUNT
from rocketwire.wire.message import decode_record
from rocketwire.wire.names import TIMER_TOPIC
from rocketwire.wire.properties import decode_properties
from tests.server.harness import Clock, mock_clock
from tests.server.timer.support import Refusing, Timers, timer_draft
from tests.store.support import remove_log_file

DAY = 86_400_000
#: Slots of 100 ms, and a window of ten seconds.
SHORT: dict[str, Any] = {"timer_precision": 100, "timer_roll_window": 100}


@pytest.mark.parametrize("delay", [1, 998, 1000, 1001, 5000, 123_456])
async def test_a_message_is_delivered_when_it_is_due_and_no_sooner(timers: Timers, delay: int) -> None:
    timers.send_in(b"a", delay)
    await timers.pass_time(delay - 1)
    assert timers.delivered() == []
    await timers.pass_time(1)
    assert timers.delivered() == [b"a"]
    assert timers.timer.counts.delivered == timers.woken == 1


async def test_a_copy_has_the_offset_of_its_message_and_the_times_of_its_wait(timers: Timers) -> None:
    timers.send_in(b"a", 5000, TAGS="A")
    sent = timers.clock.now
    await timers.pass_time(5000)
    place = timers.store.place(("T", 0), 0)
    assert place is not None
    record = timers.store.record_at(place)
    assert record is not None
    copy = decode_record(record)
    properties = decode_properties(copy.properties.decode())
    assert (copy.body, copy.prepared_transaction_offset) == (b"a", timers.store.place((TIMER_TOPIC, 0), 0))
    assert properties["TIMER_ENQUEUE_MS"] == str(sent - sent % 1000)
    assert properties["TIMER_DEQUEUE_MS"] == str(sent + 5000)
    assert properties["TAGS"] == "A"


async def test_messages_of_one_slot_come_each_at_its_time(timers: Timers) -> None:
    for delay in (2900, 2100, 2500, 2500):
        timers.send_in(b"%d-%d" % (delay, timers.store.max_offset(TIMER_TOPIC, 0)), delay)
    for passed, count in ((2100, 1), (399, 1), (1, 3), (399, 3), (1, 4)):
        await timers.pass_time(passed)
        assert len(timers.delivered()) == count
    assert timers.delivered() == [b"2100-1", b"2500-2", b"2500-3", b"2900-0"]


# --- cancelling ---


@pytest.mark.parametrize("laps", range(5))
@pytest.mark.parametrize("when", ["before", "after", "in the middle"])
async def test_a_marker_cancels_however_often_its_message_rolled(tmp_path: Path, laps: int, when: str) -> None:
    """Apache's deletion can miss a message that rolled an odd number of times."""
    delay = 3000 + laps * 10_000
    async with Timers.started(tmp_path, **SHORT) as timers:
        if when == "before":
            timers.cancel_in("a", delay)
            timers.send_in(b"a", delay)
        else:
            timers.send_in(b"a", delay)
        timers.send_in(b"other", delay)
        for passed in range(0, delay, 1000):
            if passed == (0 if when == "after" else delay // 2000 * 1000) and when != "before":
                timers.cancel_in("a", delay - passed)
            await timers.pass_time(1000)
        assert timers.delivered() == [b"other"]
        counts = timers.timer.counts
        assert (counts.cancelled, counts.delivered) == (1, 1)
        assert (counts.rolled > 0) is (laps > 0)
        await timers.pass_time(1000)
        assert timers.timer.pending == 0


async def test_a_marker_counts_up_to_the_last_moment(timers: Timers) -> None:
    timers.send_in(b"a", 5000)
    timers.send_in(b"b", 5000)
    await timers.pass_time(4999)
    timers.cancel_in("a", 1)
    await timers.jump(1)
    assert timers.delivered() == [b"b"]
    timers.cancel_in("b", 1)
    await timers.pass_time(1000)
    assert timers.delivered() == [b"b"]


async def test_a_marker_counts_while_the_first_stages_are_far_behind(timers: Timers) -> None:
    timers.send_in(b"a", 3000)
    await timers.pass_time(1)
    for number in range(3000):
        timers.send_in(b"%d" % number, 50_000)
    timers.cancel_in("a", 2999)
    await timers.jump(2999)
    assert timers.delivered() == []
    assert timers.timer.counts.cancelled == 1


@pytest.mark.parametrize("apart", [300, 3000])
async def test_a_marker_counts_though_all_is_overdue_before_it_is_in_the_index(tmp_path: Path, apart: int) -> None:
    timers = Timers(tmp_path)
    timers.send_in(b"a", 1000)
    for number in range(apart):
        timers.send_in(b"%d" % number, 1_000_000)
    timers.cancel_in("a", 1000)
    timers.kill()
    timers.clock.now += 60_500
    async with Timers.started(tmp_path, clock=timers.clock) as timers:
        await timers.pass_time(3000)
        assert timers.delivered() == []
        assert timers.timer.counts.cancelled == 1


async def test_a_marker_of_another_time_cancels_nothing(timers: Timers) -> None:
    timers.send_in(b"a", 5000)
    timers.cancel_in("a", 8000)
    timers.cancel_in("b", 5000)
    await timers.pass_time(5000)
    assert timers.delivered() == [b"a"]
    await timers.pass_time(5000)
    assert (timers.timer.counts.cancelled, timers.timer.pending) == (0, 0)


# --- rolling and stops ---


@pytest.mark.parametrize("clean", [True, False])
async def test_laps_continue_over_a_stop(tmp_path: Path, clean: bool) -> None:
    """Apache issue 11156."""
    timers = Timers(tmp_path, **SHORT)
    clock = timers.clock
    due = clock.now + 55_555
    timers.send(timer_draft(b"a", due, key="a"))
    rolled = 0
    for _ in range(5):
        async with timers.running():
            for _ in range(10):
                await timers.pass_time(1000)
        rolled += timers.timer.counts.rolled
        timers.stop() if clean else timers.kill()
        timers = Timers(tmp_path, clock=clock, **SHORT)
        assert timers.delivered() == []
    assert 5 <= rolled <= 6
    async with timers.running():
        await timers.pass_time(due - clock.now - 1)
        assert timers.delivered() == []
        await timers.pass_time(1)
        assert timers.delivered() == [b"a"]
        assert timers.timer.counts.delivered == 1
    timers.stop()


@pytest.mark.parametrize("clean", [True, False])
async def test_a_stop_longer_than_the_wheel_loses_nothing(tmp_path: Path, clean: bool) -> None:
    timers = Timers(tmp_path)
    delays = [10_000, DAY, 3 * DAY, 13 * DAY, 14 * DAY, 20 * DAY, 39 * DAY]
    async with timers.running():
        for number, delay in enumerate(delays):
            timers.send_in(b"%d" % number, delay)
            timers.send_in(b"c%d" % number, delay)
            timers.cancel_in(f"c{number}", delay)
        await timers.pass_time(1)
    timers.stop() if clean else timers.kill()
    timers.clock.now += 17 * DAY
    async with Timers.started(tmp_path, clock=timers.clock) as timers:
        assert timers.timer.pending == 4 or timers.timer.pending >= 4
        for _ in range(3):
            await timers.pass_time(1)
        assert timers.delivered() == [b"0", b"1", b"2", b"3", b"4"]
        assert not timers.timer.catching_up
        timers.send_in(b"new", 1000)
        await timers.pass_time(1000)
        assert timers.delivered()[-1] == b"new"
        for _ in range(23):
            await timers.pass_time(DAY)
        assert timers.delivered()[-2:] == [b"5", b"6"]
        assert timers.timer.counts.cancelled == 7


async def test_messages_sent_after_a_long_stop_do_not_block_overdue_ones(tmp_path: Path) -> None:
    """One rolls every two days; the other uses the place of its second slot, but a lap of the wheel later."""
    timers = Timers(tmp_path)
    start = timers.clock.now
    async with timers.running():
        timers.send_in(b"overdue", 14 * DAY)
        await timers.pass_time(1)
    timers.kill()
    timers.clock.now = start + 16 * DAY + DAY // 2
    timers = Timers(tmp_path, clock=timers.clock)
    timers.send(timer_draft(b"new", start + 18 * DAY + 500, key="new"))
    async with timers.running():
        for _ in range(3):
            await timers.pass_time(1)
        assert timers.delivered() == [b"overdue"]
        await timers.pass_time(start + 18 * DAY + 500 - timers.clock.now)
        assert timers.delivered() == [b"overdue", b"new"]
        assert (timers.timer.enqueue_behind, timers.timer.pending) == (0, 0)
    timers.stop()


async def test_messages_sent_just_before_a_stop_are_added_to_the_index(tmp_path: Path) -> None:
    timers = Timers(tmp_path)
    async with timers.running():
        pass
    timers.send_in(b"a", 5000)
    assert timers.timer.enqueue_behind == 1
    timers.stop()
    assert (timers.timer.enqueue_behind, timers.timer.pending) == (0, 1)


# --- faults ---


async def test_messages_that_the_log_has_lost_are_skipped_and_counted(tmp_path: Path) -> None:
    """Apache issue 10668: there the wheel stops."""
    async with Timers.started(tmp_path, commit_log_file_size=4096) as timers:
        for number in range(16):
            timers.send_in(b"%d" % number + b"." * 400, 5000)
        await timers.pass_time(1)
        remove_log_file(timers.store)
        await timers.pass_time(5000)
        found = timers.delivered()
        assert 0 < len(found) < 16
        assert found == [b"%d" % number + b"." * 400 for number in range(16 - len(found), 16)]
        assert timers.timer.counts.stale == 16 - len(found)
        assert timers.timer.pending == 0


async def test_a_record_without_a_time_is_skipped(timers: Timers) -> None:
    bad = timer_draft(b"bad", timers.clock.now + 5000, key="bad")
    bad.properties = b"UNIQ_KEY\x01bad"
    timers.send(bad)
    timers.send_in(b"a", 5000)
    await timers.pass_time(5000)
    assert timers.delivered() == [b"a"]
    assert (timers.timer.enqueue_behind, timers.timer.counts.dropped) == (0, 1)


# --- the clock ---


async def test_a_clock_that_is_set_forward_delivers_at_once(timers: Timers) -> None:
    for number, delay in enumerate((5000, 3_600_000, 5 * DAY)):
        timers.send_in(b"%d" % number, delay)
    await timers.pass_time(1)
    timers.clock.now += 3 * DAY
    await timers.pass_time(500)
    assert timers.delivered() == [b"0", b"1"]
    for _ in range(2):
        await timers.pass_time(DAY)
    assert timers.delivered() == [b"0", b"1", b"2"]


@pytest.mark.parametrize("back", [2, 700, 5000, 3_600_000])
async def test_a_clock_that_is_set_back_delays(timers: Timers, back: int) -> None:
    timers.send_in(b"a", 10_000)
    timers.send_in(b"b", 10_500)
    timers.send_in(b"c", 60_000)
    due = timers.clock.now + 10_500
    await timers.pass_time(10_000)
    assert timers.delivered() == [b"a"]
    timers.clock.now -= back
    await timers.pass_time(500)
    timers.send_in(b"d", 2000)
    await timers.pass_time(2000)
    assert timers.delivered() == ([b"a", b"b", b"d"] if timers.clock.now >= due else [b"a", b"d"])
    await timers.pass_time(max(0, due - 1 - timers.clock.now))
    await timers.pass_time(60_000)
    assert sorted(timers.delivered()) == [b"a", b"b", b"c", b"d"]
    assert timers.timer.counts.delivered == 4


async def test_messages_sent_while_the_clock_was_far_ahead_block_no_others(tmp_path: Path) -> None:
    lap = SLOT_COUNT * 100
    async with Timers.started(tmp_path, **SHORT) as timers:
        timers.clock.now += 2 * lap
        timers.send_in(b"of another time", 9000)
        await timers.pass_time(100)
        timers.clock.now -= 2 * lap
        await timers.pass_time(100)
        timers.send_in(b"same place", 8800)
        timers.send_in(b"other", 8900)
        await timers.pass_time(8800)
        assert timers.delivered() == [b"same place"]
        await timers.pass_time(100)
        assert timers.delivered() == [b"same place", b"other"]
        assert (timers.timer.enqueue_behind, timers.timer.pending) == (0, 1)
        await timers.pass_time(lap)
        assert timers.timer.counts.rolled > 0


async def test_messages_sent_while_the_clock_was_ahead_block_no_overdue_one(tmp_path: Path) -> None:
    """It uses the place, a lap later, of the slot in which the overdue message rolls for the second time."""
    timers = Timers(tmp_path, **SHORT)
    start, lap = timers.clock.now, SLOT_COUNT * 100
    async with timers.running():
        for sent, body, delay in (
            (lap + 15_000, b"in the way", 5050),
            (lap - 10_000, b"read already", 5000),
            (0, b"overdue", 24_950),
        ):
            timers.clock.now = start + sent
            await timers.pass_time(100)
            timers.send_in(body, delay)
            await timers.pass_time(100)
        await timers.pass_time(9000)  # so the first slot is read, and the next one is found, which comes after the jump
        assert (timers.timer.pending, timers.delivered()) == (3, [])
        timers.clock.now = start + lap + 18_000
        refusing = Refusing(timers, b"read already")
        for _ in range(4):
            await timers.pass_time(100)
        assert timers.delivered() == [b"overdue"]
        refusing.bodies.clear()
        await timers.pass_time(500)
        assert timers.delivered() == [b"overdue", b"read already"]
        await timers.pass_time(5000)
        assert timers.delivered() == [b"overdue", b"read already", b"in the way"]
        assert (timers.timer.enqueue_behind, timers.timer.pending) == (0, 0)
    timers.stop()


async def test_a_clock_may_be_set_back_while_a_group_is_being_stored(timers: Timers) -> None:
    timers.send_in(b"a", 5000)
    await timers.pass_time(4000)
    timers.page_cache.is_busy = True
    await timers.pass_time(1000)
    timers.clock.now -= 600
    timers.page_cache.is_busy = False
    await timers.pass_time(0)
    await timers.pass_time(599)
    assert timers.delivered() == []
    await timers.pass_time(1)
    assert timers.delivered() == [b"a"]


# --- work ---


async def test_a_large_slot_is_delivered_in_groups_in_the_order_of_the_log(tmp_path: Path) -> None:
    timers = Timers(tmp_path, commit_log_file_size=4 << 20)
    clock = timers.clock
    for start in range(0, 6000, 500):
        timers.send(*(timer_draft(b"%d" % n, clock.now + 60_000, key=f"{n}") for n in range(start, start + 500)))
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with timers.running():
        refusing = Refusing(timers)
        await timers.pass_time(59_000)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            timers.clock.now += 1000
            mock_clock().jump(1)
            while len(timers.delivered()) < 6000:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    assert timers.delivered() == [b"%d" % number for number in range(6000)]
    assert max(map(len, refusing.groups)) <= 256
    assert turns > len(refusing.groups)
    timers.stop()


async def test_large_messages_make_small_groups(tmp_path: Path) -> None:
    async with Timers.started(tmp_path, commit_log_file_size=8 << 20) as timers:
        refusing = Refusing(timers)
        for number in range(8):
            timers.send_in(b"%d" % number * 200_000, 5000, key=f"{number}")
        await timers.pass_time(5000)
        assert [len(group) for group in refusing.groups] == [2, 2, 2, 2]


class CountingClock(Clock):
    """Counts how often it is read."""

    readings = 0

    def __call__(self) -> int:
        self.readings += 1
        return super().__call__()


async def test_an_idle_timer_does_nothing(tmp_path: Path) -> None:
    clock = CountingClock()
    async with Timers.started(tmp_path, clock=clock) as timers:
        for _ in range(2):
            before = clock.readings
            for _ in range(100):
                await timers.pass_time(60_000)
            assert clock.readings == before
            assert not timers.timer.catching_up
            timers.send_in(b"a", 5000)
            await timers.pass_time(5000)
            await timers.pass_time(5000)
            await timers.pass_time(5000)
        assert len(timers.delivered()) == 2


async def test_nothing_is_created_on_the_disk_before_the_first_message(tmp_path: Path) -> None:
    async with Timers.started(tmp_path) as timers:
        await timers.pass_time(10_000)
    files = {path.name for path in (tmp_path / "store").iterdir()}
    assert files == {"checkpoint", "commitlog", "config", "consumequeue", "lock"}


# --- counts ---


async def test_the_waiting_messages_of_each_topic_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "store" / "config" / "timermetrics"
    async with Timers.started(tmp_path) as timers:
        timers.send_in(b"a", 5000)
        timers.send_in(b"b", 50_000)
        timers.send_in(b"c", 50_000, topic="U")
        timers.send_in(b"d", 50_000, topic="gone")
        await timers.pass_time(1000)
        assert timers.timer.topic_counts() == {"T": 2, "U": 1}
        await timers.pass_time(5000)
        assert timers.timer.topic_counts() == {"T": 1, "U": 1}
        assert timers.timer.pending == 3
    timers.timer.table.persist()
    written = json.loads(path.read_bytes())
    assert {topic: each["count"] for topic, each in written["timingCount"].items()} == {"T": 1, "U": 1}
    async with Timers.started(tmp_path, clock=timers.clock) as timers:
        assert timers.timer.topic_counts() == {"T": 1, "U": 1}


@pytest.mark.slow
async def test_requests_are_served_while_overdue_messages_are_delivered(tmp_path: Path) -> None:
    """Long overdue messages take their share of the time, which passes with each reading; timely ones do not wait."""
    timers = Timers(tmp_path, commit_log_file_size=4 << 20, consume_queue_file_size=20 << 12)
    loop = timers.loop
    loop.keep_busy()
    now = timers.clock.now
    timers.send(*[timer_draft(b"", now + 60_000, key=f"{number}") for number in range(4000)])
    async with timers.running():
        timers.send_in(b"soon", 1000)
        await timers.pass_time(1000)
        assert timers.timer.counts.delivered == 1
        assert loop.rests == []
        await timers.pass_time(120_000)
        assert timers.timer.counts.delivered == 4001
    assert len(loop.rests) > 4000 / 256
    timers.stop()


@pytest.mark.slow
async def test_requests_are_served_while_many_messages_are_added_to_the_index(tmp_path: Path) -> None:
    timers = Timers(
        tmp_path, commit_log_file_size=8 << 20, consume_queue_file_size=20 << 15, timer_log_file_size=52 << 15
    )
    timers.loop.keep_busy()
    far = timers.clock.now + DAY
    for first in range(0, 20_000, 1000):
        timers.send(*[timer_draft(b"", far, key=f"{number}") for number in range(first, first + 1000)])
    async with timers.running():
        assert timers.timer.enqueue_behind == 0
        assert len(timers.loop.rests) > (20_000 - MANY_BEHIND) / 512
    timers.stop()
