import pytest
from junitparser import JUnitXml

from tools import durations as tool
from tools.durations import RECORD, durations

RESULTS = b"""<testsuites><testsuite>
<testcase classname="tests.tools.test_durations" name="test_x[a]" time="0.9"/>
<testcase classname="tests.tools.test_durations" name="test_x[b::c]" time="0.05"/>
<testcase classname="tests.tools.test_durations" name="test_y[a]" time="0.3"/>
<testcase classname="tests.tools.test_durations" name="test_y[b]" time="0.1"/>
<testcase classname="tests.tools.test_durations.TestModel" name="runTest" time="5"/>
<testcase classname="tests.tools.test_that_was_removed" name="test_z" time="9"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("least", "found"),
    [
        (0.2, {"TestModel::runTest": 5.0, "test_x": 0.48, "test_y": 0.2}),
        (0.3, {"TestModel::runTest": 5.0, "test_x": 0.48}),
    ],
)
def test_the_mean_of_a_functions_cases_is_recorded(least: float, found: dict[str, float]) -> None:
    assert durations([JUnitXml.fromstring(RESULTS)], least) == {"tests/tools/test_durations.py": found}


def test_the_record_is_read_by_the_tests_themselves(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.rootpath / "tests" / "durations.json" == RECORD
    assert tool.RECORDED_SECONDS > 0
