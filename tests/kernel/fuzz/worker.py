"""One oracle under libFuzzer; __main__ starts `python -m tests.kernel.fuzz.worker ORACLE [libFuzzer's options]`."""

import random
import re
import sys

import atheris
from atheris import core_with_libfuzzer

from rocketwire import native
from tests.kernel.fuzz import coverage, seeds
from tests.kernel.fuzz.oracles import ORACLES

_WHOLE = re.compile(rb"(?<=[\":\x01\x02])[^\":,{}\x01\x02]+")  # a name or a value in JSON, or in properties


def changed(data: bytes, most: int, seed: int) -> bytes:
    """What libFuzzer makes of an input; of every second one with a name or a value replaced instead, or as well."""
    chance = random.Random(seed)
    places = list(_WHOLE.finditer(data)) if chance.random() < 0.5 else []
    if places:
        place = chance.choice(places)
        values = seeds.EDGES if place[0].isdigit() and chance.random() < 0.8 else seeds.VALUES
        data = data[: place.start()] + chance.choice(values) + data[place.end() :]
        if chance.random() < 0.8:
            return data[:most]
    made: bytes = atheris.Mutate(data, most)
    return made


def main() -> None:
    name, *options = sys.argv[1:]
    assert native.kernel is not None
    kept = coverage.connect(native.kernel, core_with_libfuzzer)
    atheris.Setup([sys.argv[0], *options], ORACLES[name], custom_mutator=changed, enable_python_coverage=False)
    atheris.Fuzz()
    del kept


if __name__ == "__main__":
    main()
