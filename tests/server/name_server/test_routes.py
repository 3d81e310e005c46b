from __future__ import annotations

import logging
from typing import Any

import pytest
import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.errors import RouteNotFound
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.name_server import routes
from rocketwire.server.name_server.routes import BrokerIdentity, BrokerRegistration, RouteTable, queues_of
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from tests.server.busy_loop import BusyLoop
from tests.server.harness import FakePeer, mock_clock, settle

V1, V2 = DataVersion(counter=1), DataVersion(counter=2)


def broker(name: str = "a", broker_id: int = 0, address: str = "") -> BrokerIdentity:
    return BrokerIdentity(cluster="C", name=name, broker_id=broker_id, address=address or f"{name}:{broker_id}")


def topics(*names: str, queues: int = 4) -> dict[str, TopicConfig]:
    return {name: TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues) for name in names}


def register(table: RouteTable, identity: BrokerIdentity, *names: str, **changes: Any) -> BrokerRegistration:
    count = changes.pop("queues", 4)
    values: dict[str, Any] = {
        "queues": None if count is None else queues_of(identity.name, topics(*names, queues=count)),
        "data_version": V1,
        "ha_address": f"ha-{identity.address}",
        **changes,
    }
    return table.register(identity, **values)


def queues(table: RouteTable, topic: str) -> dict[str, int]:
    return {each.broker_name: each.read_queue_nums for each in table.route(topic).queue_datas}


async def test_a_registered_brokers_topics_have_a_route() -> None:
    table = RouteTable()
    assert register(table, broker(), "T", "U") == BrokerRegistration()
    assert table.topics() == ["T", "U"]
    assert queues(table, "T") == {"a": 4}
    (data,) = table.route("T").broker_datas
    assert (data.broker_name, data.cluster, data.broker_addrs) == ("a", "C", {0: "a:0"})


async def test_other_topics_have_no_route() -> None:
    with pytest.raises(RouteNotFound, match=r"^No topic route info in name server for the topic: X\nSee "):
        RouteTable().route("X")


async def test_topics_change_with_their_version_only() -> None:
    table = RouteTable()
    register(table, broker(), "T")
    register(table, broker(), "T", "New", queues=8)
    assert (queues(table, "T"), queues(table, "New")) == ({"a": 4}, {"a": 8})
    register(table, broker(), "T", queues=8, data_version=V2)
    assert queues(table, "T") == {"a": 8}
    assert table.data_version("a:0") == V2
    assert table.data_version("elsewhere") is None


async def test_a_slave_changes_no_topics_and_gets_its_master() -> None:
    table = RouteTable()
    assert register(table, broker(broker_id=1), "T") == BrokerRegistration()
    assert table.topics() == []
    register(table, broker(), "T")
    registration = register(table, broker(broker_id=1), "T", queues=9)
    assert registration == BrokerRegistration(ha_server_address="ha-a:0", master_address="a:0")
    assert queues(table, "T") == {"a": 4}
    assert table.route("T").broker_datas[0].broker_addrs == {0: "a:0", 1: "a:1"}


async def test_an_address_has_one_id() -> None:
    table = RouteTable()
    register(table, broker(broker_id=1, address="x"), "T")
    register(table, broker(broker_id=0, address="x"), "T")
    assert table.route("T").broker_datas[0].broker_addrs == {0: "x"}


async def test_a_registration_without_topics_keeps_them() -> None:
    table = RouteTable()
    register(table, broker(), "T")
    register(table, broker(), queues=None, data_version=V2)
    assert queues(table, "T") == {"a": 4}


async def test_a_broker_that_unregisters_loses_its_queues() -> None:
    table = RouteTable()
    register(table, broker("a"), "T", "U")
    register(table, broker("b"), "T")
    table.unregister(broker("a"))
    assert queues(table, "T") == {"b": 4}
    assert table.topics() == ["T"]
    table.unregister(broker("a"))
    table.unregister(broker("never there"))
    assert list(table.clusters().broker_addr_table) == ["b"]


async def test_the_queues_stay_while_a_slave_is_registered() -> None:
    table = RouteTable()
    register(table, broker(), "T")
    register(table, broker(broker_id=1), "T")
    table.unregister(broker())
    assert queues(table, "T") == {"a": 4}
    assert table.route("T").broker_datas[0].broker_addrs == {1: "a:1"}
    assert register(table, broker(broker_id=1), "T") == BrokerRegistration()


async def test_an_address_that_another_broker_has_taken_over_is_not_removed() -> None:
    table = RouteTable()
    register(table, broker(address="old"), "T")
    register(table, broker(address="new"), "T")
    table.unregister(broker(address="old"))
    assert table.route("T").broker_datas[0].broker_addrs == {0: "new"}


async def test_a_wrong_name_in_an_unregistration_changes_no_route() -> None:
    table = RouteTable()
    register(table, broker("a"), "T")
    table.unregister(broker("b", address="a:0"))
    assert queues(table, "T") == {"a": 4}


async def test_brokers_are_removed_after_120_s_of_silence(nursery: trio.Nursery) -> None:
    table = RouteTable()
    nursery.start_soon(table.run, BackgroundBudget())
    register(table, broker("a"), "T")
    register(table, broker("b"), "U")
    for _ in range(12):
        await settle()
        mock_clock().jump(10)
        assert not table.changed(broker("b"), V1)
    await settle()
    assert table.topics() == ["T", "U"]
    mock_clock().jump(10)
    await settle()
    assert table.topics() == ["U"]


async def test_a_changed_version_is_reported() -> None:
    table = RouteTable()
    assert table.changed(broker(), V1)
    register(table, broker(), "T")
    assert not table.changed(broker(), V1)
    assert table.changed(broker(), V2)


async def test_the_numbers_of_brokers_and_their_topics_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_BROKERS", 2)
    monkeypatch.setattr(routes, "MOST_ROUTES", 5)
    table = RouteTable()
    one, other = FakePeer(), FakePeer()
    register(table, broker("a"), "T", "U", "V", peer=one)
    with pytest.raises(LimitExceeded, match=r"routes=5$"):
        register(table, broker("b"), "T", "U", "V", peer=other)
    assert queues(table, "T") == {"a": 4}
    register(table, broker("b"), "T", "U", peer=other)
    register(table, broker("b"), "T", "U", peer=other, data_version=V2, queues=7)
    assert queues(table, "T") == {"a": 4, "b": 7}
    with pytest.raises(LimitExceeded, match=r"brokers=2$"):
        register(table, broker("c"), peer=other)
    register(table, broker("own"), *"ABCDEFG")
    assert queues(table, "G") == {"own": 4}
    table.peer_closed(one)
    table.unregister(broker("own"))
    register(table, broker("c"), "V", "W", "X", peer=other)
    with pytest.raises(LimitExceeded, match=r"routes=5$"):
        register(table, broker("c"), "T", data_version=V2, peer=other)


async def test_a_broker_that_unregisters_removes_its_own_topics_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MOST_ROUTES", 4)
    table = RouteTable()
    peer = FakePeer()
    for _ in range(2):
        register(table, broker("a"), "T", "U", peer=peer)
        register(table, broker("b"), "T", "V", peer=peer)
        table.unregister(broker("a"))
        assert (sorted(table.topics()), queues(table, "T")) == (["T", "V"], {"b": 4})
    register(table, broker("a"), "T", "X", peer=peer)
    with pytest.raises(LimitExceeded):
        register(table, broker("a"), "T", "X", "Y", data_version=V2, peer=peer)
    table.peer_closed(peer)
    assert table.topics() == []


async def test_brokers_with_many_topics_are_removed_soon_unless_they_return(nursery: trio.Nursery) -> None:
    table, silent, back = RouteTable(), FakePeer("gone"), FakePeer("back")
    nursery.start_soon(table.run, BackgroundBudget())
    many = [f"T{number}" for number in range(9000)]
    register(table, broker("a"), *many, peer=silent)
    register(table, broker("b"), *many, peer=silent)
    table.peer_closed(silent)
    register(table, broker("b"), *many, peer=back)
    await settle()
    assert queues(table, "T1") == {"b": 4}


async def test_silent_brokers_are_removed_in_steps_with_one_log_line(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    table, loop = RouteTable(), BusyLoop(tick=0.000_1)
    nursery.start_soon(table.run, loop.budget)
    for number in range(50):
        register(table, broker(f"b{number}"), "T")
    caplog.clear()
    loop.keep_busy()
    for _ in range(14):
        await settle()
        mock_clock().jump(10)
    await settle()
    assert table.topics() == []
    assert loop.rests
    lines = [line for line in caplog.messages if "no registration" in line]
    assert [line.partition(",")[0] for line in lines] == ["50 brokers sent no registration"]
