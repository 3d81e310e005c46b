"""Fuzzes the kernel: `python -m tests.kernel.fuzz [--seconds N] [ORACLE]...`.

libFuzzer makes inputs, guided by which places of the C code they reach; the oracles hold what the kernel makes of them
against Python, under AddressSanitizer and UBSan. An input that shows a difference or a fault belongs into
tests/kernel/test_fuzz.py. `python -m tests.fuzz` does so too, beside everything else.
"""

import argparse
import sys

from tests.fuzz.libfuzzer import fuzz
from tests.kernel.fuzz import seeds, targets


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kernel.fuzz", description="Fuzz the C kernel.")
    parser.add_argument("--seconds", type=int, default=5, help="how long each oracle is fuzzed (default 5)")
    parser.add_argument("--portable", action="store_true", help="the code for other processors than x86-64")
    parser.add_argument("oracles", nargs="*", metavar="ORACLE", help=f"which ones: {', '.join(seeds.WORDS)}")
    options = parser.parse_args()
    kernel = targets.built(portable=options.portable)
    well = True
    for oracle in options.oracles or seeds.WORDS:
        outcome = fuzz(targets.target(f"kernel/{oracle}", kernel), options.seconds)
        print(outcome.text, flush=True)
        well = well and outcome.well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
