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
from rocketwire.store.errors import StoreError


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
        self._groups: trio.MemoryReceiveChannel[TimerEntries] | None = None

    async def run(self, groups: trio.MemoryReceiveChannel[TimerEntries]) -> None:
        """Enter groups for ever: in one step as many as fit in some ms."""
        self._groups = groups
        async for group in groups:
            until = trio.current_time() + STEP
            await self._enter(group)
            with suppress(trio.WouldBlock):
                while trio.current_time() < until:
                    await self._enter(groups.receive_nowait())

    def enter_now(self, group: TimerEntries) -> bool:
        """Enter a group at once if none waits: most have a message or two. False: it has to be sent to `run`."""
        groups = self._groups
        if groups is None or not groups.statistics().tasks_waiting_receive:
            return False  # one that was sent comes first
        try:
            self._wheel.enter(group)
        except (OSError, StoreError):  # `run` tries again
            return False
        self._changed()
        return True

    async def _enter(self, group: TimerEntries) -> None:
        await self._faults.until_done(partial(self._wheel.enter, group))
        self._changed()
