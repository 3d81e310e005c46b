"""The second stage: puts messages that are to wait into the timer's index."""

from __future__ import annotations

from collections.abc import Callable

import trio

from rocketwire.server.timer.faults import RETRY_SECONDS, Faults
from rocketwire.server.timer.topic import Entries
from rocketwire.server.timer.wheel import NearWheel
from rocketwire.store.errors import StoreError


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
        self._start = True

    async def run(self, groups: trio.MemoryReceiveChannel[Entries]) -> None:
        """Enter what comes, for ever."""
        async for waiting, end in groups:
            left = waiting
            if self._start:
                already = self._wheel.index.already
                left = [each for each in waiting if each.physical_offset not in already]
            while left:
                try:
                    left = left[self._wheel.enter(left) :]
                    self._faults.over()
                except (OSError, StoreError) as error:
                    self._faults.note(error)
                    await trio.sleep(RETRY_SECONDS)
            self._wheel.entered_to(end)
            if self._start and end >= self._wheel.index.already_until:
                self._wheel.index.forget_already()
                self._start = False
            self._changed()
