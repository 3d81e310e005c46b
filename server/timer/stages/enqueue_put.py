"""The second stage: puts messages into the timer's index."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.timer.stages.enqueue_get import MANY_BEHIND
from rocketwire.server.timer.tasks import JobFaults
from rocketwire.server.timer.topic import TimerEntries
from rocketwire.server.timer.wheel.markers import STEP
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.errors import StoreError


class EnqueuePut:
    """Enters the messages that the first stage read, each record once.

    Args:
        wheel: The index and its part in memory.
        changed: Called after each group.
        behind: How many entries of the timer's topic are to be entered.
        budget: Of the background work, which entering many is.
    """

    def __init__(
        self, wheel: NearWheel, changed: Callable[[], None], behind: Callable[[], int], budget: BackgroundBudget
    ) -> None:
        self._wheel = wheel
        self._changed = changed
        self._behind = behind
        self._budget = budget
        self._faults = JobFaults("timer messages wait to be put into the timer's files")
        self._groups: trio.MemoryReceiveChannel[TimerEntries] | None = None

    async def run(self, groups: trio.MemoryReceiveChannel[TimerEntries]) -> None:
        """Enter groups for ever: in one step as many as fit in some ms."""
        self._groups = groups
        async for group in groups:
            until = trio.current_time() + STEP
            await self._enter(group)
            with suppress(trio.WouldBlock):
                while self._behind() < MANY_BEHIND and trio.current_time() < until:
                    await self._enter(groups.receive_nowait())

    def enter_now(self, group: TimerEntries) -> bool:
        """Enter a group at once if none waits: most have a message or two. False: it has to be sent to `run`."""
        groups = self._groups
        if groups is None or self._behind() >= MANY_BEHIND or not groups.statistics().tasks_waiting_receive:
            return False  # one that was sent comes first
        try:
            self._wheel.enter(group)
        except (OSError, StoreError):  # `run` tries again
            return False
        self._changed()
        return True

    async def _enter(self, group: TimerEntries) -> None:
        budget = self._budget if self._behind() >= MANY_BEHIND else None
        await self._faults.until_done(partial(self._wheel.enter, group), budget)
        self._changed()
