"""A whole run: threads, second attempts, stopping."""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

from rocketwire.compat.case import Case
from rocketwire.compat.clients.adapter import Engine
from rocketwire.compat.engine.plan import planned
from rocketwire.compat.engine.results import results_of
from rocketwire.compat.engine.run import Run, Settings
from rocketwire.compat.results import Outcome, Result, Side, check
from rocketwire.compat.scenario import Scenario
from tests.compat.engine.fake import Script, facts, made


def run_of(*scenarios: Scenario, jobs: int = 2, client: Script | None = None) -> Run:
    adapter = client or Script()
    clients = {adapter.id: adapter}
    sides = {Side.ENDPOINT: facts()}
    settings = Settings(engine=Engine.HOST, clients=clients, helper=None, sides=sides, jobs=jobs)
    return Run(settings=settings, tasks=planned(scenarios, clients, sides, security=frozenset(), helper=None))


def results(*scenarios: Scenario, jobs: int = 2, client: Script | None = None) -> dict[str, Result]:
    reported: list[Result] = []
    run = run_of(*scenarios, jobs=jobs, client=client)
    found = run.run(reported.append)
    assert found == reported
    assert len(run.complaints) == 1  # there is no endpoint from which topics could be removed
    return {each.scenario: each for each in found}


def echo(case: Case) -> None:
    (event,) = case.client.only("echo", "Echo", value=case.unique("name"))
    assert event["value"].startswith(case.prefix)


def crash(case: Case) -> None:
    case.client.run("Crash")


def hang(case: Case) -> None:
    case.client.run("Hang")


def times(fails: int) -> Callable[[Case], None]:
    """A scenario that does not pass so often."""
    count = Counter[str]()

    def run(case: Case) -> None:
        echo(case)
        count["runs"] += 1
        assert count["runs"] > fails, "not yet"

    return run


def test_each_outcome_with_its_attempts() -> None:
    found = results(
        made(echo, "send.passes"),
        made(times(1), "send.flaky"),
        made(times(9), "send.differs"),
        made(crash, "send.fails"),
        made(echo, "send.lacks", programs=("Other",)),
    )
    assert {name: each.outcome for name, each in found.items()} == {
        "send.passes": Outcome.PASS,
        "send.flaky": Outcome.FLAKY,
        "send.differs": Outcome.DIFFERS,
        "send.fails": Outcome.FAILS,
        "send.lacks": Outcome.NOT_OFFERED,
    }
    assert [[each.passed for each in found[name].attempts] for name in ("send.flaky", "send.differs")] == [
        [False, True],
        [False, False],
    ]
    assert found["send.lacks"].attempts == ()
    assert found["send.flaky"].reason == "it passed when it ran again; at first: not yet"
    assert "Echo runs" in found["send.differs"].attempts[0].log
    assert found["send.fails"].attempts[1].error


def test_processes_are_used_again_and_those_with_variables_are_others() -> None:
    client = Script()
    results(*(made(echo, f"send.{number}") for number in range(6)), jobs=1, client=client)
    assert client.commands == [{}]
    other = Script()
    results(made(echo, "send.a"), made(echo, "send.b", environment={"A": "b"}), jobs=1, client=other)
    assert sorted(map(dict, other.commands), key=len) == [{}, {"A": "b"}]


def test_scenarios_that_wait_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=60)

    def wait_for_both(_: Case) -> None:
        both.wait()

    found = results(*(made(wait_for_both, f"send.{number}") for number in range(2)), jobs=2)
    assert {each.outcome for each in found.values()} == {Outcome.PASS}


def test_a_scenario_ends_at_its_limit() -> None:
    began = time.monotonic()
    found = results(made(hang, "send.hangs", limit=1.0))
    assert found["send.hangs"].outcome is Outcome.FAILS
    assert time.monotonic() - began < 60


def test_ctrl_c_ends_all_processes() -> None:
    pids: list[int] = []

    def hang_after_an_event(case: Case) -> None:
        echo(case)
        pids.append(case.client.clients.runner(case.client.id).pid)
        case.client.run("Hang")

    hanging = (made(hang_after_an_event, f"send.{number}", limit=500.0) for number in range(8))
    run = run_of(*hanging, made(echo, "send.quick", limit=600.0))

    def reported(_: Result) -> None:
        while len(pids) < 1:
            time.sleep(0.01)
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run.run(reported)
    assert time.monotonic() - began < 60
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("compat-")]


def test_results_are_in_the_order_of_the_catalogue() -> None:
    scenarios = [made(echo, "send.short", limit=5.0), made(echo, "send.long", limit=50.0)]
    run = run_of(*scenarios)
    whole = results_of(run.settings, scenarios, run.run(lambda _: None), started=1, seconds=2.0)
    assert [each.scenario for each in whole.results] == ["send.short", "send.long"]
    check(whole)
