"""One oracle under libFuzzer; __main__ starts `python -m tests.kernel.fuzz.worker ORACLE [libFuzzer's options]`."""

import sys

import atheris
from atheris import core_with_libfuzzer

from rocketwire import native
from tests.kernel.fuzz import coverage
from tests.kernel.fuzz.oracles import ORACLES


def main() -> None:
    name, *options = sys.argv[1:]
    assert native.kernel is not None
    kept = coverage.connect(native.kernel, core_with_libfuzzer)
    atheris.Setup([sys.argv[0], *options], ORACLES[name], enable_python_coverage=False)
    atheris.Fuzz()
    del kept


if __name__ == "__main__":
    main()
