"""The parts in Python as targets of the fuzzing."""

from __future__ import annotations

import os

from tests.fuzz.libfuzzer import Target
from tests.fuzz.parts import part


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
