"""The budget of background work: its share of the loop while requests come, all of it otherwise."""

from __future__ import annotations

from collections.abc import Generator

import pytest
import trio

from rocketwire.server.core.background import (
    BUSY_SLICE_SECONDS,
    QUIET_SLICE_SECONDS,
    SHARE,
    BackgroundBudget,
    as_steps,
)
from tests.server.busy_loop import BusyLoop
from tests.server.harness import mock_clock

PIECE = 0.000_05


async def test_one_piece_is_called_and_its_error_raised() -> None:
    budget = BusyLoop().budget
    assert await budget.call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        await budget.call(lambda: 1 // 0)
    assert await budget.call(lambda: 8) == 8


async def test_while_no_request_comes_background_work_may_use_all_of_the_time() -> None:
    loop = BusyLoop()
    began = loop.time
    await loop.budget.carry_out(loop.pieces(10_000, PIECE))
    assert loop.rests == []
    assert loop.time - began == pytest.approx(10_000 * PIECE)


async def test_while_requests_come_background_work_uses_its_share() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    began = loop.time
    await loop.budget.carry_out(loop.pieces(10_000, PIECE))
    assert 10_000 * PIECE / (loop.time - began) == pytest.approx(SHARE, rel=0.02)


async def test_slices_are_short_while_requests_come_and_longer_otherwise() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    await loop.budget.carry_out(loop.pieces(1000, PIECE))
    lengths = [rest / (1 / SHARE - 1) for rest in loop.rests]
    assert max(lengths) <= BUSY_SLICE_SECONDS + 2 * PIECE
    assert BUSY_SLICE_SECONDS < QUIET_SLICE_SECONDS


async def test_a_long_piece_is_followed_by_a_long_rest() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    await loop.budget.carry_out(loop.pieces(3, 0.05))
    assert loop.rests == pytest.approx([0.05 * (1 / SHARE - 1)] * 3, rel=0.01)


async def test_when_requests_cease_the_whole_loop_is_used_again() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    await loop.budget.carry_out(loop.pieces(100, PIECE))
    assert loop.budget.is_busy()
    loop.busy = False
    loop.time += 1
    assert not loop.budget.is_busy()
    loop.rests.clear()
    await loop.budget.carry_out(loop.pieces(1000, PIECE))
    assert loop.rests == []


async def test_all_tasks_together_have_one_share() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    began = loop.time
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(loop.budget.carry_out, loop.pieces(1000, PIECE))
    assert 4000 * PIECE / (loop.time - began) == pytest.approx(SHARE, rel=0.05)


async def test_tasks_alternate() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    order: list[str] = []

    def noted(name: str) -> Generator[None, None, None]:
        for _ in loop.pieces(50, PIECE):
            order.append(name)
            yield

    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.budget.carry_out, noted("a"))
        nursery.start_soon(loop.budget.carry_out, noted("b"))
    assert set(order[:20]) == {"a", "b"}


async def test_other_tasks_run_between_two_slices_of_a_quiet_loop() -> None:
    loop = BusyLoop()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await loop.budget.carry_out(loop.pieces(1000, PIECE))
        nursery.cancel_scope.cancel()
    assert turns >= 1000 * PIECE / QUIET_SLICE_SECONDS - 1


async def test_cancelled_work_does_not_stop_other_work() -> None:
    loop = BusyLoop()
    loop.keep_busy()
    closed = False

    def endless() -> Generator[None, None, None]:
        nonlocal closed
        try:
            while True:
                loop.time += PIECE
                yield
        finally:
            closed = True

    with trio.move_on_after(0):
        await loop.budget.carry_out(endless())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loop.budget.carry_out, endless())
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert closed
    assert await loop.budget.carry_out(loop.pieces(1, PIECE)) == 1


async def test_an_iterator_is_read_in_steps() -> None:
    found: list[int] = []

    def each() -> Generator[None, None, None]:
        for number in range(3):
            found.append(number)
            yield

    await BackgroundBudget(now=mock_clock().current_time).carry_out(as_steps(each()))
    assert found == [0, 1, 2]
