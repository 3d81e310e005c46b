"""Runs libFuzzer (in atheris, from PyPI) on one target, and has it choose what is worth keeping.

What it reached that was new is kept in build/fuzz/corpus, where the next run continues; an input that something is
wrong with is kept in build/fuzz/found and ends the target's turn.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fuzz import corpus
from tools.build_kernel import ROOT

WORK: Final = ROOT / "build" / "fuzz"

PROGRAM: Final = "ROCKETWIRE_FUZZER"
"""Names the environment variable with the program that libFuzzer is to take itself for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is fuzzed: `module` is started with `name`'s last part and libFuzzer's options.

    Attributes:
        name: Also that of its archive in the corpus.
        places: What the fuzzer counts as reached, in words.
    """

    name: str
    module: str
    environment: Mapping[str, str]
    seeds: Iterable[bytes]
    words: Sequence[str | bytes]
    longest: int
    places: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a turn ended, and a line or more about it."""

    well: bool
    text: str


def fuzz(target: Target, seconds: int) -> Outcome:
    """Fuzz one target for so many seconds."""
    found = WORK / "found"
    found.mkdir(parents=True, exist_ok=True)
    prefix = f"{found}/{target.name.replace('/', '-')}-"
    with _folders(target) as (kept, begin, scratch):
        words = scratch / "words"
        words.write_text("".join(map(_quoted, target.words)), encoding="ascii")
        options = [f"-max_total_time={seconds}", f"-dict={words}", f"-artifact_prefix={prefix}", "-print_final_stats=1"]
        done = _run(target, options, [kept, *begin], scratch)
    if done.returncode != 0:
        reported = re.sub(r"^#\d+\s.*\n", "", done.stderr, flags=re.MULTILINE)  # but for the progress
        return Outcome(well=False, text=f"{done.stdout}\n{reported}\n{target.name}: failed")
    (runs,) = re.findall(r"^stat::number_of_executed_units: *(\d+)", done.stderr, re.MULTILINE)
    (speed,) = re.findall(r"^stat::average_exec_per_sec: *(\d+)", done.stderr, re.MULTILINE)
    reached = re.findall(r" cov: (\d+)", done.stderr)[-1]
    text = f"{target.name}: {int(runs):,} inputs, {int(speed):,} a second, {reached} {target.places} reached"
    return Outcome(well=True, text=text)


def keep(target: Target) -> str:
    """Put the smallest inputs that reach all that is reached in the place of the target's corpus; a line about it."""
    with _folders(target) as (kept, begin, scratch):
        merged = scratch / "merged"
        merged.mkdir()
        done = _run(target, ["-merge=1"], [merged, kept, *begin], scratch)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-4000:])
        count = corpus.keep(target.name, (path.read_bytes() for path in merged.iterdir()))
    return f"{target.name}: {count} inputs kept"


@contextmanager
def _folders(target: Target) -> Iterator[tuple[Path, list[Path], Path]]:
    """Where new inputs go, those to begin with, and a place for the rest."""
    kept = WORK / "corpus" / target.name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        for number, seed in enumerate(sorted(set(target.seeds))):
            if len(seed) <= target.longest:
                (seeds / str(number)).write_bytes(seed)
        committed = Path(folder) / "corpus"
        committed.mkdir()
        for name, data in corpus.inputs(target.name).items():
            (committed / name).write_bytes(data)
        yield kept, [seeds, committed], Path(folder)


def _run(
    target: Target, options: Sequence[str], folders: Sequence[Path], scratch: Path
) -> subprocess.CompletedProcess[str]:
    """Start the target's module; libFuzzer ends it without a clean-up, so its temporary files are put in `scratch`.

    To merge, libFuzzer starts its program once more, by the name that it is given: a script.
    """
    limits = [f"-max_len={target.longest}", "-timeout=20", "-rss_limit_mb=3000"]
    command = [sys.executable, "-m", target.module, target.name.rpartition("/")[2]]
    script = scratch / "again"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    environment = {**target.environment, "TMPDIR": str(scratch), PROGRAM: str(script)}
    every = [*command, *limits, *options, *map(str, folders)]
    return subprocess.run(every, env=environment, capture_output=True, text=True, errors="replace", check=False)


def _quoted(word: str | bytes) -> str:
    data = word.encode() if isinstance(word, str) else word
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"\n'
