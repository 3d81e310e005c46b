"""The second stage: puts messages that are to wait into the timer's index."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from rocketwire.server.timer.faults import Faults
from rocketwire.server.timer.topic import Entries
from rocketwire.server.timer.wheel import NearWheel


class EnqueuePut:
    """Enters what the first stage read, each record once.

    Args:
        wheel: What it is entered into.
        changed: Called after each group.
    """

    def __init__(self, wheel: NearWheel, changed: Callable[[], None]) -> None:
        self._wheel = wheel
        self._changed = changed
        self._faults = Faults("timer messages wait to be put into the timer's files")

    async def run(self, groups: trio.MemoryReceiveChannel[Entries]) -> None:
        """Enter what comes, for ever."""
        async for group in groups:
            await self._faults.until_done(partial(self._wheel.enter, group))
            self._changed()
