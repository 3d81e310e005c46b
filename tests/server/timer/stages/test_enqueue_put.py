"""Groups of messages are entered in their order, at once or by the task."""

from __future__ import annotations

from typing import Any, cast

import trio
import trio.testing

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.timer.stages.enqueue_put import EnqueuePut
from rocketwire.server.timer.tasks import RETRY_SECONDS
from rocketwire.server.timer.topic import TimerEntries
from rocketwire.store.errors import DiskFull


class Wheel:
    """Takes groups, unless the disk is full."""

    def __init__(self) -> None:
        self.entered: list[int] = []
        self.full = False

    def enter(self, group: TimerEntries) -> None:
        if self.full:
            raise DiskFull("timerlog", "full")
        self.entered.append(group.end)


def group(end: int) -> TimerEntries:
    return TimerEntries([], end)


async def test_a_group_is_entered_at_once_unless_one_waits(autojump_clock: Any) -> None:
    assert autojump_clock is not None
    wheel = Wheel()
    changes: list[None] = []
    stage = EnqueuePut(cast("Any", wheel), lambda: changes.append(None), lambda: 0, BackgroundBudget())
    groups_in, groups_out = trio.open_memory_channel[TimerEntries](16)
    assert not stage.enter_now(group(0))  # nobody would try again
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.run, groups_out)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.enter_now(group(1))
        groups_in.send_nowait(group(2))
        assert not stage.enter_now(group(3))  # the task has the one before, and has not run yet
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
