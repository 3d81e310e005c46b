"""The first stage: reads the timer's topic."""

from __future__ import annotations

from typing import Final

import trio

from rocketwire.server.timer.bell import Bell
from rocketwire.server.timer.faults import Faults
from rocketwire.server.timer.markers import Markers
from rocketwire.server.timer.topic import Entries, TimerTopic

#: Entries of one group.
_GROUP: Final = 512


class EnqueueGet:
    """Reads messages that are to wait, in groups, from an offset of the topic's queue on."""

    def __init__(self, topic: TimerTopic, markers: Markers, arrivals: Bell, offset: int) -> None:
        self._topic = topic
        self._markers = markers
        self._arrivals = arrivals
        self._offset = offset
        self._faults = Faults("reading timer messages")

    async def run(self, groups: trio.MemorySendChannel[Entries]) -> None:
        """Read for ever; `arrivals` rings when there may be more."""
        while True:
            if self._offset >= self._topic.end:
                await self._arrivals.heard()
                continue
            async with self._faults.told():
                group = self._topic.read(self._offset, _GROUP)
                self._markers.note(group.waiting, group.end)
                self._offset = group.end
                await groups.send(group)
