from __future__ import annotations

from rocketwire.server.statistics.counters import Counters, Period
from rocketwire.server.statistics.windows import NOTHING, StatisticsColumn, Sums


def finished(work: object) -> None:
    for _ in work:  # type: ignore[attr-defined]
        pass


def test_messages_and_bytes_are_counted_by_key() -> None:
    counters: Counters[str] = Counters()
    assert "T" not in counters
    counters.add("T", 3, 300)
    counters.add("T", 1, 50, 2)
    assert "T" in counters
    assert [counters.total("T", column) for column in StatisticsColumn] == [4, 350, 3]
    assert (len(counters), counters.total("U")) == (1, 0)
    assert counters.sums("T", Period.MINUTE) == counters.sums("U", Period.MINUTE) == NOTHING


def test_each_period_has_its_snapshots() -> None:
    counters: Counters[str] = Counters()
    counters.add("T", 600)
    counters.snapshot(Period.MINUTE, 0.0)
    counters.snapshot(Period.HOUR, 0.0)
    counters.add("T", 60)
    counters.snapshot(Period.MINUTE, 10.0)
    assert counters.sums("T", Period.MINUTE) == Sums(660, 33.0, 330.0)
    assert counters.sums("T", Period.HOUR) == Sums(600, 1.0, 600.0)
    assert counters.sums("T", Period.DAY) == NOTHING


def test_a_removed_key_begins_again() -> None:
    counters: Counters[str] = Counters()
    counters.add("T", 600)
    counters.snapshot(Period.MINUTE, 0.0)
    counters.remove("T")
    assert "T" not in counters
    counters.add("U", 1)
    counters.add("T", 2)
    counters.snapshot(Period.MINUTE, 10.0)
    assert counters.sums("U", Period.MINUTE) == Sums(1, 0.1, 1.0)
    assert counters.sums("T", Period.MINUTE) == Sums(2, 0.2, 2.0)
    assert len(counters._numbers) == 6


def test_the_number_of_keys_is_bounded() -> None:
    counters: Counters[str] = Counters(most=2)
    for key in "abc":
        counters.add(key, 1)
    assert [key in counters for key in "abc"] == [True, True, False]
    counters.remove("a")
    counters.add("c", 1)
    assert counters.total("c") == 1


def test_removed_keys_lose_their_counters() -> None:
    counters: Counters[int] = Counters()
    for key in range(200):
        counters.add(key, 1)
    finished(counters.remove_where(lambda key: key % 2 == 0))
    assert len(counters) == 100
    assert (0 in counters, 1 in counters) == (False, True)


def test_a_counter_that_did_not_change_for_a_day_is_removed() -> None:
    counters: Counters[str] = Counters()
    counters.add("idle", 1)
    counters.add("busy", 1)
    for hour in range(24):
        counters.add("busy", 1)
        counters.snapshot(Period.DAY, 3600.0 * hour)
        finished(counters.remove_idle())
    assert ("idle" in counters, "busy" in counters) == (True, True)
    counters.snapshot(Period.DAY, 3600.0 * 24)
    finished(counters.remove_idle())
    assert ("idle" in counters, "busy" in counters) == (False, True)
