"""The first stage: reads the timer's topic."""

from __future__ import annotations

import logging
from typing import Final

import trio

from rocketwire.server.timer.bell import Bell
from rocketwire.server.timer.counts import Counts
from rocketwire.server.timer.faults import Faults
from rocketwire.server.timer.markers import Markers
from rocketwire.server.timer.topic import Entries, TimerTopic

log = logging.getLogger(__name__)

#: Entries of one group, unless more came since the one before.
_GROUP: Final = 512
_MOST: Final = 8192


class EnqueueGet:
    """Reads messages that are to wait, in groups, from an offset of the topic's queue on."""

    def __init__(self, topic: TimerTopic, markers: Markers, counts: Counts, arrivals: Bell, offset: int) -> None:
        self._topic = topic
        self._markers = markers
        self._counts = counts
        self._arrivals = arrivals
        self._offset = offset
        self._end = topic.end
        self._faults = Faults("reading timer messages")

    async def run(self, groups: trio.MemorySendChannel[Entries]) -> None:
        """Read for ever; `arrivals` rings when there may be more."""
        while True:
            if self._offset >= self._topic.end:
                await self._arrivals.heard()
                continue
            async with self._faults.told():
                group = self._read()
                self._markers.note(group.waiting, group.end)
                self._count(group)
                self._offset = group.end
                await groups.send(group)

    def _read(self) -> Entries:
        """The next group: it has twice what came since the one before, to get to the end however fast others send."""
        end = self._topic.end
        upto = min(self._offset + min(2 * (end - self._end), _MOST), end)
        group = self._topic.read(self._offset, max(_GROUP, upto - self._offset))
        while group.end < upto:
            more = self._topic.read(group.end, upto - group.end)
            group = Entries(
                group.waiting + more.waiting, more.end, group.lost + more.lost, group.unreadable + more.unreadable
            )
        self._end = end
        return group

    def _count(self, group: Entries) -> None:
        """Count, and tell of, messages that can never be delivered."""
        if group.lost:
            log.error("timer: %d messages from offset %d on are not in the log any more", group.lost, self._offset)
            self._counts.stale += group.lost
        if group.unreadable:
            log.error("timer: %d messages from offset %d on say no time or topic", group.unreadable, self._offset)
            self._counts.dropped += group.unreadable
