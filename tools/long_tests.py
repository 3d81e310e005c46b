"""Writes the list of the unit tests that `tox run -e fast` leaves out because they take long.

`python -m tools.long_tests RESULTS.xml` reads the times of a run of the unit tests (pytest's `--junit-xml`) and writes
`tests/long_tests.txt`: the functions of which a case takes LONG_SECONDS or more on average. Those that take
LONGEST_SECONDS are marked `untraced`: coverage is measured without them, since tracing doubles what they cost, and the
others cover what is wanted. Not so tests of what must be covered to the last branch (COVERED_WHOLE). A list, and not a
marker in each test: which tests are long is measured, and changes with the code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from junitparser import JUnitXml, TestCase, TestSuite

ROOT: Final = Path(__file__).resolve().parent.parent
LIST: Final = ROOT / "tests" / "long_tests.txt"
LONG_SECONDS: Final = 0.03
"""By the wall clock, in a run with as many workers as processors."""
LONGEST_SECONDS: Final = 0.5
COVERED_WHOLE: Final = ("tests/wire/", "tests/store/layout/")
UNTRACED: Final = "untraced"


def function_of(nodeid: str) -> str:
    """The node id of a test's function: that of the test without its parameters."""
    path, _, rest = nodeid.partition("::")
    return f"{path}::{rest.partition('[')[0]}"


def _node(case: TestCase) -> str | None:
    """The node id of a result's function; None: the file is gone."""
    folders = str(case.classname).split(".")
    for length in range(len(folders), 0, -1):
        path = Path(*folders[:length]).with_suffix(".py")
        if (ROOT / path).is_file():
            return function_of("::".join([path.as_posix(), *folders[length:], str(case.name)]))
    return None


def _cases(results: JUnitXml) -> Iterator[TestCase]:
    for suite in results:
        if isinstance(suite, TestSuite):
            yield from suite


def long_tests(results: JUnitXml, seconds: float = LONG_SECONDS) -> list[str]:
    """The functions whose cases take so many seconds or more on average, sorted, as lines of the list."""
    times: dict[str, list[float]] = {}
    for case in _cases(results):
        node = _node(case)
        if node is not None:
            times.setdefault(node, []).append(float(case.time or 0))
    means = {node: sum(each) / len(each) for node, each in times.items()}
    return sorted(
        f"{node} {UNTRACED}" if mean >= LONGEST_SECONDS and not node.startswith(COVERED_WHOLE) else node
        for node, mean in means.items()
        if mean >= seconds
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the list."""
    parser = argparse.ArgumentParser(prog="python -m tools.long_tests", description=__doc__)
    parser.add_argument("results", help="a junit-xml file of a run of the unit tests")
    options = parser.parse_args(arguments)
    found = long_tests(JUnitXml.fromfile(options.results))
    LIST.write_text("".join(f"{node}\n" for node in found))
    print(f"{len(found)} functions are long")
    return 0


if __name__ == "__main__":
    sys.exit(main())
