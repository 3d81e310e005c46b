from __future__ import annotations

import pytest
import trio

from rocketwire.server.clients import order_locks
from rocketwire.server.clients.order_locks import MOST_BYTES, OrderLocks, check_size
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.wire.bodies.client import MessageQueue
from tests.server.busy_loop import BusyLoop
from tests.server.harness import mock_clock, settle

A, B, C = (MessageQueue(topic="T", broker_name="b", queue_id=each) for each in range(3))


async def test_a_queue_that_is_named_twice_is_locked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_locks, "MOST_LOCKS", 2)
    locks = OrderLocks()
    assert locks.lock("G", "one", [A, B, A, A, B]) == [A, B]
    assert locks.lock("G", "one", [B, B, B, A]) == [B, A]
    assert locks._count == 2
    locks.unlock("G", "one", [A, A, B])
    assert (locks._count, locks._groups) == (0, {})


async def test_groups_do_not_block_each_other() -> None:
    locks = OrderLocks()
    locks.lock("G", "one", [A])
    assert locks.lock("H", "two", [A]) == [A]


async def test_a_group_without_locks_is_forgotten() -> None:
    locks = OrderLocks()
    locks.lock("G", "one", [])
    locks.unlock("H", "one", [A])
    assert locks._groups == {}
    locks.lock("G", "one", [A, B])
    locks.unlock("G", "one", [A])
    assert locks._groups.keys() == {"G"}
    locks.unlock("G", "one", [B])
    assert locks._groups == {}


async def test_only_the_holder_unlocks() -> None:
    locks = OrderLocks()
    locks.lock("G", "one", [A, B])
    locks.unlock("G", "two", [A, C])
    locks.unlock("H", "one", [A])
    assert locks.lock("G", "two", [A]) == []
    locks.unlock("G", "one", [A])
    assert locks.lock("G", "two", [A, B]) == [A]


async def test_expired_locks_are_forgotten(nursery: trio.Nursery) -> None:
    locks = OrderLocks()
    nursery.start_soon(locks.run, BackgroundBudget())
    await settle()
    locks.lock("G", "one", [A, B, C])
    locks.lock("H", "one", [A])
    mock_clock().jump(35)
    locks.lock("G", "one", [A])
    await settle()
    for _ in range(3):
        mock_clock().jump(10)
        await settle()
    assert {group: list(held) for group, held in locks._groups.items()} == {"G": [A]}
    assert locks.lock("G", "two", [A, B]) == [B]
    for _ in range(7):
        mock_clock().jump(10)
        await settle()
    assert locks._groups == {}


async def test_the_number_of_locked_queues_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_locks, "MOST_LOCKS", 4)
    locks = OrderLocks()
    queues = [MessageQueue(topic="T", broker_name="b", queue_id=each) for each in range(6)]
    assert locks.lock("G", "one", queues[:3]) == queues[:3]
    with pytest.raises(LimitExceeded, match=r"orderLocks=4$"):
        locks.lock("H", "one", queues[:2])
    assert locks.lock("G", "one", queues[:3]) == queues[:3]  # they are renewed
    assert locks.lock("H", "one", queues[:1]) == queues[:1]
    locks.unlock("G", "one", queues[:1])
    assert locks.lock("H", "one", queues[:2]) == queues[:2]
    mock_clock().jump(61)
    locks.expire()
    assert locks.lock("G", "two", queues[:4]) == queues[:4]
    with pytest.raises(LimitExceeded):
        locks.lock("new", "two", queues[:1])
    assert locks._groups.keys() == {"G"}


def test_a_body_that_names_too_many_queues_is_refused_unread() -> None:
    check_size(memoryview(bytes(MOST_BYTES)))
    with pytest.raises(LimitExceeded, match="lockBytes=4194304"):
        check_size(memoryview(bytes(MOST_BYTES + 1)))


async def test_expired_locks_are_removed_in_steps(nursery: trio.Nursery) -> None:
    locks, loop = OrderLocks(), BusyLoop(tick=0.000_1)
    nursery.start_soon(locks.run, loop.budget)
    await settle()
    locks.lock("G", "one", [MessageQueue(topic="T", broker_name="b", queue_id=each) for each in range(2000)])
    loop.keep_busy()
    for _ in range(8):
        mock_clock().jump(10)
        await settle()
    assert locks._groups == {}
    assert loop.rests
