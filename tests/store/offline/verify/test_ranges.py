from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.store.offline.verify.ranges import RangeSet

NUMBERS = st.integers(0, 40)


@given(st.lists(st.tuples(NUMBERS, NUMBERS)), NUMBERS, NUMBERS)
def test_ranges_are_a_set(added: list[tuple[int, int]], start: int, stop: int) -> None:
    ranges = RangeSet()
    numbers: set[int] = set()
    for low, high in added:
        ranges.add(low, high)
        numbers.update(range(low, high))
    assert {number for low, high in ranges for number in range(low, high)} == numbers
    assert all(number in ranges for number in numbers)
    assert not any(number in ranges for number in set(range(42)) - numbers)
    gaps = [number for low, high in ranges.gaps(start, stop) for number in range(low, high)]
    assert gaps == sorted(set(range(start, stop)) - numbers)
    found = list(ranges)
    assert all(low < high for low, high in found)
    assert all(before[1] < after[0] for before, after in itertools.pairwise(found))
