"""After a suspension of the process no peer counts as silent: tests of `ExpiryRounds`."""

from __future__ import annotations

import math

import pytest
import trio

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.waiting import ExpiryRounds
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable, queues_of
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from tests.server.harness import FakePeer, Server, consumer, mock_clock, settle, subscription

STANDSTILL = 300.0
VERSION = DataVersion(counter=1, timestamp=1)


async def pass_time(seconds: int) -> None:
    for _ in range(seconds // 10):
        await settle()
        mock_clock().jump(10)
    await settle()


async def test_punctual_rounds_have_a_limit(nursery: trio.Nursery) -> None:
    rounds = ExpiryRounds()
    assert rounds.limit(120) == trio.current_time() - 120
    for late in (0.0, 10.0):
        nursery.start_soon(rounds.pause, 10)
        await settle()
        mock_clock().jump(10 + late)
        await settle()
        assert rounds.limit(120) == trio.current_time() - 120


async def test_after_a_standstill_there_is_no_limit_until_a_full_time_passed(nursery: trio.Nursery) -> None:
    rounds = ExpiryRounds()
    nursery.start_soon(rounds.pause, 10)
    await settle()
    mock_clock().jump(21)
    await settle()
    awake = trio.current_time()
    assert rounds.limit(120) == -math.inf
    mock_clock().jump(119)
    assert rounds.limit(120) == -math.inf
    mock_clock().jump(1)
    assert rounds.limit(120) == awake


async def test_groups_keep_their_members(nursery: trio.Nursery) -> None:
    groups = ClientGroups(lambda _: False)
    nursery.start_soon(groups.run, BackgroundBudget())
    peer, dead = FakePeer(), FakePeer("127.0.0.1:1001")
    for each in (peer, dead):
        groups.register_consumer(each, "one", consumer("G", subscription("T")), language="JAVA", version=407)
        groups.register_producer(each, "one", "P", language="JAVA", version=407)
    await settle()
    mock_clock().jump(STANDSTILL)
    await pass_time(30)
    groups.register_consumer(peer, "one", consumer("G", subscription("T")), language="JAVA", version=407)
    groups.register_producer(peer, "one", "P", language="JAVA", version=407)
    found = groups.consumer("G")
    assert found is not None
    assert set(found.members) == {peer, dead}
    await pass_time(110)
    assert set(found.members) == {peer}
    assert [each for each, _ in groups.producers("P")] == [peer]
    await pass_time(30)
    assert groups.consumer("G") is None
    assert groups.producers("P") == []


async def test_brokers_stay_registered(nursery: trio.Nursery) -> None:
    routes = RouteTable()
    nursery.start_soon(routes.run, BackgroundBudget())
    for name in ("a", "b"):
        routes.register(
            BrokerIdentity(cluster="C", name=name, broker_id=0, address=f"10.0.0.1:{name}"),
            queues=queues_of(name, {name: TopicConfig(topic_name=name)}),
            data_version=VERSION,
            ha_address="",
        )
    await settle()
    mock_clock().jump(STANDSTILL)
    await pass_time(30)
    assert not routes.changed(BrokerIdentity(cluster="C", name="a", broker_id=0, address="10.0.0.1:a"), VERSION)
    assert routes.topics() == ["a", "b"]
    await pass_time(110)
    assert routes.topics() == ["a"]
    await pass_time(30)
    assert routes.topics() == []


@pytest.mark.usefixtures("driver")
async def test_connections_stay_open(server: Server) -> None:
    lively, silent = server.broker(), server.broker()
    await server.pass_time(STANDSTILL, step=STANDSTILL)
    assert await lively.is_open()
    assert await silent.is_open()
    await server.pass_time(60)
    await lively.heartbeat("one")
    await server.pass_time(80)
    assert await silent.ended()
    assert await lively.is_open()
