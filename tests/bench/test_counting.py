"""The measure of what statistics cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.counting import ROUNDS, SECONDS, measured

SEND = 1.6e-6
RATE = 10_000


@pytest.mark.slow  # for the measurement of coverage would be measured
async def test_statistics_take_less_than_a_hundredth_of_a_send(tmp_path: Path) -> None:
    """With 800 queues that grow, at a tenth of the rate that the benchmark reckons with."""
    took = measured(tmp_path, 100)
    assert len(took) == ROUNDS
    assert min(took) / SECONDS / RATE < SEND / 100
