from __future__ import annotations

import pytest
import trio

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.messages.page_cache import AppendTimes
from rocketwire.server.statistics.rates import MessageTotals, Rates
from tests.server.harness import Clock, mock_clock, settle

DAY = 86_400_000


class Setup:
    def __init__(self) -> None:
        self.metrics, self.clock, self.times = Metrics(), Clock(), AppendTimes()
        self.rates = Rates(self.metrics, self.clock, self.times)

    def seconds(self, number: int, *, stored: int = 0) -> None:
        for _ in range(number):
            self.metrics.stored(stored, 0)
            mock_clock().jump(1)
            self.rates.sample()


@pytest.fixture
async def setup() -> Setup:
    made = Setup()
    made.rates.sample()
    return made


async def test_a_rate_is_known_when_its_time_has_passed(setup: Setup) -> None:
    rates = setup.rates
    assert rates.text("stored") == "  "
    assert rates.text("found", "missed", without="0.0") == "0.0 0.0 0.0"
    setup.seconds(9, stored=2)
    assert rates.text("stored") == "  "
    setup.seconds(1, stored=2)
    assert rates.text("stored") == "2.0  "
    setup.seconds(50)
    assert rates.text("stored") == f"0.0 {20 / 60} "
    setup.seconds(540)
    assert rates.text("stored") == f"0.0 0.0 {20 / 600}"
    assert len(rates._samples) == 601


async def test_pulls_with_and_without_messages_have_rates(setup: Setup) -> None:
    metrics, rates = setup.metrics, setup.rates
    metrics.requests[11] += 5
    metrics.requests[361] += 2
    metrics.delivered(30, 3000, 3)
    setup.seconds(1)
    assert rates.totals() == MessageTotals(stored=0, found=3, missed=4, delivered=30)
    metrics.delivered(1, 100)  # one of the held pulls
    assert rates.totals() == MessageTotals(stored=0, found=4, missed=4, delivered=31)
    setup.seconds(9)
    assert rates.text("found", "missed") == "0.8  "
    assert rates.text("delivered") == "3.1  "


async def test_the_totals_at_midnight_are_kept(setup: Setup) -> None:
    rates = setup.rates
    setup.seconds(1, stored=5)
    assert (rates.today, rates.yesterday) == (MessageTotals(), MessageTotals())
    setup.clock.now += DAY
    setup.seconds(1, stored=2)
    assert (rates.today.stored, rates.yesterday.stored) == (7, 0)
    setup.clock.now += DAY
    setup.seconds(1, stored=3)
    assert (rates.today.stored, rates.yesterday.stored) == (10, 7)
    setup.clock.now -= DAY
    setup.seconds(1)
    assert (rates.today.stored, rates.yesterday.stored) == (10, 7)


async def test_samples_are_taken_every_second(nursery: trio.Nursery) -> None:
    setup = Setup()
    nursery.start_soon(setup.rates.run)
    await settle()
    for _ in range(10):
        setup.metrics.stored(4, 0)
        mock_clock().jump(1)
        await settle()
    assert setup.rates.text("stored") == "4.0  "


async def test_a_minute_of_append_times_ends(setup: Setup) -> None:
    setup.times.note(3)
    setup.seconds(59, stored=1)
    assert sum(setup.times.counts()) == 0
    setup.seconds(1, stored=1)
    assert setup.times.counts()[:3] == [59, 1, 0]
