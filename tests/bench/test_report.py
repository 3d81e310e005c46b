from pathlib import Path

import pytest

from bench.drivers import Timing
from bench.grpc_cost import Cost
from bench.report import (
    GRPC,
    MAIN,
    TIMER,
    MarkersMissingError,
    check_page,
    grpc_section,
    machine_facts,
    section,
    timer_section,
    write_page,
)
from bench.runner import Plan, Results
from bench.timer_runner import TimerPlan, TimerResults


def test_the_text_between_the_markers_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{MAIN.begin}\nold\n{MAIN.end}\n\nmore\n", "utf-8")
    write_page(page, [(MAIN, "first")])
    write_page(page, [(MAIN, "second")])
    assert page.read_text("utf-8") == f"# Title\n\n{MAIN.begin}\n\nsecond\n\n{MAIN.end}\n\nmore\n"


def test_one_part_leaves_the_other_as_it_was(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_page(page, [(MAIN, "loads"), (TIMER, "old")])
    write_page(page, [(TIMER, "new")])
    assert page.read_text("utf-8") == (f"{MAIN.begin}\n\nloads\n\n{MAIN.end}\n\n{TIMER.begin}\n\nnew\n\n{TIMER.end}\n")


def test_a_new_page_has_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    check_page(page, [MAIN])
    write_page(page, [(MAIN, "text")])
    assert page.read_text("utf-8") == f"{MAIN.begin}\n\ntext\n\n{MAIN.end}\n"


def test_a_page_without_markers_is_refused_before_the_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n", "utf-8")
    with pytest.raises(MarkersMissingError, match=r"page\.md lacks"):
        check_page(page, [MAIN])


def test_the_projects_page_has_its_markers() -> None:
    check_page(Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md", [MAIN, TIMER, GRPC])


def test_machine_facts_are_known(tmp_path: Path) -> None:
    facts = dict(machine_facts(tmp_path))
    assert "unknown" not in (facts["memory"], facts["Python"], facts["file system of the stores"])
    assert "(kernel: " in facts["rocketwire"]
    assert facts["system"].startswith("Linux ")


def test_the_section_names_each_flush_mode_and_its_turns(tmp_path: Path) -> None:
    plan = Plan(sides=[], workloads=[], start_up=False, rounds=5, warm_seconds=1,
                timing=Timing(warmup=0, seconds=2.5, filled=1000))  # fmt: skip
    results = Results(plan=plan, load_before=0.25)
    text = section({"async": results, "sync": results}, root=tmp_path)
    assert "Load average of the minute before: 0.2" in text
    assert "ASYNC_FLUSH on both sides, 5 turns" in text
    assert text.count("* memory: ") == 1
    assert "SYNC_FLUSH on both sides, 5 turns of 2.5 s each, interleaved; drains of 1,000 messages." in text


def test_the_timers_section_describes_the_measurement(tmp_path: Path) -> None:
    results = TimerResults(plan=TimerPlan(sides=[], loads=[], rounds=2), load_before=0.25)
    text = timer_section(results, "async", root=tmp_path)
    assert text.count("* memory: ") == 1
    assert (
        "ASYNC_FLUSH on both sides, 2 turn(s), a fresh server for each. Load average of the minute before: 0.2" in text
    )


def test_the_section_of_the_front_has_what_was_measured(tmp_path: Path) -> None:
    plan = Plan(sides=[], workloads=[], start_up=False, rounds=5, warm_seconds=1,
                timing=Timing(warmup=0, seconds=2.5, filled=1000))  # fmt: skip
    loads = grpc_section(Results(plan=plan), None, "async", root=tmp_path)
    assert "ASYNC_FLUSH on both sides, 5 turns" in loads
    assert "whole process" not in loads
    assert "ours, whole process" in grpc_section(None, Cost(), "async", root=tmp_path)
