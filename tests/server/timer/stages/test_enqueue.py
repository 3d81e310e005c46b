"""The first stage, and senders that are faster than it reads in groups."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, cast

import trio
import trio.testing

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.timer.counts import TimerCounts
from rocketwire.server.timer.stages.enqueue import EnqueueGet, EnqueuePut
from rocketwire.server.timer.tasks import RETRY_SECONDS, WakeSignal
from rocketwire.server.timer.topic import TimerEntries, TimerTopicReader
from rocketwire.server.timer.wheel.markers import CancelMarkers
from rocketwire.store.errors import DiskFull
from tests.server.harness import mock_clock
from tests.server.timer.support import Timers, timer_draft
from tests.store.support import START, open_store, small

DAY = 86_400_000


async def test_no_task_waits_for_the_end_of_a_flood_of_sends(tmp_path: Path) -> None:
    timers = Timers(tmp_path, consume_queue_file_size=20 << 10)
    flood = [timer_draft(b"far", timers.clock.now + DAY, key=f"{number}") for number in range(1000)]
    async with timers.running():
        timers.send_in(b"a", 5000)
        timers.send_in(b"b", 5001)
        await timers.pass_time(5000)
        timers.clock.now += 1
        mock_clock().jump(0.5)
        for turn in range(40):  # in each pass of the loop more messages than the groups of any stage have
            if turn == 20:
                timers.send_in(b"c", 0)
            timers.send(*flood)
            await trio.lowlevel.checkpoint()
        assert timers.delivered() == [b"a", b"b", b"c"]
        assert timers.timer.enqueue_behind < 10_000
    timers.stop()


async def test_simultaneous_messages_are_read_in_short_steps(tmp_path: Path) -> None:
    store = open_store(small(tmp_path, commit_log_file_size=4 << 20, consume_queue_file_size=20 << 12))
    assert len(store.append([timer_draft(b"", START + DAY, key=f"{number}") for number in range(2000)])) == 2000
    topic = TimerTopicReader(store)
    for slow, most in ((False, 512), (True, 128)):
        groups_in, groups_out = trio.open_memory_channel[TimerEntries](4)
        ends = [0]
        async with trio.open_nursery() as nursery:
            stage = EnqueueGet(
                topic,
                CancelMarkers(topic, 1000, 0),
                TimerCounts(),
                WakeSignal(),
                0,
                lambda _: False,
                BackgroundBudget(),
            )
            nursery.start_soon(stage.run, groups_in, count().__next__ if slow else lambda: 0.0)
            await trio.testing.wait_all_tasks_blocked()
            assert groups_out.statistics().current_buffer_used == 4
            while ends[-1] < 2000:
                group = await groups_out.receive()
                ends.append(group.end)
                assert len(group.waiting) == group.end - ends[-2] <= most
            nursery.cancel_scope.cancel()
        assert len(ends) - 1 == -(-2000 // most)
    store.close()


class Wheel:
    """Accepts groups, unless the disk is full."""

    def __init__(self) -> None:
        self.entered: list[int] = []
        self.full = False

    def enter(self, group: TimerEntries) -> None:
        if self.full:
            raise DiskFull("timerlog", "full")
        self.entered.append(group.end)


def group(end: int) -> TimerEntries:
    return TimerEntries([], end)


async def test_a_group_is_added_at_once_unless_one_waits(autojump_clock: Any) -> None:
    assert autojump_clock is not None
    wheel = Wheel()
    changes: list[None] = []
    stage = EnqueuePut(cast("Any", wheel), lambda: changes.append(None), lambda: 0, BackgroundBudget())
    groups_in, groups_out = trio.open_memory_channel[TimerEntries](16)
    assert not stage.enter_now(group(0))  # no task would retry it
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.run, groups_out)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.enter_now(group(1))
        groups_in.send_nowait(group(2))
        assert not stage.enter_now(group(3))  # the task has the former group, and has not run yet
        groups_in.send_nowait(group(3))
        await trio.testing.wait_all_tasks_blocked()
        assert wheel.entered == [1, 2, 3]
        wheel.full = True
        assert not stage.enter_now(group(4))
        groups_in.send_nowait(group(4))
        await trio.testing.wait_all_tasks_blocked()
        wheel.full = False
        assert not stage.enter_now(group(5))
        await trio.sleep(2 * RETRY_SECONDS)
        assert stage.enter_now(group(6))
        nursery.cancel_scope.cancel()
    assert wheel.entered == [1, 2, 3, 4, 6]
    assert len(changes) == 5
