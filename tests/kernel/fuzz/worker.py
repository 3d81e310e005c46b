"""One oracle under libFuzzer; __main__ starts `python -m tests.kernel.fuzz.worker ORACLE [libFuzzer's options]`."""

import os
import random
import re
import sys
import zlib
from importlib import import_module

import atheris

from rocketwire import native
from tests.fuzz.libfuzzer import PROGRAM
from tests.kernel.fuzz import coverage, seeds
from tests.kernel.fuzz.oracles import ORACLES

_WHOLE = re.compile(rb"(?<=[\":\x01\x02])[^\":,{}\x01\x02]+")  # a name or a value in JSON, or in properties


class Target:
    """Takes libFuzzer's inputs, and beside each one more that is made from it by names and values, not by bytes.

    What libFuzzer keeps is mostly broken, and it hardly replaces a whole number by another; so that one is a sound
    seed, or the input itself, with one name or value replaced. Which one is a matter of the input alone.
    """

    def __init__(self, oracle: str) -> None:
        self._oracle = ORACLES[oracle]
        self._seeds = sorted(seeds.of(oracle))

    def __call__(self, data: bytes) -> None:
        """Hold both against Python.

        Raises:
            AssertionError: the kernel makes something else of one of them; its text is that input.
        """
        for given in (data, self._changed(data)):
            try:
                self._oracle(given)
            except Exception as error:
                raise AssertionError(f"input {given!r}") from error

    def _changed(self, data: bytes) -> bytes:
        chance = random.Random(zlib.crc32(data))
        base = data if chance.random() < 0.5 else chance.choice(self._seeds)
        places = list(_WHOLE.finditer(base))
        if not places:
            return base
        place = chance.choice(places)
        values = seeds.EDGES if place[0].isdigit() and chance.random() < 0.8 else seeds.VALUES
        return base[: place.start()] + chance.choice(values) + base[place.end() :]


def main() -> None:
    name, *options = sys.argv[1:]
    assert native.kernel is not None
    kept = coverage.connect(native.kernel, import_module("atheris.core_with_libfuzzer"))
    atheris.Setup([os.environ[PROGRAM], *options], Target(name), enable_python_coverage=False)
    atheris.Fuzz()
    del kept


if __name__ == "__main__":
    main()
