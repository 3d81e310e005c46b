from __future__ import annotations

import trio

from rocketwire.server.pull.consume_rates import ConsumeRates
from tests.server.harness import mock_clock, settle


async def go_on(*counts: int, rates: ConsumeRates) -> None:
    """Samples 10 s apart, with so many messages before each."""
    for count in counts:
        if count:
            rates.delivered("G", "T", count)
        mock_clock().jump(10)
        rates.sample()


async def test_a_rate_needs_two_samples() -> None:
    rates = ConsumeRates()
    assert rates.per_second("G", "T") == 0
    await go_on(50, rates=rates)
    assert rates.per_second("G", "T") == 0
    await go_on(30, rates=rates)
    assert rates.per_second("G", "T") == 3
    assert (rates.per_second("G", "U"), rates.per_second("H", "T")) == (0, 0)


async def test_a_rate_is_the_mean_of_a_minute() -> None:
    rates = ConsumeRates()
    await go_on(600, 100, 0, 0, 0, 0, 20, rates=rates)
    assert rates.per_second("G", "T") == 2
    await go_on(0, rates=rates)
    assert rates.per_second("G", "T") == 20 / 60


async def test_who_gets_nothing_for_a_minute_is_forgotten() -> None:
    rates = ConsumeRates()
    await go_on(600, 0, 0, 0, 0, 0, rates=rates)
    assert rates._counts
    await go_on(0, rates=rates)
    assert (rates._counts, rates._samples) == ({}, {})
    await go_on(5, 10, rates=rates)
    assert rates.per_second("G", "T") == 1


async def test_samples_are_taken_every_10_s(nursery: trio.Nursery) -> None:
    rates = ConsumeRates()
    nursery.start_soon(rates.run)
    for _ in range(2):
        await settle()
        rates.delivered("G", "T", 10)
        mock_clock().jump(10)
    await settle()
    assert rates.per_second("G", "T") == 1
