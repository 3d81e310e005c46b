"""One part under libFuzzer: `python -m tests.fuzz.worker PART [libFuzzer's options]`."""

from __future__ import annotations

import os
import sys

import atheris

from tests.fuzz.libfuzzer import PROGRAM


def main() -> None:
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=["rocketwire"]):
        from tests.fuzz.parts import part  # what it imports is traced

        found = part(name)
    with found.opened() as check:
        atheris.Setup([os.environ[PROGRAM], *options], check)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
