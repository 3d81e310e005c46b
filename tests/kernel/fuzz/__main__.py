"""Fuzzes the kernel: `python -m tests.kernel.fuzz [--seconds N] [ORACLE]...`.

libFuzzer (in atheris, from PyPI) makes inputs, guided by which places of the C code they reach; the oracles hold what
the kernel makes of them against Python, under AddressSanitizer and UBSan. An input that shows a difference or a fault
is kept in build/fuzz/found and ends that oracle's turn; it belongs into tests/kernel/test_fuzz.py. Inputs that reached
something new are kept in build/fuzz/corpus, where the next run goes on.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kernel.fuzz import coverage, seeds
from tools import build_kernel, sanitize

WORK = build_kernel.ROOT / "build" / "fuzz"


def run(oracle: str, kernel: Path, seconds: int) -> bool:
    """Fuzz one oracle, print a line about it, and tell whether all was well."""
    corpus, found = WORK / "corpus" / oracle, WORK / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        begin = Path(folder) / "seeds"
        begin.mkdir()
        for number, seed in enumerate(sorted(seeds.of(oracle))):
            (begin / str(number)).write_bytes(seed)
        words = Path(folder) / "words"
        words.write_text("".join(_quoted(word) for word in seeds.WORDS[oracle]), encoding="ascii")
        options = [f"-max_total_time={seconds}", f"-dict={words}", f"-artifact_prefix={found}/{oracle}-"]
        command = [sys.executable, "-m", "tests.kernel.fuzz.worker", oracle, *options, "-print_final_stats=1"]
        environment = sanitize.environment(kernel)
        done = subprocess.run([*command, corpus, begin], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = re.sub(r"^#\d+\s.*\n", "", done.stderr, flags=re.MULTILINE)  # but for the progress
        print(done.stdout, told, f"{oracle}: failed", sep="\n")
        return False
    (runs,) = re.findall(r"^stat::number_of_executed_units: *(\d+)", done.stderr, re.MULTILINE)
    reached = re.findall(r" cov: (\d+)", done.stderr)[-1]
    print(f"{oracle}: {int(runs):,} inputs, {reached} places of the C code reached")
    return True


def _quoted(word: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.kernel.fuzz", description="Fuzz the C kernel.")
    parser.add_argument("--seconds", type=int, default=5, help="how long each oracle is fuzzed (default 5)")
    parser.add_argument("--portable", action="store_true", help="the code for other processors than x86-64")
    parser.add_argument("oracles", nargs="*", metavar="ORACLE", help=f"which ones: {', '.join(seeds.WORDS)}")
    options = parser.parse_args()
    kernel = sanitize.build(portable=options.portable, trace=coverage.SOURCE)
    failed = [oracle for oracle in options.oracles or seeds.WORDS if not run(oracle, kernel, options.seconds)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
