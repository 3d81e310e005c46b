"""The third stage: reads the wheel a little ahead of time, and passes on messages that are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from rocketwire.server.timer.tasks import Bell, JobFaults
from rocketwire.server.timer.wheel.loaded import DueRun
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.errors import StoreError

#: Most messages of a group.
GROUP: Final = 256


class DequeueGet:
    """Sends groups of messages that are due to the next stage."""

    def __init__(self, wheel: NearWheel, bell: Bell) -> None:
        self._wheel = wheel
        self._bell = bell
        self._faults = JobFaults("reading the timer's wheel")

    async def run(self, groups: trio.MemorySendChannel[Sequence[DueRun]]) -> None:
        """Send groups for ever."""
        while True:
            async with self._faults.told():
                await self._step(groups)

    async def _step(self, groups: trio.MemorySendChannel[Sequence[DueRun]]) -> None:
        wheel = self._wheel
        now = wheel.now()
        more = wheel.pass_slots(now)
        runs = wheel.take(now, GROUP)
        try:
            more |= wheel.read(now)
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
            await self._bell.heard(wheel.rest(now))
