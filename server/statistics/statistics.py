"""The statistics of one broker, and the task that brings them up to date every 10 s."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import trio

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.statistics.counters import Counters, Period

GroupTopic: TypeAlias = tuple[str, str]
"""A group and a topic."""
TakeArrivals: TypeAlias = Callable[[], Iterable[list[tuple[str, int, int]]]]
"""Gives what was appended since the last call: topics, messages and bytes of their queues, in parts."""

STORED, DELIVERED = "stored", "delivered"
"""The keys of what the broker stored and delivered in all."""
_SECONDS: Final = int(Period.MINUTE.value[0])


class Statistics:
    """The counters of one broker.

    Topics that do not exist any more, and groups, lose theirs with the next snapshot.

    Args:
        metrics: The broker's totals.
        arrivals: See `TakeArrivals`.
        has_arrived: Whether a topic has messages that `arrivals` will bring.
        has_topic: Whether a topic exists.
        has_group: Whether a group exists.

    Attributes:
        topics: What was stored, by topic.
        delivered: What groups got, by group and topic.
        sent_back: What consumers sent back, by group and topic.
        broker: Everything that was stored, and delivered.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        arrivals: TakeArrivals,
        has_arrived: Callable[[str], bool],
        has_topic: Callable[[str], bool],
        has_group: Callable[[str], bool],
    ) -> None:
        self.topics: Counters[str] = Counters()
        self.delivered: Counters[GroupTopic] = Counters()
        self.sent_back: Counters[GroupTopic] = Counters()
        self.broker: Counters[str] = Counters()
        self._metrics = metrics
        self._arrivals = arrivals
        self._has_arrived = has_arrived
        self._has_topic = has_topic
        self._has_group = has_group
        self._counted = 0
        self._removed = False

    def forget_removed(self) -> None:
        """Note that a topic or a group may be deleted."""
        self._removed = True

    async def run(self) -> None:
        """Take snapshots without end."""
        works = LongTaskScheduler(now=trio.current_time)
        began = trio.current_time()
        before, seconds = -1, 0
        while True:
            work = self.sample(before, seconds)
            paused = works.start(work)
            if paused is not None:
                await works.finish(work, paused)
            before, passed = seconds, int(trio.current_time() - began)
            seconds = passed - passed % _SECONDS + _SECONDS
            await trio.sleep_until(began + seconds)

    def sample(self, before: int, seconds: int) -> Operation[None]:
        """Take the snapshots that became due between two times after the start."""
        yield from self._count()
        if self._removed:
            self._removed = False
            yield from self._forget()
        now = trio.current_time()
        due = [period for period in Period if before // period.value[0] != seconds // period.value[0]]
        for counters in (self.topics, self.delivered, self.sent_back, self.broker):
            for period in due:
                counters.snapshot(period, now)
                yield None
        if Period.DAY in due:
            for counters in (self.topics, self.delivered, self.sent_back):
                yield from counters.remove_idle()

    def has_stored(self, topic: str) -> bool:
        """Whether messages were stored in a topic since the start, or since its counter was removed."""
        return topic in self.topics or self._has_arrived(topic)

    def count_all(self) -> None:
        """Bring the counters of the broker up to date."""
        metrics = self._metrics
        for key, so_far in ((STORED, metrics.messages_in), (DELIVERED, metrics.messages_out)):
            more = so_far - self.broker.total(key)
            if more:
                self.broker.add(key, more, calls=0)

    def _count(self) -> Operation[None]:
        self.count_all()
        if self._metrics.messages_in == self._counted:
            return
        self._counted = self._metrics.messages_in
        for part in self._arrivals():
            for topic, messages, size in part:
                self.topics.add(topic, messages, size, messages)
            yield None

    def _forget(self) -> Operation[None]:
        yield from self.topics.remove_where(lambda topic: not self._has_topic(topic))
        for counters in (self.delivered, self.sent_back):
            yield from counters.remove_where(self._is_obsolete)

    def _is_obsolete(self, key: GroupTopic) -> bool:
        group, topic = key
        return not (self._has_group(group) and self._has_topic(topic))
