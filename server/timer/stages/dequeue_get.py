"""The third stage: reads the wheel a little ahead of time, and passes on messages that are due."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import trio

from rocketwire.server.core.background import OVERDUE_MS, BackgroundBudget
from rocketwire.server.timer.tasks import JobFaults, WakeSignal
from rocketwire.server.timer.wheel.loaded import DueRun
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.errors import StoreError

#: Most messages of a group; of one that is overdue, while requests come.
GROUP: Final = 256
_SMALL_GROUP: Final = 16


class DequeueGet:
    """Sends groups of messages that are due to the next stage."""

    def __init__(self, wheel: NearWheel, bell: WakeSignal, budget: BackgroundBudget) -> None:
        self._wheel = wheel
        self._bell = bell
        self._budget = budget
        self._faults = JobFaults("reading the timer's wheel")

    async def run(self, groups: trio.MemorySendChannel[Sequence[DueRun]]) -> None:
        """Send groups for ever."""
        while True:
            async with self._faults.log_and_pause():
                await self._step(groups)

    async def _step(self, groups: trio.MemorySendChannel[Sequence[DueRun]]) -> None:
        wheel = self._wheel
        now = wheel.now()
        overdue = wheel.lag(now) > OVERDUE_MS
        more, runs = await self._budget.call(partial(self._take, now, overdue=overdue), overdue=overdue)
        try:
            more |= await self._budget.call(partial(wheel.read, now), overdue=overdue)
        except (OSError, StoreError):
            while runs:  # messages in memory do not wait for the reading
                await groups.send(runs)
                runs = wheel.take(wheel.now(), GROUP)
            raise
        if runs:
            await groups.send(runs)
        elif more:
            await trio.lowlevel.checkpoint()
        else:
            await self._bell.wait(wheel.pause_seconds(now))

    def _take(self, now: int, *, overdue: bool) -> tuple[bool, list[DueRun]]:
        """Pass slots that are over, and take out messages that are due; also whether there are more such slots."""
        more = self._wheel.pass_slots(now)
        return more, self._wheel.take(now, _SMALL_GROUP if overdue and self._budget.is_busy() else GROUP)
