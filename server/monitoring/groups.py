"""How far consumer groups are behind: messages (backlog), and the age of the oldest of them (lag).

There may be very many queues and groups. So they are visited in slices, between which the event loop runs other tasks,
and only the groups furthest behind have their own series; all others share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappush, heappushpop
from typing import Final, NamedTuple

import trio
from prometheus_client import Metric

from rocketwire.server.monitoring.families import gauges
from rocketwire.server.monitoring.sources import MonitoredServices
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.wire.names import is_system_group

MOST_SERIES: Final = 500
OTHERS: Final = "(others)"
"""The group and topic label of the series of all others; no group can have this name."""

_SLICE_SECONDS: Final = 0.003
"""How long a scrape works before other tasks run."""


class ScrapeSlices:
    """Lets other tasks run when a slice is over."""

    def __init__(self) -> None:
        self._began = trio.current_time()

    async def pause(self) -> None:
        """Continue, or let other tasks run first if the slice is over."""
        if trio.current_time() - self._began >= _SLICE_SECONDS:
            await trio.lowlevel.checkpoint()
            self._began = trio.current_time()


class QueueLag(NamedTuple):
    """A group in a topic: the number of messages it has not consumed, and the age of the oldest in seconds."""

    group: str
    topic: str
    messages: int
    seconds: float


class LagMeasurement:
    """Measures how far groups are behind.

    The store time of the message at a group's offset is cached while the offset stays: files of unused queues are not
    mapped again and again.
    """

    def __init__(self, services: MonitoredServices) -> None:
        self._services = services
        self._times: dict[tuple[ConsumeQueue, int], int] = {}

    async def lags(self, slices: ScrapeSlices) -> list[QueueLag]:
        """All groups with offsets in an existing topic; a connected one only in topics that it subscribes to."""
        furthest = _Furthest()
        times: dict[tuple[ConsumeQueue, int], int] = {}
        for key in self._services.offsets.keys():  # noqa: SIM118 - it is no dict
            await slices.pause()
            topic, group, committed = self._services.offsets.at(key)
            if self._consumes(group, topic):
                furthest.add(await self._behind(slices, group, topic, committed, times))
        self._times = times
        return furthest.found()

    def _consumes(self, group: str, topic: str) -> bool:
        if is_system_group(group) or self._services.topics.get(topic) is None:
            return False
        consumers = self._services.clients.consumer(group)
        return consumers is None or topic in consumers.subscriptions

    async def _behind(
        self,
        slices: ScrapeSlices,
        group: str,
        topic: str,
        committed: dict[int, int],
        times: dict[tuple[ConsumeQueue, int], int],
    ) -> QueueLag:
        """Queues without a committed offset of the group do not count."""
        messages, oldest = 0, None
        for queue_id in list(committed):  # they may change while other tasks run
            await slices.pause()
            queue, offset = self._services.store.queues.by_key.get((topic, queue_id)), committed.get(queue_id)
            if queue is None or offset is None or (count := queue.end - max(offset, queue.min)) <= 0:
                continue
            messages += count
            at = queue, queue.end - count
            stored = times[at] = self._stored(*at)
            if stored >= 0 and (oldest is None or stored < oldest):
                oldest = stored
        seconds = 0.0 if oldest is None else max(0, self._services.clock() - oldest) / 1000
        return QueueLag(group, topic, messages, seconds)

    def _stored(self, queue: ConsumeQueue, offset: int) -> int:
        known = self._times.get((queue, offset))
        return self._services.store.store_time(*queue.key, offset) if known is None else known


class _Furthest:
    """The entries that are furthest behind, and the sum of the others."""

    def __init__(self) -> None:
        self._heap: list[tuple[tuple[int, float, str, str], QueueLag]] = []
        self._others: list[QueueLag] = []

    def add(self, behind: QueueLag) -> None:
        """Add an entry."""
        ranked = (behind.messages, behind.seconds, behind.group, behind.topic), behind
        if len(self._heap) < MOST_SERIES - 1:
            heappush(self._heap, ranked)
            return
        _, less = heappushpop(self._heap, ranked)
        so_far = self._others[0] if self._others else QueueLag(OTHERS, OTHERS, 0, 0.0)
        total, longest = so_far.messages + less.messages, max(so_far.seconds, less.seconds)
        self._others = [QueueLag(OTHERS, OTHERS, total, longest)]

    def found(self) -> list[QueueLag]:
        """All entries."""
        return [*(behind for _, behind in self._heap), *self._others]


def families(found: Sequence[QueueLag]) -> Iterator[Metric]:
    """The metrics of the entries."""
    labels = ("group", "topic")
    yield gauges(
        "group_backlog_messages",
        "Messages of a topic that a group has not consumed.",
        labels,
        (((each.group, each.topic), each.messages) for each in found),
    )
    yield gauges(
        "group_lag_seconds",
        "How long the oldest message has been stored that a group has not consumed.",
        labels,
        (((each.group, each.topic), each.seconds) for each in found),
    )
