"""What a broker knows of the queues of others."""

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


async def test_the_queues_of_others_are_known_after_the_first_question(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", broker_name="other") as server, trio.open_nursery() as nursery:
        broker = server.broker()
        await broker.create_topic("T", 3)
        routes = RemoteRoutes([server.name_server_address], "own", own)
        nursery.start_soon(routes.run)
        assert numbers(routes, "T") == {}  # its own alone would have a client give up the others'
        await settle()
        assert numbers(routes, "T") == {"own": 1, "other": 3}
        assert numbers(routes, "Theirs") == {}
        await broker.create_topic("Theirs", 2)
        await server.broker().create_topic("T", 4)
        await pass_time(server, 31)
        assert numbers(routes, "T") == {"own": 1, "other": 4}
        assert numbers(routes, "Theirs") == {"other": 2}
        await pass_time(server, 400)  # nobody asks any more
        await server.broker().create_topic("T", 5)
        assert numbers(routes, "T") == {}
        await settle()
        assert numbers(routes, "T") == {"own": 1, "other": 5}
        nursery.cancel_scope.cancel()


async def test_without_name_servers_elsewhere_there_are_its_own(tmp_path: Path) -> None:
    del tmp_path
    assert RemoteRoutes([], "own", own).queues("T") == OWN


async def test_its_own_are_given_when_no_name_server_answers(autojump_clock: trio.testing.MockClock) -> None:
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


async def test_another_name_server_is_asked_when_one_is_gone(tmp_path: Path) -> None:
    nobody = Address(host="127.0.0.1", port=free_port())
    async with trio.open_nursery() as nursery:
        async with serving(tmp_path / "store", broker_name="other") as server:
            await server.broker().create_topic("T", 3)
            routes = RemoteRoutes([nobody, server.name_server_address], "own", own)
            nursery.start_soon(routes.run)
            routes.queues("T")
            await server.pass_time(3, step=1)
            assert numbers(routes, "T") == {"own": 1, "other": 3}
        await settle()
        assert numbers(routes, "T") == {"own": 1, "other": 3}  # the last that is known
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


def test_numbers_are_those_that_a_topic_may_have() -> None:
    told = [queues("a", 4, 8), queues("b", -1, (1 << 31) - 1)]
    assert usable_queues("T", told) == [queues("a", 4, 8), queues("b", 0, MOST_QUEUES)]


def test_a_broker_has_them_once() -> None:
    assert usable_queues("T", [queues("a", 4), queues("a", 5)]) == [queues("a", 4)]


def test_all_brokers_together_have_so_many(caplog: pytest.LogCaptureFixture) -> None:
    told = [queues(str(number), MOST_QUEUES) for number in range(100)]
    assert sum(each.read_queue_nums for each in usable_queues("T", told)) == MOST_IN_ALL
    assert len(caplog.records) == 1
