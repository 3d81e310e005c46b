"""Fuzzes everything that reads what others write: `python -m tests.fuzz [--seconds N] [--keep] [PART]...`.

The parts are those of `tests.fuzz.parts` and, as kernel/NAME, those of `tests.kernel.fuzz`. The time is divided among
them, and as many run at once as there are processors. What is found belongs into a test beside the part that it was
found in; `--keep` puts the smallest inputs that reach all that is reached into tests/corpus.
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.fuzz.libfuzzer import Target, fuzz, keep
from tests.fuzz.parts import NAMES, part
from tests.kernel.fuzz import targets as of_kernel

NIGHT = 600  # seconds
LEAST = 5


def in_python(name: str) -> Target:
    """A part in Python."""
    found = part(name)
    return Target(
        name=name,
        module="tests.fuzz.worker",
        environment={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        seeds=found.seeds(),
        words=found.words,
        longest=found.longest,
        places="places of the Python code",
    )


def chosen(names: list[str]) -> list[Target]:
    """The targets of these names, or all."""
    names = names or [*NAMES, *of_kernel.NAMES]
    kernel = of_kernel.built() if any(name in of_kernel.NAMES for name in names) else None
    return [in_python(name) if kernel is None or name in NAMES else of_kernel.target(name, kernel) for name in names]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz what reads bytes from outside.")
    parser.add_argument("--seconds", type=int, default=NIGHT, help=f"how long all of it takes (default {NIGHT})")
    parser.add_argument("--keep", action="store_true", help="renew the corpus in tests/corpus afterwards")
    every = (*NAMES, *of_kernel.NAMES)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=(*every, []), help=f"which: {', '.join(every)}")
    options = parser.parse_args()
    targets = chosen(options.parts)
    at_once = min(os.cpu_count() or 1, len(targets))
    seconds = max(LEAST, options.seconds * at_once // len(targets))
    well = True
    with ThreadPoolExecutor(at_once) as threads:
        for outcome in threads.map(partial(fuzz, seconds=seconds), targets):
            print(outcome.text, flush=True)
            well = well and outcome.well
        if options.keep and well:
            for line in threads.map(keep, targets):
                print(line, flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
