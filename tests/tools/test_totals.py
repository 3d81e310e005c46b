import json
from pathlib import Path

from tools.totals import Totals, of_junit, of_run, read_run

JUNIT = """<testsuites><testsuite>
<testcase name="good"/><testcase name="bad"><failure/></testcase>
<testcase name="broken"><error/></testcase><testcase name="left out"><skipped/></testcase>
</testsuite></testsuites>"""


def test_cases_of_a_junit_file_are_counted() -> None:
    assert of_junit(JUNIT) == Totals(passed=1, failed=2)


def test_the_last_try_of_a_test_counts_and_it_is_named() -> None:
    junit = """<testsuites><testsuite>
    <testcase classname="m" name="flaky"/><testcase classname="m" name="bad"/><testcase classname="m" name="good"/>
    <testcase classname="m" name="flaky"/><testcase classname="m" name="bad"><failure/></testcase>
    </testsuite></testsuites>"""
    assert of_junit(junit) == Totals(passed=2, failed=1, tried_again=("m::flaky", "m::bad"))
    assert of_run({"unit": False}, {"unit": of_junit(junit)}).tried_again == ("unit: m::flaky", "unit: m::bad")


def test_a_check_without_tests_counts_as_one() -> None:
    assert of_run({"lint": True, "types": False}, {}) == Totals(passed=1, failed=1)


def test_an_environment_that_fails_after_green_tests_counts_as_a_failure() -> None:
    unit = {"unit": Totals(passed=10, failed=0)}
    assert of_run({"unit": False}, unit) == Totals(passed=10, failed=1)


def test_a_failed_test_is_counted_once() -> None:
    assert of_run({"unit": False}, {"unit": Totals(passed=9, failed=1)}) == Totals(passed=9, failed=1)


def test_a_run_that_never_ended_is_a_failure(tmp_path: Path) -> None:
    assert read_run(tmp_path) == Totals(passed=0, failed=1)


def test_a_whole_run_is_read(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "unit.xml").write_text(JUNIT)
    envs = {name: {"result": {"success": name != "unit"}} for name in ("lint", "unit")}
    report = {"testenvs": {**envs, ".pkg": {}, "fast": {}}}
    (tmp_path / "result.json").write_text(json.dumps(report))
    totals = read_run(tmp_path)
    assert totals.line() == "2 passed, 2 failed"


def test_an_environment_may_run_pytest_twice(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    for name in ("rest.long", "rest.slow"):
        (tmp_path / "results" / f"{name}.xml").write_text(JUNIT)
    (tmp_path / "result.json").write_text(json.dumps({"testenvs": {"rest": {"result": {"success": False}}}}))
    once = of_junit(JUNIT)
    assert read_run(tmp_path) == Totals(passed=2 * once.passed, failed=2 * once.failed)


def test_what_a_failed_check_kept_from_running_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "compat.xml").write_text(JUNIT)  # of an earlier run
    lint = {"result": {"success": False, "skipped": False}}
    types = {"result": {"success": False, "skipped": True}}
    (tmp_path / "result.json").write_text(json.dumps({"testenvs": {"lint": lint, "types": types, "compat": {}}}))
    assert read_run(tmp_path) == Totals(passed=0, failed=1)
