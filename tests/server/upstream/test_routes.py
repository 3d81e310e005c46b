"""A broker's knowledge of the queues of others."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from rocketwire.server.topics.topics import MOST_QUEUES
from rocketwire.server.upstream.routes import MOST_IN_ALL, RemoteRoutes, usable_queues
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.route import QueueData
from tests.server.harness import Server, free_port, serving, settle

OWN = [QueueData(broker_name="own", read_queue_nums=1, write_queue_nums=1, perm=6)]


def own(topic: str) -> list[QueueData]:
    return OWN if topic != "Theirs" else []


def numbers(routes: RemoteRoutes, topic: str) -> dict[str, int]:
    return {each.broker_name: each.read_queue_nums for each in routes.queues(topic)}


async def pass_time(server: Server, seconds: float) -> None:
    await server.pass_time(seconds, step=5)


async def test_the_queues_of_others_are_known_after_the_first_query(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", broker_name="other") as server, trio.open_nursery() as nursery:
        broker = server.broker()
        await broker.create_topic("T", 3)
        routes = RemoteRoutes([server.name_server_address], "own", own)
        nursery.start_soon(routes.run)
        assert numbers(routes, "T") == {}  # with its own alone a client would drop the others'
        await settle()
        assert numbers(routes, "T") == {"own": 1, "other": 3}
        assert numbers(routes, "Theirs") == {}
        await broker.create_topic("Theirs", 2)
        await server.broker().create_topic("T", 4)
        await pass_time(server, 31)
        assert numbers(routes, "T") == {"own": 1, "other": 4}
        assert numbers(routes, "Theirs") == {"other": 2}
        await pass_time(server, 400)  # there are no queries any more
        await server.broker().create_topic("T", 5)
        assert numbers(routes, "T") == {}
        await settle()
        assert numbers(routes, "T") == {"own": 1, "other": 5}
        nursery.cancel_scope.cancel()


async def test_without_other_name_servers_there_are_its_own_queues(tmp_path: Path) -> None:
    del tmp_path
    assert RemoteRoutes([], "own", own).queues("T") == OWN


async def test_its_own_queues_are_returned_when_no_name_server_answers(autojump_clock: trio.testing.MockClock) -> None:
    del autojump_clock
    async with trio.open_nursery() as nursery:
        routes = RemoteRoutes([Address(host="127.0.0.1", port=free_port())], "own", own)
        nursery.start_soon(routes.run)
        assert routes.queues("T") == []
        await trio.sleep(4.9)
        assert routes.queues("T") == []
        await trio.sleep(0.2)
        assert routes.queues("T") == OWN
        nursery.cancel_scope.cancel()


async def test_another_name_server_is_queried_when_one_is_unreachable(tmp_path: Path) -> None:
    unreachable = Address(host="127.0.0.1", port=free_port())
    async with trio.open_nursery() as nursery:
        async with serving(tmp_path / "store", broker_name="other") as server:
            await server.broker().create_topic("T", 3)
            routes = RemoteRoutes([unreachable, server.name_server_address], "own", own)
            nursery.start_soon(routes.run)
            routes.queues("T")
            await server.pass_time(3, step=1)
            assert numbers(routes, "T") == {"own": 1, "other": 3}
        await settle()
        assert numbers(routes, "T") == {"own": 1, "other": 3}  # the last known route
        nursery.cancel_scope.cancel()


async def test_its_own_queues_are_not_counted_twice(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", broker_name="own") as server, trio.open_nursery() as nursery:
        await server.broker().create_topic("T", 3)
        routes = RemoteRoutes([server.name_server_address], "own", own)
        nursery.start_soon(routes.run)
        routes.queues("T")
        await settle()
        assert routes.queues("T") == OWN
        nursery.cancel_scope.cancel()


def queues(broker: str, read: int, write: int = 0) -> QueueData:
    return QueueData(broker_name=broker, read_queue_nums=read, write_queue_nums=write, perm=6)


def test_the_numbers_of_queues_are_limited_to_those_of_a_topic() -> None:
    reported = [queues("a", 4, 8), queues("b", -1, (1 << 31) - 1)]
    assert usable_queues("T", reported) == [queues("a", 4, 8), queues("b", 0, MOST_QUEUES)]


def test_a_broker_counts_once() -> None:
    assert usable_queues("T", [queues("a", 4), queues("a", 5)]) == [queues("a", 4)]


def test_the_queues_of_all_brokers_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    reported = [queues(str(number), MOST_QUEUES) for number in range(100)]
    assert sum(each.read_queue_nums for each in usable_queues("T", reported)) == MOST_IN_ALL
    assert len(caplog.records) == 1
