"""Waking a task."""

from __future__ import annotations

import trio

from rocketwire.server.timer.bell import Bell
from tests.server.harness import mock_clock, settle


async def test_what_rang_before_is_heard_once() -> None:
    bell = Bell()
    bell.ring()
    bell.ring()
    await bell.heard()
    before = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bell.heard, 5)
        await settle()
        mock_clock().jump(5)
    assert trio.current_time() - before == 5


async def test_a_task_that_waits_is_woken() -> None:
    bell = Bell()
    heard: list[float] = []

    async def wait() -> None:
        await bell.heard()
        heard.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await settle()
        assert heard == []
        bell.ring()
        await settle()
        assert heard == [trio.current_time()]
