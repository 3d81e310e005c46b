"""The token bucket, the kernel's and its twin. That both are equal: tests/kernel/test_bucket."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire import native
from rocketwire.server.throttle.bucket import RATE_MOST, Bucket, PythonBucket

SECOND = 1_000_000_000
KINDS = [PythonBucket] if native.kernel is None else [PythonBucket, native.kernel.Bucket]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__module__)
def kind(request: pytest.FixtureRequest) -> type[PythonBucket]:
    made: type[PythonBucket] = request.param
    return made


def passed(bucket: PythonBucket, start: int, end: int, step: int, cost: int) -> int:
    """How many converted messages pass, in requests of the same cost at each step."""
    taken = 0
    for now in range(start, end, step):
        if bucket.ready(now):
            bucket.take(cost)
            taken += cost
    return taken


def test_the_kernels_bucket_is_used_if_there_is_one() -> None:
    assert Bucket is KINDS[-1]


def test_it_begins_with_one_second_and_then_keeps_the_rate(kind: type[PythonBucket]) -> None:
    bucket = kind(100, 0)
    assert passed(bucket, 0, 1, 1, 1) + sum(passed(bucket, 0, 1, 1, 1) for _ in range(1000)) == 100
    assert passed(bucket, 0, 10 * SECOND, SECOND // 1000, 1) == 1000  # at 1000 a second


@pytest.mark.parametrize("cost", [1, 7, 350])
def test_large_and_small_requests_get_the_same_rate(kind: type[PythonBucket], cost: int) -> None:
    bucket = kind(100, 0)
    bucket.take(100)
    assert abs(passed(bucket, 1, 100 * SECOND, SECOND // 333, cost) - 10_000) <= cost


def test_a_debt_is_paid_first(kind: type[PythonBucket]) -> None:
    bucket = kind(10, 5)
    assert bucket.ready(5)
    bucket.take(25)
    assert (bucket.level, bucket.taken) == (-15 * SECOND, 25)
    assert not bucket.ready(5 + 3 * SECOND // 2)
    assert bucket.ready(6 + 3 * SECOND // 2)


def test_a_debt_is_paid_within_ten_seconds(kind: type[PythonBucket]) -> None:
    bucket = kind(10, 0)
    for cost in (1_000_000, 5):
        bucket.take(cost)
        assert bucket.level == -100 * SECOND
    assert bucket.taken == 1_000_005
    assert not bucket.ready(10 * SECOND)
    assert bucket.ready(10 * SECOND + 1)
    nothing = kind(0, 0)
    nothing.take(5)
    assert (nothing.level, nothing.taken) == (0, 5)


def test_at_most_one_second_is_saved(kind: type[PythonBucket]) -> None:
    bucket = kind(10, 0)
    assert bucket.ready(1000 * SECOND)
    assert (bucket.rate, bucket.level) == (10, 10 * SECOND)


def test_a_time_that_goes_back_adds_nothing(kind: type[PythonBucket]) -> None:
    bucket = kind(1, 10 * SECOND)
    bucket.take(1)
    assert not bucket.ready(5 * SECOND)
    assert not bucket.ready(10 * SECOND)
    assert bucket.ready(10 * SECOND + 1)


def test_nothing_passes_at_a_rate_of_zero(kind: type[PythonBucket]) -> None:
    bucket = kind(0, 0)
    assert not bucket.ready(0)
    assert not bucket.ready(10**18)


def test_malformed_rates_are_refused(kind: type[PythonBucket]) -> None:
    for rate in (-1, RATE_MOST + 1):
        with pytest.raises(ValueError, match="a rate is between 0 and 2147483647"):
            kind(rate, 0)
    with pytest.raises(ValueError, match="a cost is not negative"):
        kind(1, 0).take(-1)
    anything: Any = "x"
    with pytest.raises(TypeError):
        kind(1, 0).take(anything)
    with pytest.raises(TypeError):
        kind(1, 0).ready(anything)
