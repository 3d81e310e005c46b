from __future__ import annotations

import trio

from rocketwire.server.monitoring.groups import ScrapeSlices
from tests.server.harness import mock_clock


async def test_requests_are_served_when_a_slice_ends() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        slices = ScrapeSlices()
        for _ in range(100):
            await slices.pause()
        assert turns == 0
        for _ in range(20):
            mock_clock().jump(0.01)
            await slices.pause()
            seen = turns
            await slices.pause()
            assert turns == seen
        assert turns >= 19  # of two that are ready, either may be the first
        nursery.cancel_scope.cancel()
