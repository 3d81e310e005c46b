"""A repeated heartbeat has the effect that it has when it is processed in full."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.groups import ClientGroups, MembershipSnapshot
from rocketwire.server.clients.heartbeats import Heartbeats
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.request import Peer
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.consumer_filters import ConsumerFilterTable
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.store.tables.versioned_table import VersionedTable
from rocketwire.wire.bodies.client import HeartbeatData, MessageModel
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.header import Header
from tests.server.harness import (
    Clock,
    FakePeer,
    consumer,
    done,
    heartbeat,
    mock_clock,
    run,
    small_config,
    subscription,
)

HEADER = Header(code=34, opaque=1, version=407)


class Alone(ClientGroups):
    """Groups that process every heartbeat in full."""

    def refresh(self, peer: Any, standing: MembershipSnapshot) -> bool:
        return False


class Counting(Heartbeats):
    """Counts the heartbeats that are processed in full."""

    full = 0

    def _register(self, peer: Peer, header: Header, digest: bytes, data: HeartbeatData) -> Operation[None]:
        self.full += 1
        return super()._register(peer, header, digest, data)


class Broker:
    """The part of a broker that heartbeats change."""

    def __init__(self, folder: Path, *, repeats: bool = True) -> None:
        self.clock = Clock()
        self.live = LiveConfig(small_config(folder), self.clock)
        self.topics = BrokerTopics(TopicTable.open(folder / "topics.json", clock=self.clock), self.live[TopicKeys])
        self.groups = SubscriptionGroups(
            GroupTable.open(folder / "groups.json", clock=self.clock), self.live[TopicKeys], self.live[LimitKeys]
        )
        self.table = ConsumerFilterTable.open(folder / "filters.json")
        self.filters = ConsumerFilters(self.table, self.clock)
        self.clients = (ClientGroups if repeats else Alone)(self.groups.notifies)
        self.clients.emptied.subscribe(self.filters.unregister)
        self.peers = [FakePeer(str(number)) for number in range(3)]
        self.heartbeats = Counting(
            limit_keys=self.live[LimitKeys],
            topic_keys=self.live[TopicKeys],
            topics=self.topics,
            groups=self.groups,
            clients=self.clients,
            filters=self.filters,
        )

    @property
    def full(self) -> int:
        """How many heartbeats were processed in full."""
        return self.heartbeats.full

    def beat(self, peer: int, body: bytes, header: Header = HEADER) -> None:
        more = self.heartbeats.take(self.peers[peer], header, memoryview(body))
        if more is not None:
            done(more)

    def __getitem__(self, group: str) -> Any:
        return self.clients.consumer(group)


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


def plain(*subscriptions: Any, **changes: Any) -> bytes:
    return heartbeat("one", consumer("G", *(subscriptions or (subscription("T"),)), **changes), producers=["P"])


async def test_a_repeated_heartbeat_only_shows_that_the_client_lives(broker: Broker) -> None:
    broker.beat(0, plain())
    (peer,) = broker.peers[:1]
    joined = broker["G"].members[peer]
    for _ in range(3):
        mock_clock().jump(100)
        broker.beat(0, plain())
        broker.clients.expire()
    assert broker.full == 1
    assert broker["G"].members[peer] is joined
    assert [each for each, _ in broker.clients.producers("P")] == [peer]
    mock_clock().jump(121)
    broker.clients.expire()
    assert broker.clients.consumer("G") is None
    assert broker.clients.producers("P") == []
    broker.beat(0, plain())
    assert broker.full == 2
    assert broker["G"].client_ids() == ["one"]


@pytest.mark.parametrize(
    ("body", "header"),
    [
        (plain(subscription("T"), subscription("U")), HEADER),
        (plain(subscription("T", version=2)), HEADER),
        (plain(message_model=MessageModel.BROADCASTING), HEADER),
        (plain(), Header(code=34, opaque=1, version=408)),
        (plain(), Header(code=34, opaque=1, version=407, language="GO")),
    ],
)
async def test_a_changed_heartbeat_is_processed_in_full(broker: Broker, body: bytes, header: Header) -> None:
    for number in range(3):
        broker.beat(0, plain())
        broker.beat(0, body, header)
        assert broker.full == 2 * number + 2
    broker.beat(0, body, header)
    assert broker.full == 6


async def test_a_heartbeat_on_another_connection_is_processed_in_full(broker: Broker) -> None:
    broker.beat(0, plain())
    broker.beat(1, plain())
    assert broker.full == 2
    broker.beat(0, plain())
    broker.beat(1, plain())
    assert broker.full == 2
    assert broker.clients.producer_by_client_id("one") is broker.peers[1]
    broker.beat(0, plain())
    assert broker.clients.producer_by_client_id("one") is broker.peers[0]


async def test_after_changes_by_others_a_heartbeat_is_processed_in_full(broker: Broker) -> None:
    broker.beat(0, plain(subscription("T", "A")))
    broker.beat(1, plain(subscription("U")))
    assert list(broker["G"].subscriptions) == ["U"]
    broker.beat(0, plain(subscription("T", "A")))
    assert list(broker["G"].subscriptions) == ["T"]
    broker.beat(1, plain(subscription("T", "B", 2)))
    broker.beat(0, plain(subscription("T", "A")))
    assert broker["G"].subscriptions["T"].sub_string == "B"
    assert broker.full == 5


async def test_what_was_removed_meanwhile_is_created_again(broker: Broker) -> None:
    broker.beat(0, plain())
    broker.groups.remove("G")
    broker.beat(0, plain())
    assert broker.groups.table.get("G") is not None
    broker.topics.table.remove("%RETRY%G")
    broker.beat(0, plain())
    assert broker.topics.get("%RETRY%G") is not None
    broker.live.update({"autoCreateSubscriptionGroup": "false"})
    broker.beat(0, plain())
    broker.clients.unregister_consumer(broker.peers[0], "G")
    broker.beat(0, plain())
    assert broker["G"].client_ids() == ["one"]
    broker.clients.unregister_producer(broker.peers[0], "P")
    broker.beat(0, plain())
    assert len(broker.clients.producers("P")) == 1
    assert broker.full == 6
    broker.beat(0, plain())
    assert broker.full == 6


async def test_topics_and_groups_that_others_create_change_nothing(broker: Broker) -> None:
    broker.beat(0, plain())
    broker.topics.put(TopicConfig(topic_name="New"))
    broker.beat(1, heartbeat("two", consumer("H", subscription("U"))))
    broker.beat(0, plain())
    assert broker.full == 2


async def test_a_heartbeat_of_a_group_that_may_not_be_created_is_processed_in_full_until_the_group_exists(
    broker: Broker,
) -> None:
    broker.live.update({"autoCreateSubscriptionGroup": "false"})
    broker.beat(0, plain())
    broker.beat(0, plain())
    assert broker.full == 2
    broker.groups.put(SubscriptionGroupConfig(group_name="G"))
    for _ in range(2):
        broker.beat(0, plain())
    assert broker.full == 3
    assert broker.topics.get("%RETRY%G") is not None


async def test_a_heartbeat_with_a_compiled_filter_is_always_processed_in_full(broker: Broker) -> None:
    body = plain(subscription("T", "a > 1", expression_type="SQL92"))
    broker.beat(0, body)
    broker.beat(0, body)
    assert broker.full == 2


async def test_a_heartbeat_that_contradicts_itself_is_processed_each_time(broker: Broker) -> None:
    body = heartbeat("one", consumer("G", subscription("T")), consumer("G", subscription("U")))
    broker.beat(0, body)
    notified = len(broker.peers[0].pushed)
    broker.beat(0, body)
    assert len(broker.peers[0].pushed) > notified


async def test_clients_that_left_are_forgotten(broker: Broker) -> None:
    broker.beat(0, plain())
    broker.beat(1, heartbeat("stranger"))
    assert broker.clients.remembered(broker.peers[0]) is not None
    assert broker.clients.remembered(broker.peers[1]) is None
    broker.clients.peer_closed(broker.peers[0])
    broker.clients.peer_closed(broker.peers[0])
    assert broker.clients.remembered(broker.peers[0]) is None
    assert broker.clients._joined == {}


async def test_a_malformed_heartbeat_is_refused_each_time(broker: Broker) -> None:
    broker.beat(0, plain())
    for _ in range(2):
        with pytest.raises(BodyInvalid):
            broker.beat(0, b"[")
    broker.beat(0, plain())
    assert broker.full == 1


# --- with repeats = without ---

T, A, B, U = subscription("T"), subscription("T", "A", 2), subscription("T", "B", 3), subscription("U")
SQL = subscription("T", "a > 1", 4, expression_type="SQL92")
subscriptions = st.sampled_from([(T,), (A,), (B,), (T, U), (U, A), (U,), (), (T,), (A,), (SQL,), (U, SQL)])
consumers = st.builds(
    consumer,
    st.sampled_from(["G", "G", "G", "H"]),
    message_model=st.sampled_from([MessageModel.CLUSTERING] * 3 + [MessageModel.BROADCASTING]),
    subscription_data_set=subscriptions,
)
bodies = st.builds(
    lambda client_id, consumers, producers: heartbeat(client_id, *consumers, producers=producers),
    st.sampled_from(["one", "one", "two"]),
    st.lists(consumers, min_size=1, max_size=2),
    st.lists(st.sampled_from(["P", "P", "Q"]), max_size=2),
)
peers = st.integers(0, 2)
names = st.sampled_from(["G", "G", "H"])
beat = st.tuples(st.just("beat"), peers, bodies, st.sampled_from([HEADER] * 3 + [Header(code=34, opaque=9)]))
changes = st.one_of(
    beat,
    beat,
    st.tuples(st.just("leave consumer"), peers, names),
    st.tuples(st.just("leave producer"), peers, st.sampled_from(["P", "P", "Q"])),
    st.tuples(st.just("close"), peers),
    st.tuples(st.just("wait"), st.sampled_from([1, 50, 121])),
    st.tuples(st.just("remove group"), names),
    st.tuples(st.just("remove topic"), names),
    st.tuples(st.just("put topic"), names),
    st.tuples(st.just("configure"), st.booleans()),
)


@settings(max_examples=200, deadline=None)
@given(st.tuples(bodies, bodies, bodies), st.lists(st.tuples(changes, st.permutations(range(3))), max_size=6))
def test_a_repeated_heartbeat_has_the_effect_of_a_full_one(first: tuple[bytes, ...], history: list[Any]) -> None:
    run(_compare, first, history)


async def _compare(first: tuple[bytes, ...], history: list[Any]) -> None:
    """After each change all clients repeat their last heartbeat; both brokers must have equal states at each step."""
    with _two() as both:
        last: dict[int, Any] = dict.fromkeys(range(3), None)
        for peer, body in enumerate(first):
            last[peer] = (body, HEADER)
            _both(both, ("beat", peer, body, HEADER))
            _both(both, ("beat", peer, body, HEADER))
        for change, order in history:
            _both(both, change)
            if change[0] == "beat":
                last[change[1]] = change[2:]
            for peer in order:
                _both(both, ("beat", peer, *last[peer]))
        assert both[0].full <= both[1].full


def _both(brokers: tuple[Broker, Broker], step: Any) -> None:
    if step[0] == "wait":
        mock_clock().jump(step[1])
    for broker in brokers:
        _do(broker, step)
    assert _state(brokers[0]) == _state(brokers[1]), step


@contextlib.contextmanager
def _two() -> Iterator[tuple[Broker, Broker]]:
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(VersionedTable, "persist", lambda _: None)  # slow, and not the subject of this test
        yield Broker(Path(one)), Broker(Path(other), repeats=False)


def _do(broker: Broker, step: Any) -> None:
    match step:
        case "beat", peer, body, header:
            broker.beat(peer, body, header)
        case "wait", seconds:
            broker.clock.now += seconds * 1000
            broker.clients.expire()
        case "leave consumer", peer, group:
            broker.clients.unregister_consumer(broker.peers[peer], group)
        case "leave producer", peer, group:
            broker.clients.unregister_producer(broker.peers[peer], group)
        case "close", peer:
            broker.clients.peer_closed(broker.peers[peer])
        case "remove group", group:
            broker.groups.remove(group)
        case "remove topic", group:
            broker.topics.table.remove(f"%RETRY%{group}")
        case "put topic", name:
            broker.topics.put(TopicConfig(topic_name=name, read_queue_nums=1, write_queue_nums=1))
        case "configure", creates:
            broker.live.update({"autoCreateSubscriptionGroup": "true" if creates else "false"})


def _state(broker: Broker) -> Any:
    """All visible state that heartbeats change."""
    clients = broker.clients

    def of(peer: Any) -> str | None:
        return None if peer is None else peer.name

    def members(held: Any) -> Any:
        return [(of(peer), vars_of(member)) for peer, member in held]

    def vars_of(value: Any) -> Any:
        return {name: getattr(value, name) for name in value.__slots__}

    groups = {}
    for name in ("G", "H"):
        group = clients.consumer(name)
        if group is not None:
            groups[name] = {**vars_of(group), "members": members(group.members.items())}
    return (
        groups,
        {name: members(clients.producers(name)) for name in ("P", "Q")},
        [of(clients.producer_by_client_id(each)) for each in ("one", "two")],
        [of(clients.consumer_by_client_id(name, each)) for name in ("G", "H") for each in ("one", "two")],
        [peer.pushed for peer in broker.peers],
        list(broker.table),
        broker.topics.table.configs,
        broker.topics.table.data_version,
        broker.groups.table.configs,
        broker.groups.table.data_version,
    )
