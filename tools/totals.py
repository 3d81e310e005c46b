"""One closing line for a whole tox run: how many tests and checks passed and how many failed.

Reads what `make test` leaves behind: pytest's JUnit files and tox's result file. A tox environment that is no
test run (lint, docs) counts as one; so does one whose tests all passed and which failed nevertheless (coverage, for
example). A test that was tried twice counts once, as it ended, and is named. Needs only the standard library: it also
runs where the set-up was what failed.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counted tests and checks."""

    passed: int
    failed: int
    tried_again: tuple[str, ...] = ()
    """Names of the tests that failed and were tried a second time, with any result."""

    def plus(self, other: "Totals") -> "Totals":
        """The totals of both."""
        return Totals(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            tried_again=self.tried_again + other.tried_again,
        )

    def line(self) -> str:
        """The closing line, in a form that tools which read test logs recognise."""
        return f"{self.passed} passed, {self.failed} failed"


def of_junit(text: str) -> Totals:
    """Count the tests of one JUnit file by their last try; errors count as failed, skipped tests not at all."""
    tries: dict[str, list[set[str]]] = {}
    for case in ET.fromstring(text).iter("testcase"):  # noqa: S314 (pytest wrote it a moment ago)
        name = f"{case.get('classname')}::{case.get('name')}"
        tries.setdefault(name, []).append({child.tag for child in case})
    passed = failed = 0
    for outcomes in tries.values():
        if outcomes[-1] & {"failure", "error"}:
            failed += 1
        elif "skipped" not in outcomes[-1]:
            passed += 1
    again = tuple(name for name, outcomes in tries.items() if len(outcomes) > 1)
    return Totals(passed=passed, failed=failed, tried_again=again)


def of_run(environments: dict[str, bool], tests: dict[str, Totals]) -> Totals:
    """Add up a run.

    Args:
        environments: each tox environment's name and whether it succeeded; empty when tox never ended.
        tests: the counted test cases of the environments that ran some, by the same names.
    """
    passed = sum(total.passed for total in tests.values())
    failed = sum(total.failed for total in tests.values())
    for name, succeeded in environments.items():
        ran = tests.get(name)
        if ran is None:
            passed += succeeded
            failed += not succeeded
        elif not succeeded and not ran.failed:
            failed += 1
    if not environments:
        failed += 1
    again = tuple(f"{name}: {test}" for name, total in tests.items() for test in total.tried_again)
    return Totals(passed=passed, failed=failed, tried_again=again)


def read_run(work_dir: Path) -> Totals:
    """Add up what a tox run left in its working directory (`.tox`).

    An environment that was not requested, or that a failed check kept from running, counts as nothing; an earlier run's
    files of it are not read.
    """
    tests: dict[str, Totals] = {}
    for path in sorted(work_dir.glob("results/*.xml")):
        name = path.stem.partition(".")[0]  # one environment may run pytest more than once
        found = of_junit(path.read_text(encoding="utf-8"))
        tests[name] = tests[name].plus(found) if name in tests else found
    result = work_dir / "result.json"
    if not result.exists():
        return of_run({}, tests)
    report = json.loads(result.read_text(encoding="utf-8"))
    environments = {
        name: bool(env["result"]["success"])
        for name, env in report["testenvs"].items()
        if "result" in env and not env["result"].get("skipped")
    }
    return of_run(environments, {name: total for name, total in tests.items() if name in environments})


def main() -> int:
    """Print what was tried a second time and the closing line; 0 only when nothing failed."""
    totals = read_run(Path(".tox"))
    for test in totals.tried_again:
        print(f"failed at first: {test}")
    print(totals.line())
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
