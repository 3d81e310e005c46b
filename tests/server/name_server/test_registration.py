from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.errors import RouteNotFound
from rocketwire.server.name_server.registration import Registration
from rocketwire.server.name_server.routes import BrokerIdentity, RouteTable, queues_of
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire.bodies.route import QueueData
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig
from tests.server.harness import Clock, mock_clock, settle, small_config


class Setup:
    def __init__(self, folder: Path) -> None:
        clock = Clock()
        self.live = LiveConfig(small_config(folder), clock)
        self.topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=clock), self.live[TopicKeys])
        self.topics.put(TopicConfig(topic_name="T", perm=7))
        self.routes = RouteTable()
        self.registration = Registration(
            BrokerIdentity(cluster="C", name="b", broker_id=0, address="h:1"),
            ha_address="h:2",
            routes=self.routes,
            topics=self.topics,
            broker_keys=self.live[BrokerKeys],
        )
        self.topics.changed.subscribe(self.registration.register)

    def perm(self, topic: str = "T") -> int:
        return self.routes.route(topic).queue_datas[0].perm


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


async def test_the_broker_is_in_the_route_from_the_start_to_the_end(setup: Setup) -> None:
    setup.registration.register()
    assert setup.perm() == 7
    setup.registration.unregister()
    with pytest.raises(RouteNotFound):
        setup.perm()


async def test_a_new_topic_is_registered_at_once(setup: Setup) -> None:
    setup.registration.register()
    setup.topics.put(TopicConfig(topic_name="New"))
    assert setup.perm("New") == 6


@pytest.mark.parametrize(("broker", "left"), [("6", 7), ("4", 4), ("2", 2)])
async def test_the_brokers_permission_limits_those_of_its_topics(setup: Setup, broker: str, left: int) -> None:
    setup.registration.register()
    setup.live.update({"brokerPermission": broker})
    setup.topics.permission_changed()
    assert setup.perm() == left


async def test_registering_is_repeated_before_it_expires(setup: Setup, nursery: trio.Nursery) -> None:
    nursery.start_soon(setup.routes.run, BackgroundBudget())
    nursery.start_soon(setup.registration.run)
    for _ in range(30):
        await settle()
        mock_clock().jump(10)
    await settle()
    assert setup.perm() == 7


@pytest.fixture
def registered_topics(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The topics of each registration."""
    registrations: list[list[str]] = []
    register = RouteTable.register

    def noted(self: RouteTable, *args: Any, queues: Mapping[str, QueueData], **options: Any) -> Any:
        registrations.append(list(queues))
        return register(self, *args, queues=queues, **options)

    monkeypatch.setattr(RouteTable, "register", noted)
    return registrations


async def test_only_changes_are_registered(
    setup: Setup, registered_topics: list[list[str]], nursery: trio.Nursery
) -> None:
    setup.registration.register()
    assert registered_topics == [["T"]]
    setup.topics.put(TopicConfig(topic_name="New"))
    setup.topics.put(TopicConfig(topic_name="T", perm=4))
    assert registered_topics[1:] == [["New"], ["T"]]
    assert (setup.perm(), setup.perm("New")) == (4, 6)
    nursery.start_soon(setup.registration.run)
    await settle()
    assert registered_topics[3:] == [[]]
    setup.topics.permission_changed()
    assert registered_topics[4:] == [["T", "New"]]


async def test_all_topics_are_registered_again_at_a_name_server_that_lost_them(
    setup: Setup, registered_topics: list[list[str]]
) -> None:
    setup.registration.register()
    identity = BrokerIdentity(cluster="C", name="b", broker_id=0, address="h:1")
    setup.routes.unregister(identity)
    setup.topics.put(TopicConfig(topic_name="New"))
    assert (registered_topics[1:], setup.perm()) == ([["T", "New"]], 7)
    # Another broker of the same name replaces it, and unregisters.
    other = BrokerIdentity(cluster="C", name="b", broker_id=0, address="h:9")
    setup.routes.register(other, queues={}, data_version=setup.topics.table.data_version, ha_address="")
    setup.routes.unregister(other)
    with pytest.raises(RouteNotFound):
        setup.perm()
    setup.registration.register(())
    assert (setup.perm(), setup.perm("New")) == (7, 6)


async def test_a_foreign_registration_of_the_address_is_replaced(setup: Setup) -> None:
    setup.registration.register()
    identity = BrokerIdentity(cluster="C", name="b", broker_id=0, address="h:1")
    foreign = queues_of("b", {"T": TopicConfig(topic_name="T", perm=2)})
    setup.routes.register(identity, queues=foreign, data_version=DataVersion(counter=99), ha_address="")
    assert setup.perm() == 2
    setup.registration.register(())
    assert setup.perm() == 7
