"""Delayed requests and answers, without a server: order, bounds, connections that close."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio

from rocketwire.server.faults import delay_queue
from rocketwire.server.faults.delay_queue import DelayQueue
from tests.server.harness import pass_time


@asynccontextmanager
async def running() -> AsyncIterator[DelayQueue]:
    waits = DelayQueue()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(waits.run)
        yield waits
        nursery.cancel_scope.cancel()


async def test_each_is_performed_at_its_time_in_order() -> None:
    async with running() as waits:
        done: list[str] = []
        for name, seconds in (("c", 3), ("a", 1), ("b", 1), ("later", 9)):
            assert waits.hold(session(), seconds, 10, partial(done.append, name))
        assert (len(waits), waits.size) == (4, 40)
        await pass_time(0.9)
        assert done == []
        await pass_time(0.2)
        assert done == ["a", "b"]
        await pass_time(2)
        assert done == ["a", "b", "c"]
        assert (len(waits), waits.size) == (1, 10)


async def test_those_of_a_closed_connection_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay_queue, "_SLACK", 2)
    async with running() as waits:
        done: list[int] = []
        stays, leaves = session(), session()
        for _ in range(10):
            waits.hold(leaves, 1, 10, lambda: done.append(0))
        waits.peer_closed(leaves)
        assert (len(waits), waits.size) == (0, 0)
        waits.hold(stays, 1, 5, lambda: done.append(1))
        assert len(waits._heap) == 1  # forgotten ones take no memory for long
        await pass_time(2)
        assert done == [1]


async def test_the_bytes_of_delayed_requests_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(delay_queue, "MOST_HELD_BYTES", 100)
    async with running() as waits:
        assert waits.hold(session(), 1, 100, nothing)
        assert not waits.hold(session(), 1, 1, nothing)
        assert not waits.hold(session(), 1, 1, nothing)
        assert [each.getMessage() for each in caplog.records] == [
            "1 requests and answers are delayed, 100 bytes: others are not"
        ]
        await pass_time(2)
        assert waits.hold(session(), 1, 1, nothing)


async def test_requests_without_bytes_are_always_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delay_queue, "MOST_HELD", 0)
    async with running() as waits:
        done: list[str] = []
        assert not waits.hold(session(), 0, 1, partial(done.append, "one"))
        assert waits.hold(session(), 0, 0, partial(done.append, "none"))
        await pass_time(0.1)
        assert done == ["none"]


async def test_a_bug_ends_its_connection_only() -> None:
    failures: list[Exception] = []

    class Session:
        def failed(self, error: Exception) -> None:
            failures.append(error)

    def bug() -> None:
        raise ZeroDivisionError

    async with running() as waits:
        broken: Any = Session()
        done: list[int] = []
        waits.hold(broken, 1, 1, bug)
        waits.hold(session(), 1, 1, lambda: done.append(1))
        await pass_time(2)
        assert [type(each) for each in failures] == [ZeroDivisionError]
        assert done == [1]


def session() -> Any:
    """A connection that is never used."""
    return object()


def nothing() -> None:
    """An action for tests in which it does not matter."""
