"""The third stage: reads the wheel a little ahead of time, and lets go what is due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import trio

from rocketwire.server.timer.bell import Bell
from rocketwire.server.timer.faults import Faults
from rocketwire.server.timer.wheel.loaded import Run
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.errors import StoreError

#: Messages of one group.
GROUP: Final = 256


class DequeueGet:
    """Gives groups of messages that are due."""

    def __init__(self, wheel: NearWheel, bell: Bell) -> None:
        self._wheel = wheel
        self._bell = bell
        self._faults = Faults("reading the timer's wheel")

    async def run(self, groups: trio.MemorySendChannel[Sequence[Run]]) -> None:
        """Give what is due, for ever."""
        while True:
            async with self._faults.told():
                await self._step(groups)

    async def _step(self, groups: trio.MemorySendChannel[Sequence[Run]]) -> None:
        wheel = self._wheel
        now = wheel.now()
        more = wheel.pass_slots(now)
        runs = wheel.take(now, GROUP)
        try:
            more |= wheel.read(now)
        except (OSError, StoreError):
            while runs:  # what is read already does not wait for it
                await groups.send(runs)
                runs = wheel.take(wheel.now(), GROUP)
            raise
        if runs:
            await groups.send(runs)
        elif more:
            await trio.lowlevel.checkpoint()
        else:
            await self._bell.heard(wheel.rest(now))
