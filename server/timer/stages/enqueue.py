"""The first two stages: messages are read from the timer's topic in groups, and entered into the index."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import trio

from rocketwire.server.core.background import BUSY_SLICE_SECONDS, BackgroundBudget
from rocketwire.server.timer.counts import TimerCounts
from rocketwire.server.timer.tasks import RETRY_SECONDS, JobFaults, WakeSignal
from rocketwire.server.timer.topic import TimerEntries, TimerTopicReader
from rocketwire.server.timer.wheel.markers import STEP, CancelMarkers
from rocketwire.server.timer.wheel.wheel import NearWheel
from rocketwire.store.errors import StoreError

log = logging.getLogger(__name__)

#: Most entries of a group, and of one read: a marker takes up to 0.1 ms.
_GROUP: Final = 512
_PIECE: Final = 128
#: Most entries of a group that is background work, while requests come.
_SMALL_GROUP: Final = 16
#: If so many entries or more are to be read, that is background work.
MANY_BEHIND: Final = 16_384


class EnqueueGet:
    """Reads groups of messages from an offset of the topic's queue on; `enter_now` may take them at once."""

    def __init__(
        self,
        topic: TimerTopicReader,
        markers: CancelMarkers,
        counts: TimerCounts,
        arrivals: WakeSignal,
        offset: int,
        enter_now: Callable[[TimerEntries], bool],
        budget: BackgroundBudget,
    ) -> None:
        self._topic = topic
        self._markers = markers
        self._counts = counts
        self._arrivals = arrivals
        self._offset = offset
        self._enter_now = enter_now
        self._budget = budget
        self._faults = JobFaults("reading timer messages")

    async def run(
        self, groups: trio.MemorySendChannel[TimerEntries], monotonic: Callable[[], float] = trio.current_time
    ) -> None:
        """Read without end; `arrivals` rings when there may be more.

        Args:
            groups: Receives the groups.
            monotonic: Gives a time in seconds.
        """
        while True:
            if self._offset >= self._topic.end:
                await self._arrivals.wait()
                continue
            try:  # not by `log_and_pause`, which costs as much as the step
                await self._step(groups, monotonic)
            except (OSError, StoreError) as error:
                self._faults.note(error)
                await trio.sleep(RETRY_SECONDS)
            else:
                self._faults.clear()

    async def _step(self, groups: trio.MemorySendChannel[TimerEntries], monotonic: Callable[[], float]) -> None:
        """Read for some ms, as many groups as the channel takes, to reach the end however fast others send."""
        behind = self._topic.end - self._offset >= MANY_BEHIND
        unsent = await self._budget.call(partial(self._read_some, groups, monotonic, behind=behind), overdue=behind)
        if unsent is not None:
            await groups.send(unsent)
        elif self._offset < self._topic.end:  # else it waits anyway
            await trio.lowlevel.checkpoint()

    def _read_some(
        self, groups: trio.MemorySendChannel[TimerEntries], monotonic: Callable[[], float], *, behind: bool
    ) -> TimerEntries | None:
        """Read groups and send them; return the last one if there was no time or no room to send it."""
        most = _SMALL_GROUP if behind and self._budget.is_busy() else _GROUP
        until = monotonic() + (STEP if most == _GROUP else BUSY_SLICE_SECONDS)
        while self._offset < self._topic.end:
            group = self._read(most, until, monotonic)
            self._count(group)
            self._offset = group.end
            if monotonic() >= until or not (self._enter_now(group) or _try_to_send(groups, group)):
                return group
        return None

    def _read(self, most: int, until: float, monotonic: Callable[[], float]) -> TimerEntries:
        """The next group, of `most` entries: read in pieces, until a time."""
        group = self._read_piece(self._offset, min(_PIECE, most))
        end = min(self._offset + most, self._topic.end)
        while group.end < end and monotonic() < until:
            more = self._read_piece(group.end, min(_PIECE, end - group.end))
            group = TimerEntries(
                group.waiting + more.waiting, more.end, group.lost + more.lost, group.unreadable + more.unreadable
            )
        return group

    def _read_piece(self, offset: int, most: int) -> TimerEntries:
        piece = self._topic.read(offset, most)
        self._markers.note(piece.waiting, piece.end)
        return piece

    def _count(self, group: TimerEntries) -> None:
        """Count and log messages that can never be delivered."""
        if group.lost:
            log.error(
                "timer: %(messages)d messages from offset %(offset)d on are not in the log any more",
                {"messages": group.lost, "offset": self._offset},
            )
            self._counts.stale += group.lost
        if group.unreadable:
            log.error(
                "timer: %(messages)d messages from offset %(offset)d on say no time or topic",
                {"messages": group.unreadable, "offset": self._offset},
            )
            self._counts.dropped += group.unreadable


def _try_to_send(groups: trio.MemorySendChannel[TimerEntries], group: TimerEntries) -> bool:
    """Send a group if there is room for it."""
    try:
        groups.send_nowait(group)
    except trio.WouldBlock:
        return False
    return True


class EnqueuePut:
    """Enters the messages that the first stage read, each record once.

    Args:
        wheel: The index and its part in memory.
        changed: Called after each group.
        behind: How many entries of the timer's topic are to be entered.
        budget: Of the background work, which entering many is.
    """

    def __init__(
        self, wheel: NearWheel, changed: Callable[[], None], behind: Callable[[], int], budget: BackgroundBudget
    ) -> None:
        self._wheel = wheel
        self._changed = changed
        self._behind = behind
        self._budget = budget
        self._faults = JobFaults("timer messages wait to be put into the timer's files")
        self._groups: trio.MemoryReceiveChannel[TimerEntries] | None = None

    async def run(self, groups: trio.MemoryReceiveChannel[TimerEntries]) -> None:
        """Enter groups without end: in one step as many as fit in some ms."""
        self._groups = groups
        async for group in groups:
            until = trio.current_time() + STEP
            await self._enter(group)
            with suppress(trio.WouldBlock):
                while self._behind() < MANY_BEHIND and trio.current_time() < until:
                    await self._enter(groups.receive_nowait())

    def enter_now(self, group: TimerEntries) -> bool:
        """Enter a group at once if none waits: most have a message or two. False: it has to be sent to `run`."""
        groups = self._groups
        if groups is None or self._behind() >= MANY_BEHIND or not groups.statistics().tasks_waiting_receive:
            return False  # one that was sent comes first
        try:
            self._wheel.enter(group)
        except (OSError, StoreError):  # `run` tries again
            return False
        self._changed()
        return True

    async def _enter(self, group: TimerEntries) -> None:
        budget = self._budget if self._behind() >= MANY_BEHIND else None
        await self._faults.until_done(partial(self._wheel.enter, group), budget)
        self._changed()
