"""Random numbers for choices."""

from __future__ import annotations

from collections import Counter

import pytest

from rocketwire.server.core.random_below import RandomBelow


@pytest.mark.parametrize("below", [1, 2, 8, 100])
def test_every_number_below_the_limit_is_equally_frequent(below: int) -> None:
    chance = RandomBelow()
    times = 20_000
    counts = Counter(chance(below) for _ in range(times))
    assert sorted(counts) == list(range(below))
    assert min(counts.values()) > times / below / 2


def test_two_sources_differ() -> None:
    one, other = RandomBelow(), RandomBelow()
    assert [one(1 << 32) for _ in range(4)] != [other(1 << 32) for _ in range(4)]
