"""`DueBucket` against its twin; what either is for: tests/server/throttle/test_bucket."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocketwire import native
from rocketwire.server.throttle.bucket import RATE_MOST, PythonBucket

SECOND = 1_000_000_000

times = st.integers(0, 3 * SECOND) | st.integers(0, 2**63 - 1) | st.integers(-(2**63), 2**63 - 1)
costs = st.integers(0, 100) | st.integers(0, 2**63 - 1)
rates = st.integers(0, 5) | st.integers(0, RATE_MOST)


@given(rates, times, st.lists(st.tuples(st.booleans(), times, costs), max_size=30))
def test_both_are_equal_whatever_comes(rate: int, start: int, steps: list[tuple[bool, int, int]]) -> None:
    assert native.kernel is not None
    ours, twin = native.kernel.Bucket(rate, start), PythonBucket(rate, start)
    for requests, now, cost in steps:
        if requests:
            assert ours.ready(now) == twin.ready(now)
        else:
            ours.take(cost)
            twin.take(cost)
        assert (ours.level, ours.rate, ours.taken) == (twin.level, twin.rate, twin.taken)
