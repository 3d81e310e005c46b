"""The kernel's readers as targets of the fuzzing: kernel/NAME for each oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.fuzz.libfuzzer import Target
from tests.kernel.fuzz import coverage, seeds
from tools import sanitize

NAMES: Final = tuple(f"kernel/{oracle}" for oracle in seeds.WORDS)

_LONGEST: Final = 4096  # bytes, libFuzzer's own choice


def built(*, portable: bool = False) -> Path:
    """The kernel with both sanitizers and with calls that report what is reached."""
    return sanitize.build(portable=portable, trace=coverage.SOURCE)


def target(name: str, kernel: Path) -> Target:
    """One of them, in that kernel."""
    oracle = name.removeprefix("kernel/")
    return Target(
        name=name,
        module="tests.kernel.fuzz.worker",
        environment=sanitize.environment(kernel),
        seeds=seeds.of(oracle),
        words=seeds.WORDS[oracle],
        longest=_LONGEST,
        places="places of the C code",
    )
