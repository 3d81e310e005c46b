from junitparser import JUnitXml

from tools.long_tests import LIST, ROOT, UNTRACED, function_of, long_tests

RESULTS = b"""<testsuites><testsuite>
<testcase classname="tests.tools.test_long_tests" name="test_x[a]" time="0.9"/>
<testcase classname="tests.tools.test_long_tests" name="test_x[b]" time="0.05"/>
<testcase classname="tests.tools.test_long_tests" name="test_y[a]" time="0.3"/>
<testcase classname="tests.tools.test_long_tests" name="test_y[b]" time="0.1"/>
<testcase classname="tests.tools.test_long_tests.TestModel" name="runTest" time="5"/>
<testcase classname="tests.tools.test_that_was_removed" name="test_z" time="9"/>
</testsuite></testsuites>"""


def test_the_mean_of_a_functions_cases_counts() -> None:
    results = JUnitXml.fromstring(RESULTS)
    here = "tests/tools/test_long_tests.py"
    model = f"{here}::TestModel::runTest untraced"
    assert long_tests(results, 0.2) == [model, f"{here}::test_x", f"{here}::test_y"]
    assert long_tests(results, 0.3) == [model, f"{here}::test_x"]


def test_what_must_be_covered_whole_is_traced_however_long_it_takes() -> None:
    text = RESULTS.replace(b"tests.tools.test_long_tests", b"tests.wire.test_golden_frames")
    assert not any("untraced" in line for line in long_tests(JUnitXml.fromstring(text)))


def test_parameters_are_no_part_of_a_function() -> None:
    assert function_of("tests/a.py::TestB::test_c[x::y]") == "tests/a.py::TestB::test_c"


def test_each_listed_file_exists() -> None:
    listed = LIST.read_text().splitlines()
    assert listed == sorted(set(listed))
    assert [node for node in listed if not (ROOT / node.partition("::")[0]).is_file()] == []
    assert {line.partition(" ")[2] for line in listed} == {"", UNTRACED}
