from __future__ import annotations

from typing import Any

import trio

from rocketwire.server.grpc.transport.cancel_queue import CancelQueue
from tests.server.harness import mock_clock, settle


class Slow:
    """A connection whose calls take a millisecond each to cancel."""

    def __init__(self) -> None:
        self.cancelled: list[Any] = []

    def cancel_now(self, call: Any) -> None:
        self.cancelled.append(call)
        mock_clock().jump(0.001)


async def test_many_calls_are_cancelled_in_steps(nursery: trio.Nursery) -> None:
    cancelling, connection, most, before = CancelQueue(), Slow(), 0, 0
    nursery.start_soon(cancelling.run)
    await settle()
    calls: list[Any] = list(range(20))
    for call in calls:
        cancelling.add(connection, call)
    assert connection.cancelled == []
    while len(connection.cancelled) < 20:
        await trio.lowlevel.checkpoint()
        most, before = max(most, len(connection.cancelled) - before), len(connection.cancelled)
    assert connection.cancelled == calls
    assert most <= 4  # 2 ms in each of two steps, if this task runs before and after them
    nursery.cancel_scope.cancel()


async def test_when_the_server_stops_the_rest_is_cancelled_at_once(nursery: trio.Nursery) -> None:
    cancelling, connection = CancelQueue(), Slow()
    call: Any = "first"
    cancelling.add(connection, call)  # it does not run yet
    assert connection.cancelled == ["first"]
    nursery.start_soon(cancelling.run)
    await settle()
    for call in range(9):
        cancelling.add(connection, call)
    nursery.cancel_scope.cancel()
    await settle_cancelled(nursery)
    assert connection.cancelled == ["first", *range(9)]


async def settle_cancelled(nursery: trio.Nursery) -> None:
    """Let the tasks of a cancelled nursery end."""
    with trio.CancelScope(shield=True):
        while nursery.child_tasks:
            await trio.lowlevel.checkpoint()
