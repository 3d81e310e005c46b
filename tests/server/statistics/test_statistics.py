from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import trio

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.statistics.counters import Period
from rocketwire.server.statistics.statistics import DELIVERED, STORED, Statistics
from rocketwire.server.statistics.windows import Sums
from tests.server.harness import mock_clock, settle


class Broker:
    """Messages that arrive in topics, and the statistics of them."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.topics, self.groups = {"T", "U"}, {"G"}
        self.taken = 0
        self._new: list[tuple[str, int, int]] = []
        self.statistics = Statistics(
            self.metrics,
            arrivals=self._take,
            has_arrived=lambda topic: any(topic == each for each, _, _ in self._new),
            has_topic=lambda topic: topic in self.topics,
            has_group=lambda group: group in self.groups,
        )

    def _take(self) -> Iterator[list[tuple[str, int, int]]]:
        self.taken += 1
        new, self._new = self._new, []
        for each in new:
            yield [each]

    def store(self, topic: str, messages: int) -> None:
        self.metrics.stored(messages, 100 * messages)
        self._new.append((topic, messages, 100 * messages))

    def minute(self, topic: str) -> Sums:
        return self.statistics.topics.sums(topic, Period.MINUTE)


@pytest.fixture
async def broker(nursery: trio.Nursery) -> Broker:
    made = Broker()
    nursery.start_soon(made.statistics.run)
    await settle()
    return made


async def pass_time(seconds: float) -> None:
    mock_clock().jump(seconds)
    await settle()


async def test_topics_are_updated_every_10_s(broker: Broker) -> None:
    broker.store("T", 3)
    broker.store("T", 17)
    assert broker.statistics.has_stored("T")
    assert "T" not in broker.statistics.topics
    await pass_time(9)
    assert broker.minute("T") == Sums(0, 0.0, 0.0)
    await pass_time(1)
    assert broker.minute("T") == Sums(20, 2.0, 1.0)
    assert broker.statistics.has_stored("T")
    assert not broker.statistics.has_stored("U")


async def test_the_minute_the_hour_and_the_day_have_sums(broker: Broker) -> None:
    for _ in range(360):
        broker.store("T", 10)
        await pass_time(10)
    sums = [broker.statistics.topics.sums("T", period) for period in Period]
    assert [(each.total, each.per_second) for each in sums] == [(60 * 1, 1.0), (3600, 1.0), (3600, 1.0)]


async def test_a_broker_without_messages_reads_no_queue(broker: Broker) -> None:
    broker.store("T", 1)
    for _ in range(10):
        await pass_time(10)
    assert broker.taken == 1


async def test_the_totals_of_the_broker_are_summed(broker: Broker) -> None:
    broker.store("T", 30)
    broker.metrics.delivered(7, 700)
    await pass_time(10)
    everything = broker.statistics.broker
    assert everything.sums(STORED, Period.MINUTE) == Sums(30, 3.0, 0.0)
    assert everything.sums(DELIVERED, Period.MINUTE) == Sums(7, 0.7, 0.0)


async def test_removed_topics_and_groups_lose_their_statistics(broker: Broker) -> None:
    statistics = broker.statistics
    for topic in ("T", "U"):
        broker.store(topic, 1)
        statistics.delivered.add(("G", topic), 1)
        statistics.sent_back.add(("G", topic), 1)
    statistics.delivered.add(("H", "T"), 1)
    await pass_time(10)
    assert (len(statistics.topics), len(statistics.delivered)) == (2, 3)
    broker.topics = {"T"}
    statistics.forget_removed()
    await pass_time(10)
    assert ("T" in statistics.topics, "U" in statistics.topics) == (True, False)
    assert (len(statistics.delivered), len(statistics.sent_back)) == (1, 1)
    broker.groups = set()
    statistics.forget_removed()
    await pass_time(10)
    assert (len(statistics.delivered), len(statistics.sent_back), len(statistics.topics)) == (0, 0, 1)


async def test_a_long_standstill_counts_as_one_interval(broker: Broker) -> None:
    broker.store("T", 10)
    await pass_time(10)
    await pass_time(990)
    broker.store("T", 10)
    await pass_time(10)
    assert broker.minute("T") == Sums(20, 20 / 1010, 1.0)


@pytest.mark.slow
async def test_snapshots_of_many_topics_are_taken_in_short_steps() -> None:
    broker = Broker()
    broker.topics = {f"T{number}" for number in range(100_000)}
    longest = []
    for seconds in (0, 10, 600, 3600):
        for topic in broker.topics:
            broker.store(topic, 1)
            broker.statistics.delivered.add(("G", topic), 1)
        broker.statistics.forget_removed()
        longest.append(longest_step(broker.statistics.sample(seconds - 10, seconds)))
    assert sorted(longest)[1] < 0.05, longest
    assert len(broker.statistics.topics) == 100_000


def longest_step(work: Operation[None]) -> float:
    """Seconds of processor time that the longest step takes."""
    took = [0.0]
    began = time.thread_time()
    for _ in work:
        took.append(time.thread_time() - began)
        began = time.thread_time()
    return max(took)
