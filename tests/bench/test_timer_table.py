from bench.statistics import Failure
from bench.timer_runner import TimerPlan, TimerResults
from bench.timer_table import timer_bar_table, timer_table
from bench.timers import TIMERS, TimerSample
from tests.bench.test_bars import rows
from tests.bench.test_timers import LOADS, sample


def results(**outcomes: dict[str, list[TimerSample | Failure]]) -> TimerResults:
    plan = TimerPlan(sides=["apache", "rocketwire"], loads=TIMERS, rounds=1)
    return TimerResults(plan=plan, outcomes={name.replace("_", "-"): one for name, one in outcomes.items()})


def test_each_run_is_a_row_with_its_figures() -> None:
    late = sample(delivered=450_000, p99_ms=65_000.0, max_ms=70_000.0, drain_seconds=60.0, early=3, duplicates=2)
    found = rows(timer_table(results(timer_steady={"apache": [late], "rocketwire": [sample(drain_seconds=0.25)]})))
    assert [row[1] for row in found] == ["Apache 5.5.0", "rocketwire"]
    assert found[0][2:] == [
        "30,000", "50.0%", "5 / 65,000 / 70,000", "3 / 450,000 / 2", "not in 60", "30,000", "40.0", "0 / 0",
    ]  # fmt: skip
    assert found[1][3:7] == ["all", "5 / 20 / 0", "0 / 0 / 0", "0.25"]


def test_messages_due_at_once_have_no_rate() -> None:
    assert rows(timer_table(results(timer_slot={"apache": [sample()]})))[0][7] == "-"


def test_a_run_that_failed_is_reported_below() -> None:
    text = timer_table(results(timer_slot={"apache": [Failure(reason="why")]}))
    assert text.endswith(f"* {LOADS['timer-slot'].text}, Apache 5.5.0, a run failed: why")


def test_the_bar_stands_beside_the_result() -> None:
    found = rows(
        timer_bar_table(
            results(
                timer_slot={"apache": [sample()], "rocketwire": [sample(drain_seconds=4.5)]},
                timer_steady={"rocketwire": [sample(half_rate=20_000.0)]},
                timer_minute={"rocketwire": [sample(p99_ms=512.0)]},
            )
        )
    )
    assert [row[1:] for row in found] == [
        ["-", "4.50 <= 4.00", "-", "yes", "no: drain"],
        ["-", "-", "not held", "yes", "no: rate"],
        ["512 <= 1,000", "-", "-", "yes", "yes"],
    ]


def test_a_failed_run_reaches_nothing() -> None:
    found = rows(timer_bar_table(results(timer_minute={"rocketwire": [Failure(reason="why")]})))
    assert found[0][1:] == ["- <= 1,000", "-", "-", "no", "no: all"]


def test_apache_alone_has_no_bars() -> None:
    assert timer_bar_table(results(timer_slot={"apache": [sample()]})) == ""
