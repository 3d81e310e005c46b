from collections.abc import Callable
from pathlib import Path

import pytest

from bench import timer_runner
from bench.ports import Ports
from bench.processes import Memory
from bench.sides import Setup
from bench.statistics import Failure
from bench.timer_runner import TimerPlan, TimerResults, TimerRunner
from bench.timers import TIMERS, WARM, TimerLoad, TimerSample
from bench.tools import JavaProgram, Tools
from tests.bench.test_timers import sample

SLOT = TIMERS[0]
Outcome = TimerSample | Failure


class FakeSide:
    def __init__(self, name: str, root: Path, events: list[str]) -> None:
        self.name, self._root, self._events = name, root, events
        root.mkdir(parents=True)
        events.append(f"start {name}")

    def memory(self) -> Memory:
        return Memory(rss=2000, private=1000)

    def stop(self) -> None:
        self._events.append(f"stop {self.name}")


class FakeLoad:
    def __init__(self, run: Callable[[TimerLoad], Outcome], events: list[str]) -> None:
        self._run, self._events = run, events

    def create_topic(self, _side: FakeSide, _topic: str) -> None:
        pass

    def run_timer(self, side: FakeSide, _topic: str, load: TimerLoad) -> Outcome:
        self._events.append(f"{load.name} {side.name}")
        return self._run(load)


def ran(
    monkeypatch: pytest.MonkeyPatch, root: Path, run: Callable[[TimerLoad], Outcome], rounds: int = 1
) -> tuple[TimerResults, list[str], list[str]]:
    """Results, what happened, and what was reported."""
    events: list[str] = []
    said: list[str] = []

    def side(name: str) -> Callable[[Setup, Path], FakeSide]:
        return lambda _setup, folder: FakeSide(name, folder, events)

    monkeypatch.setattr(timer_runner, "TIMER_SIDES", {name: side(name) for name in ("apache", "rocketwire")})
    monkeypatch.setattr(timer_runner, "RawLoad", lambda _tools: FakeLoad(run, events))
    plan = TimerPlan(sides=["apache", "rocketwire"], loads=[SLOT], rounds=rounds)
    client = JavaProgram(java="", classes=root, jars=root, main="")
    tools = Tools(load=root, client=client)
    setup = Setup(flush="async", load=root, ports=Ports())
    runner = TimerRunner(plan=plan, tools=tools, setup=setup, root=root / "stores", report=said.append)
    return runner.run(), events, said


def test_each_run_has_a_separate_warm_server_and_sides_take_turns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    results, events, said = ran(monkeypatch, tmp_path, lambda _load: sample(), rounds=2)
    one = [f"{what} {{0}}" for what in ("start", WARM.name, SLOT.name, "stop")]
    assert events == [step.format(side) for side in ("apache", "rocketwire", "apache", "rocketwire") for step in one]
    outcomes = results.outcomes[SLOT.name]
    assert [len(outcomes[side]) for side in ("apache", "rocketwire")] == [2, 2]
    first = outcomes["apache"][0]
    assert isinstance(first, TimerSample)
    assert (first.rss, first.private) == (2000, 1000)
    assert len(said) == 4
    assert list((tmp_path / "stores").iterdir()) == []


@pytest.mark.parametrize("warm", [Failure(reason="why"), sample(delivered=899_999)])
def test_a_server_that_does_not_get_warm_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, warm: Outcome
) -> None:
    results, events, _ = ran(monkeypatch, tmp_path, lambda load: warm if load is WARM else sample())
    outcome = results.outcomes[SLOT.name]["apache"][0]
    assert isinstance(outcome, Failure)
    assert outcome.reason.startswith("warming up: ")
    assert events[:3] == ["start apache", f"{WARM.name} apache", "stop apache"]


def test_a_failed_run_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = Failure(reason="why")
    results, _, said = ran(monkeypatch, tmp_path, lambda load: sample() if load is WARM else failed)
    assert results.outcomes[SLOT.name]["rocketwire"] == [failed]
    assert said[-1].endswith("rocketwire: failed: why")
