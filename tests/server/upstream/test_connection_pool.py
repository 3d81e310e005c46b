"""Connections to other servers that are not shared use descriptors that are counted."""

from __future__ import annotations

import socket

import pytest
import trio

from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.server.upstream.connecting import RequestNotSent
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address
from tests.server.harness import free_port, settle


async def test_each_uses_one_descriptor_until_it_has_ended(nursery: trio.Nursery) -> None:
    budget = DescriptorBudget(2)
    pool = ConnectionPool(dialled=budget)
    nursery.start_soon(pool.run)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = Address(host="127.0.0.1", port=server.getsockname()[1])
        first, _ = await pool.start_connecting(address), await pool.start_connecting(address)
        with pytest.raises(RequestNotSent, match="no descriptors are left"):
            await pool.start_connecting(address)
        await pool.get_connection(address)  # a shared one is not counted
        first.close()
        await settle()
        assert budget.taken == 1
        await pool.start_connecting(address)
    with pytest.raises(RequestNotSent, match="no descriptors"):
        await pool.start_connecting(address)


async def test_a_connection_that_fails_uses_none(nursery: trio.Nursery) -> None:
    budget = DescriptorBudget(1)
    pool = ConnectionPool(dialled=budget)
    nursery.start_soon(pool.run)
    with pytest.raises(RequestNotSent, match="cannot be reached"):
        await pool.start_connecting(Address(host="127.0.0.1", port=free_port()))
    assert budget.taken == 0


async def test_a_task_that_fails_is_logged(nursery: trio.Nursery, caplog: pytest.LogCaptureFixture) -> None:
    pool = ConnectionPool()
    nursery.start_soon(pool.run)
    await settle()

    async def fail() -> None:
        raise ZeroDivisionError

    assert pool.start(fail)
    await settle()
    assert [each.message for each in caplog.records] == ["a task that asks other servers"]
