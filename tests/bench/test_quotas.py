from __future__ import annotations

import pytest

from bench.quotas import SLOTS, farthest


def test_the_worst_ten_seconds_count() -> None:
    even = [10] * 12 * SLOTS
    assert farthest(even, 100) == 0
    assert farthest([100] * SLOTS + even, 100) == 0, "the first second does not"
    assert farthest([*even, *[10] * 5, 60], 100) == pytest.approx(0.05)
    assert farthest([*even, *[0] * 3], 100) == pytest.approx(0.03)
