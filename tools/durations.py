"""Records how long the unit tests take, for the choice of those that run first.

`python -m tools.durations RESULTS.xml …` reads the times of a run of the unit tests (pytest's `--junit-xml`; `make
test` leaves its files in `.tox/results`) and writes `tests/durations.json`: for each file of tests the functions whose
cases take RECORDED_SECONDS or more on average, with that time in seconds. tests/conftest.py decides by it which tests
are `long`. A function that is not recorded counts as short, so that nothing has to be edited when tests change.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from junitparser import JUnitXml, TestCase, TestSuite

ROOT: Final = Path(__file__).resolve().parent.parent
RECORD: Final = ROOT / "tests" / "durations.json"
RECORDED_SECONDS: Final = 0.02
"""By the wall clock, in a run with as many workers as processors."""


def _function(case: TestCase) -> tuple[str, str] | None:
    """The file and the function of a result, without its parameters; None: the file does not exist any more."""
    folders = str(case.classname).split(".")
    for length in range(len(folders), 0, -1):
        path = Path(*folders[:length]).with_suffix(".py")
        if (ROOT / path).is_file():
            return path.as_posix(), "::".join([*folders[length:], str(case.name).partition("[")[0]])
    return None


def _cases(results: JUnitXml) -> Iterator[TestCase]:
    for suite in results:
        if isinstance(suite, TestSuite):
            yield from suite


def durations(results: Iterable[JUnitXml], least: float = RECORDED_SECONDS) -> dict[str, dict[str, float]]:
    """By file and function, the mean time of its cases in seconds, where it is at least so long."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        for case in _cases(result):
            function = _function(case)
            if function is not None:
                times[function].append(float(case.time or 0))
    found: dict[str, dict[str, float]] = {}
    for (path, name), each in sorted(times.items()):
        mean = sum(each) / len(each)
        if mean >= least:
            found.setdefault(path, {})[name] = round(mean, 2)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the record."""
    parser = argparse.ArgumentParser(prog="python -m tools.durations", description=__doc__)
    parser.add_argument("results", nargs="+", help="junit-xml files of runs of the unit tests")
    options = parser.parse_args(arguments)
    found = durations(JUnitXml.fromfile(each) for each in options.results)
    lines = [f"{json.dumps(path)}: {json.dumps(functions)}" for path, functions in found.items()]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{sum(map(len, found.values()))} functions take {RECORDED_SECONDS} s or more")
    return 0


if __name__ == "__main__":
    sys.exit(main())
