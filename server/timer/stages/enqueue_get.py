"""The first stage: reads the timer's topic."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.timer.bell import Bell
from rocketwire.server.timer.counts import Counts
from rocketwire.server.timer.faults import Faults
from rocketwire.server.timer.topic import Entries, TimerTopic
from rocketwire.server.timer.wheel.markers import STEP, Markers

log = logging.getLogger(__name__)

#: Entries of one group, and of what is read at once: a marker takes up to 0.1 ms.
_GROUP: Final = 512
_PIECE: Final = 128


class EnqueueGet:
    """Reads messages that are to wait, in groups, from an offset of the topic's queue on."""

    def __init__(self, topic: TimerTopic, markers: Markers, counts: Counts, arrivals: Bell, offset: int) -> None:
        self._topic = topic
        self._markers = markers
        self._counts = counts
        self._arrivals = arrivals
        self._offset = offset
        self._faults = Faults("reading timer messages")

    async def run(
        self, groups: trio.MemorySendChannel[Entries], monotonic: Callable[[], float] = trio.current_time
    ) -> None:
        """Read for ever; `arrivals` rings when there may be more.

        Args:
            groups: Gets what was read.
            monotonic: Gives a time in seconds.
        """
        while True:
            if self._offset >= self._topic.end:
                await self._arrivals.heard()
                continue
            async with self._faults.told():
                await self._step(groups, monotonic)

    async def _step(self, groups: trio.MemorySendChannel[Entries], monotonic: Callable[[], float]) -> None:
        """Read for some ms, as many groups as there is room for: to get to the end however fast others send."""
        until = monotonic() + STEP
        sent = True
        while sent and self._offset < self._topic.end:
            group = self._read(until, monotonic)
            self._count(group)
            self._offset = group.end
            sent = monotonic() < until and _sent(groups, group)
        if not sent:
            await groups.send(group)
        else:
            await trio.lowlevel.checkpoint()

    def _read(self, until: float, monotonic: Callable[[], float]) -> Entries:
        """The next group: what is read up to a time, in pieces."""
        group = self._read_piece(self._offset, _PIECE)
        end = min(self._offset + _GROUP, self._topic.end)
        while group.end < end and monotonic() < until:
            more = self._read_piece(group.end, min(_PIECE, end - group.end))
            group = Entries(
                group.waiting + more.waiting, more.end, group.lost + more.lost, group.unreadable + more.unreadable
            )
        return group

    def _read_piece(self, offset: int, most: int) -> Entries:
        piece = self._topic.read(offset, most)
        self._markers.note(piece.waiting, piece.end)
        return piece

    def _count(self, group: Entries) -> None:
        """Count, and tell of, messages that can never be delivered."""
        if group.lost:
            log.error("timer: %d messages from offset %d on are not in the log any more", group.lost, self._offset)
            self._counts.stale += group.lost
        if group.unreadable:
            log.error("timer: %d messages from offset %d on say no time or topic", group.unreadable, self._offset)
            self._counts.dropped += group.unreadable


def _sent(groups: trio.MemorySendChannel[Entries], group: Entries) -> bool:
    """Send a group if there is room for it."""
    try:
        groups.send_nowait(group)
    except trio.WouldBlock:
        return False
    return True
