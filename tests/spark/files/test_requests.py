from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from rocketwire.spark.files.requests import NEAR, requests


def test_near_parts_are_one_request_and_large_ones_several() -> None:
    assert list(requests([], 100, 10)) == []
    assert list(requests([(5, 0), (100, 10), (200, 5)], 100, 10)) == []
    assert list(requests([(0, 10), (10, 10), (NEAR + 20, 10)], 1 << 30, 1 << 20)) == [(0, NEAR + 30)]
    assert list(requests([(0, 10), (NEAR + 11, 10)], 1 << 30, 1 << 20)) == [(0, 10), (NEAR + 11, NEAR + 21)]
    assert list(requests([(7, 25)], 30, 10)) == [(7, 17), (17, 27), (27, 30)]
    assert list(requests([(0, 100), (10, 5), (90, 20)], 1000, 1000)) == [(0, 110)]


@given(
    parts=st.lists(st.tuples(st.integers(0, 1 << 22), st.integers(0, 1 << 20)), max_size=20).map(sorted),
    size=st.integers(0, 1 << 22),
    largest=st.sampled_from([1 << 16, 1 << 20]),
)
def test_requests_cover_the_parts_and_little_else(parts: list[tuple[int, int]], size: int, largest: int) -> None:
    found = list(requests(parts, size, largest))
    assert all(0 <= begin < end <= min(size, begin + largest) for begin, end in found)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(found))
    for offset, length in parts:
        at = offset
        for begin, end in found:
            if begin <= at < end:
                at = end
        assert at >= min(offset + length, size) or length == 0
    assert sum(end - begin for begin, end in found) <= sum(length + NEAR for _, length in parts)
