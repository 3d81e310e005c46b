import pytest

from bench.timers import TIMERS, TimerSample, missed, read_timer_result, shortened

LOADS = {load.name: load for load in TIMERS}


def sample(**other: float) -> TimerSample:
    """A run that meets all bars of timer-steady."""
    result = {
        "messages": 900_000,
        "delivered": 900_000,
        "p50_ms": 5.0,
        "p99_ms": 20.0,
        "half_rate": 30_000.0,
        "send_seconds": 30.0,
        "server_cpu_seconds": 18.0,
    }
    return read_timer_result({**result, **other})


def test_the_loads_are_those_of_the_issue() -> None:
    assert (LOADS["timer-minute"].count, LOADS["timer-minute"].span) == (1_000_000, 60.0)
    assert LOADS["timer-minute"].bar.p99_ms == 1000
    assert (LOADS["timer-steady"].rate, LOADS["timer-steady"].paced) == (30_000, True)
    assert LOADS["timer-steady"].bar.held
    assert (LOADS["timer-slot"].count, LOADS["timer-slot"].rate) == (100_000, None)
    assert LOADS["timer-slot"].bar.drain_seconds == 4


@pytest.mark.parametrize("name", ["timer-steady", "timer-minute"])
def test_a_quick_run_is_shorter_but_keeps_the_rate(name: str) -> None:
    load, quick = LOADS[name], shortened(LOADS[name])
    assert quick.rate == pytest.approx(load.rate, rel=1e-4)
    assert quick.span == load.span / 6
    assert quick.ahead <= 10


def test_one_moment_is_short_as_it_is() -> None:
    assert shortened(LOADS["timer-slot"]) == LOADS["timer-slot"]


def test_figures_of_a_run() -> None:
    found = sample(delivered=450_000)
    assert (found.missing, found.send_rate, found.cpu_us) == (450_000, 30_000, 40.0)
    nothing = read_timer_result({})
    assert (nothing.send_rate, nothing.cpu_us) == (0, 0)


def test_a_run_that_comes_up_to_all_misses_nothing() -> None:
    assert missed(LOADS["timer-steady"], sample()) == []
    assert missed(LOADS["timer-minute"], sample(p99_ms=1000.0)) == []
    assert missed(LOADS["timer-slot"], sample(drain_seconds=4.0)) == []


@pytest.mark.parametrize(
    ("name", "figures", "column"),
    [
        ("timer-minute", {"p99_ms": 1000.1}, "p99"),
        ("timer-slot", {"drain_seconds": 4.01}, "drain"),
        ("timer-steady", {"half_rate": 29_699.0}, "rate"),
        ("timer-steady", {"growth_ms": 101.0}, "rate"),
        ("timer-steady", {"send_lag_ms": 1001.0}, "rate"),
        ("timer-steady", {"delivered": 899_999}, "once, not early"),
        ("timer-steady", {"duplicates": 1}, "once, not early"),
        ("timer-steady", {"early": 1}, "once, not early"),
    ],
)
def test_what_is_missed_is_named(name: str, figures: dict[str, float], column: str) -> None:
    assert missed(LOADS[name], sample(**figures)) == [column]
