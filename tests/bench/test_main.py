from pathlib import Path

import pytest

from bench.__main__ import _grpc_plan, _parser, _parts, _plan, _timer_plan, main
from bench.grpc import WARM
from bench.timers import TIMERS


def test_a_wrong_workload_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "nothing"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_page_without_markers_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("hand-written", "utf-8")
    assert main(["--markdown", str(page)]) == 2
    assert capsys.readouterr().err.startswith("bench: page.md lacks")
    assert page.read_text("utf-8") == "hand-written"


@pytest.mark.parametrize("wrong", [["--rounds", "0"], ["--seconds", "0"], ["--long", "--long-messages", "0"]])
def test_runs_of_nothing_are_refused(wrong: list[str]) -> None:
    assert main(wrong) == 2


def test_the_plan_of_the_options() -> None:
    plan = _plan(_parser().parse_args(["--quick", "--rounds", "5", "--side", "apache", "--only", "sync,start"]))
    assert (plan.rounds, plan.timing.seconds, list(plan.sides), plan.start_up) == (5, 1.5, ["apache"], True)
    assert [workload.name for workload in plan.workloads] == ["sync"]
    assert plan.long_messages == 0


def test_both_sides_and_the_long_run() -> None:
    plan = _plan(_parser().parse_args(["--long"]))
    assert (list(plan.sides), plan.rounds, plan.long_messages) == (["apache", "rocketwire"], 3, 10_000_000)


def test_one_flush_mode_is_one_run() -> None:
    plan = _plan(_parser().parse_args(["--only", "idle"]))
    assert (plan.start_up, plan.idle_connections) == (False, 10_000)
    assert _parts(plan, "sync") == {"sync": plan}


def test_both_flush_modes_are_a_long_and_a_short_run() -> None:
    plan = _plan(_parser().parse_args(["--long"]))
    parts = _parts(plan, "both")
    assert list(parts) == ["async", "sync"]
    assert parts["async"] == plan
    assert len(parts["sync"].workloads) == 5
    assert (parts["sync"].start_up, parts["sync"].idle_connections, parts["sync"].long_messages) == (False, 0, 0)


def test_the_timer_alone_starts_no_other_workload() -> None:
    options = _parser().parse_args(["--only", "timer", "--side", "rocketwire"])
    assert _parts(_plan(options), "both") == {}
    plan = _timer_plan(options)
    assert ([load.name for load in plan.loads], list(plan.sides), plan.rounds) == (
        [load.name for load in TIMERS],
        ["rocketwire"],
        1,
    )


def test_a_quick_run_of_the_timer_is_short() -> None:
    plan = _timer_plan(_parser().parse_args(["--only", "timer-minute", "--quick", "--rounds", "2"]))
    assert (plan.loads[0].count, plan.loads[0].span, plan.rounds) == (166_666, 10.0, 2)


def test_there_is_no_second_run_of_nothing() -> None:
    assert list(_parts(_plan(_parser().parse_args(["--only", "pull"])), "both")) == ["async"]


def test_the_front_for_5x_alone_starts_no_other_workload() -> None:
    options = _parser().parse_args(["--only", "grpc-send", "--quick", "--rounds", "2"])
    plan = _plan(options)
    assert _parts(plan, "both") == {}
    assert _timer_plan(options).loads == []
    front = _grpc_plan(options, plan)
    assert [workload.name for workload in front.workloads] == ["grpc-send-1x64", "grpc-send-8x16"]
    assert (front.rounds, front.timing.seconds, front.warm) == (2, 1.5, WARM)
