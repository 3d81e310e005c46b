"""The second stage: puts messages into the timer's index."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import trio

from rocketwire.server.timer.tasks import JobFaults
from rocketwire.server.timer.topic import TimerEntries
from rocketwire.server.timer.wheel.markers import STEP
from rocketwire.server.timer.wheel.wheel import NearWheel


class EnqueuePut:
    """Enters the messages that the first stage read, each record once.

    Args:
        wheel: The index and its part in memory.
        changed: Called after each group.
    """

    def __init__(self, wheel: NearWheel, changed: Callable[[], None]) -> None:
        self._wheel = wheel
        self._changed = changed
        self._faults = JobFaults("timer messages wait to be put into the timer's files")

    async def run(self, groups: trio.MemoryReceiveChannel[TimerEntries]) -> None:
        """Enter groups for ever: in one step as many as fit in some ms."""
        async for group in groups:
            until = trio.current_time() + STEP
            await self._enter(group)
            with suppress(trio.WouldBlock):
                while trio.current_time() < until:
                    await self._enter(groups.receive_nowait())

    async def _enter(self, group: TimerEntries) -> None:
        await self._faults.until_done(partial(self._wheel.enter, group))
        self._changed()
