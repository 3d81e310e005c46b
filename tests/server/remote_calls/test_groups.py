"""The groups of a cluster, as a proxy queries them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trio

from rocketwire.server.remote_calls.groups import RemoteGroups
from tests.server.harness import mock_clock


class Tasks:
    """Starts tasks, while it is open."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.open = True
        self._nursery = nursery

    def start(self, task: Callable[..., Any], *args: Any) -> bool:
        if self.open:
            self._nursery.start_soon(task, *args)
        return self.open


class NoBrokers:
    """Topics of a cluster without a broker to query."""

    def masters(self) -> tuple[()]:
        return ()


async def test_thousands_of_calls_that_wait_for_a_group_continue_in_steps(nursery: trio.Nursery) -> None:
    tasks: Any = Tasks(nursery)
    topics: Any = NoBrokers()
    groups = RemoteGroups(topics, tasks)
    clock, calls, most = mock_clock(), [0], 0

    def done() -> None:
        clock.jump(0.0005)
        calls[0] += 1

    assert all(groups.when_loaded("G", done) for _ in range(1000))
    while calls[0] < 1000:
        before = calls[0]
        await trio.lowlevel.checkpoint()
        most = max(most, calls[0] - before)
    assert most <= 8
    tasks.open = False
    assert not groups.when_loaded("G", done)
