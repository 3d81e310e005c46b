from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from rocketwire.compat.report.junit import junit
from rocketwire.compat.results import Outcome, Results
from tests.compat.report.examples import HOSTILE, hostile, large, small


def parsed(results: Results, folder: Path) -> JUnitXml:
    file = folder / "junit.xml"
    file.write_text(junit(results), encoding="utf-8")
    return JUnitXml.fromfile(str(file))


def test_there_is_a_suite_per_client_and_a_case_per_scenario(tmp_path: Path) -> None:
    results = large(clients=3)
    suites = list(parsed(results, tmp_path))
    assert [suite.name for suite in suites] == ["java-4.4.0", "java-4.9.7", "java-5.5.0"]
    for suite in suites:
        cases = list(suite)
        assert [case.name for case in cases] == [each.id for each in results.scenarios]
        reported = (suite.tests, suite.failures, suite.errors, suite.skipped)
        suite.update_statistics()
        assert reported == (suite.tests, suite.failures, suite.errors, suite.skipped)
        assert cases[0].classname == f"{suite.name}.f0"
        assert {each.name for each in suite.properties()} == {"endpoint", "namesrv", "client", "rocketwire"}


@pytest.mark.parametrize(
    ("outcome", "kind"), [(Outcome.DIFFERS, Failure), (Outcome.FAILS, Error), (Outcome.NOT_OFFERED, Skipped)]
)
def test_each_outcome_has_its_element(tmp_path: Path, outcome: Outcome, kind: Any) -> None:
    ((case,),) = ([*suite] for suite in parsed(small(outcome, reason="the reason"), tmp_path))
    (found,) = case.result
    assert type(found) is kind
    assert found.message == "the reason"
    if outcome is not Outcome.NOT_OFFERED:
        assert found.text == "the reason"
        assert case.system_out == "the reason"


def test_a_pass_has_nothing_but_its_time(tmp_path: Path) -> None:
    ((case,),) = ([*suite] for suite in parsed(small(Outcome.PASS), tmp_path))
    assert (case.is_passed, case.time) == (True, 1.0)
    assert case.result == []


def test_a_flaky_one_passes_with_what_happened_first(tmp_path: Path) -> None:
    results = small(Outcome.FLAKY, reason="too slow")
    ((case,),) = ([*suite] for suite in parsed(results, tmp_path))
    assert case.is_passed
    root = fromstring(junit(results))
    assert root.get("flakes") == root[0].get("flakes") == "1"
    (flaky,) = root.iter("flakyFailure")
    assert flaky.get("message") == "too slow"
    assert [(each.tag, each.text) for each in flaky] == [("stackTrace", "too slow"), ("system-out", "too slow")]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    ((case,),) = ([*suite] for suite in parsed(hostile(), tmp_path))
    assert case.name.startswith("<script>alert(1)</script>")
    assert HOSTILE not in junit(hostile())


def test_a_long_log_is_cut(tmp_path: Path) -> None:
    ((case,),) = ([*suite] for suite in parsed(small(Outcome.FAILS, reason="x" * 1_000_000), tmp_path))
    assert "980,000 characters are cut here" in case.system_out
    assert len(case.system_out) < 21_000
