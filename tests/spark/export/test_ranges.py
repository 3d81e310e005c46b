"""Ranges that are done, and what is missing: proven with sets of offsets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.export.ranges import Range, merged, missing

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10)).map(lambda one: (one[0], one[0] + one[1])))


def offsets(ranges: list[Range]) -> set[int]:
    return {offset for start, end in ranges for offset in range(start, end)}


@given(RANGES)
def test_merged_ranges_are_the_same_offsets_apart_from_each_other(ranges: list[Range]) -> None:
    found = merged(ranges)
    assert offsets(found) == offsets(ranges)
    assert all(left[1] < right[0] for left, right in pairwise(found))


@given(st.integers(0, 40), st.integers(0, 40), RANGES)
def test_what_is_missing_is_all_that_is_not_done(start: int, length: int, ranges: list[Range]) -> None:
    found = missing(start, start + length, merged(ranges))
    assert offsets(found) == set(range(start, start + length)) - offsets(ranges)
    assert all(first < last for first, last in found)
