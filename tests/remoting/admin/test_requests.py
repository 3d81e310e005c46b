"""The requests of the administration functions, and how they read the answers of brokers of 4.x and 5.x."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rocketwire.remoting.admin import brokers, groups, name_servers, offsets, topics
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.errors import Refused
from rocketwire.wire.addresses import parse_address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import MessageQueue
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.online import ConsumerConnection, ResetOffsetBody
from rocketwire.wire.bodies.route import BrokerData, ClusterInfo, TopicList
from rocketwire.wire.bodies.topic import TopicConfig, TopicConfigSerializeWrapper
from rocketwire.wire.facts.codes import RequestCode
from tests.cli.endpoint import FakeAnswer, FakeServer, fake_server


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as started:
        yield started


@pytest.fixture
def broker(server: FakeServer) -> Iterator[BlockingConnection]:
    with BlockingConnection("broker", parse_address(server.address)) as connection:
        yield connection


def test_brokers_are_in_order_and_know_their_cluster() -> None:
    info = ClusterInfo(
        broker_addr_table={
            "b": BrokerData(cluster="D", broker_name="b", broker_addrs={1: "h:2", 0: "h:1"}),
            "a": BrokerData(broker_name="a", broker_addrs={1: "h:3"}),
        },
        cluster_addr_table={"C": ("a",), "D": ("b",)},
    )
    found = brokers.registered_brokers(info)
    assert [(each.cluster, each.name, each.broker_id, each.address) for each in found] == [
        ("C", "a", 1, "h:3"),
        ("D", "b", 0, "h:1"),
        ("D", "b", 1, "h:2"),
    ]
    assert [(each.address, each.is_master) for each in brokers.masters_only(found)] == [("h:3", False), ("h:1", True)]


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("Orders", "own"),
        ("%RETRY%g", "retry"),
        ("%DLQ%g", "dead-letter"),
        *((name, "system") for name in ("C", "a", "C_REPLY_TOPIC", "TBW102", "rmq_sys_x", "CHECKPOINT_TOPIC")),
    ],
)
def test_kinds_of_topics(topic: str, kind: str) -> None:
    info = ClusterInfo(
        broker_addr_table={"a": BrokerData(broker_name="a")},
        cluster_addr_table={"C": ("a",)},
    )
    assert topics.topic_kind(topic, info) == kind


def test_a_topic_of_a_broker_of_5x(server: FakeServer, broker: BlockingConnection) -> None:
    config = TopicConfig(topic_name="T", attributes={"message.type": "FIFO"})
    server.answers[RequestCode.GET_TOPIC_CONFIG] = lambda ext: (
        FakeAnswer(body=encode_body(config))
        if ext["topic"] == "T"
        else FakeAnswer(17, remark="No topic in this broker")
    )
    assert topics.topic_config(broker, "T") == config
    assert topics.topic_config(broker, "U") is None
    assert topics.knows_attributes(broker)


def test_a_topic_of_a_broker_of_4x(server: FakeServer, broker: BlockingConnection) -> None:
    config = TopicConfig(topic_name="T")
    table = TopicConfigSerializeWrapper(topic_config_table={"T": config})
    server.answers[RequestCode.GET_ALL_TOPIC_CONFIG] = lambda _: FakeAnswer(body=encode_body(table))
    assert topics.topic_config(broker, "T") == config
    assert topics.topic_config(broker, "U") is None
    assert not topics.knows_attributes(broker)


def test_a_message_type_is_a_change_of_an_attribute(server: FakeServer, broker: BlockingConnection) -> None:
    server.answers[RequestCode.UPDATE_AND_CREATE_TOPIC] = lambda _: FakeAnswer()
    config = TopicConfig(topic_name="T", attributes={"message.type": "FIFO", "other": "x"})
    topics.put_topic(broker, config)
    topics.put_topic(broker, config, message_type="DELAY")
    assert [ext.get("attributes") for _, ext in server.requests] == [None, "+message.type=DELAY"]


def test_attributes_of_a_group_are_not_written_back(
    server: FakeServer, broker: BlockingConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[bytes] = []
    send = broker.send

    def kept(request: ClientRequest) -> int:
        bodies.append(bytes(request.body))
        return send(request)

    monkeypatch.setattr(broker, "send", kept)
    server.answers[RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP] = lambda _: FakeAnswer()
    groups.put_group(broker, SubscriptionGroupConfig(group_name="g", attributes={"k": "v"}))
    assert b"attributes" not in bodies[0]
    assert b'"groupName":"g"' in bodies[0]


def test_a_group_without_members(server: FakeServer, broker: BlockingConnection) -> None:
    empty = encode_body(ConsumerConnection())
    server.answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = lambda ext: (
        FakeAnswer(body=empty) if ext["consumerGroup"] == "empty" else FakeAnswer(206, remark="not online")
    )
    assert list(groups.all_consumer_connections(broker, ["empty", "gone"])) == [None, None]


def test_deleting_offsets_is_requested_in_the_form_of_both_versions(
    server: FakeServer, broker: BlockingConnection
) -> None:
    server.answers[RequestCode.DELETE_SUBSCRIPTIONGROUP] = lambda _: FakeAnswer()
    groups.delete_group(broker, "g", offsets=True)
    ((_, ext),) = server.requests
    assert ext == {"groupName": "g", "removeOffset": "true", "cleanOffset": "true"}


def test_a_reset_is_requested_in_the_form_of_both_versions(server: FakeServer, broker: BlockingConnection) -> None:
    table = {MessageQueue(topic="T", broker_name="b", queue_id=1): 7}
    server.answers[RequestCode.INVOKE_BROKER_TO_RESET_OFFSET] = lambda _: FakeAnswer(
        body=encode_body(ResetOffsetBody(offset_table=table)), remark="not set any response code"
    )
    assert offsets.reset_to_time(broker, "g", "T", 5) == {1: 7}
    assert offsets.reset_queue(broker, "g", "T", 1, 7) == {1: 7}
    common = {"group": "g", "topic": "T", "isForce": "true"}
    assert [ext for _, ext in server.requests] == [
        {**common, "timestamp": "5"},
        {**common, "timestamp": "-1", "queueId": "1", "offset": "7"},
    ]
    server.answers[RequestCode.INVOKE_BROKER_TO_RESET_OFFSET] = lambda _: FakeAnswer(206, remark="Consumer not online")
    assert offsets.reset_to_time(broker, "g", "T", 5) is None
    server.answers[RequestCode.INVOKE_BROKER_TO_RESET_OFFSET] = lambda _: FakeAnswer(1, remark="not exist")
    with pytest.raises(Refused, match="not exist"):
        offsets.reset_to_time(broker, "g", "T", 5)


def test_offsets_of_queues(server: FakeServer, broker: BlockingConnection) -> None:
    server.answers |= {
        RequestCode.QUERY_CONSUMER_OFFSET: lambda ext: (
            FakeAnswer(22, remark="Not found") if ext["queueId"] == "0" else FakeAnswer(ext={"offset": "4"})
        ),
        RequestCode.GET_MIN_OFFSET: lambda ext: FakeAnswer(ext={"offset": ext["queueId"]}),
        RequestCode.GET_MAX_OFFSET: lambda ext: FakeAnswer(ext={"offset": f"{ext['queueId']}0"}),
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: lambda ext: FakeAnswer(ext={"offset": ext["timestamp"]}),
        RequestCode.UPDATE_CONSUMER_OFFSET: lambda _: FakeAnswer(),
    }
    assert offsets.committed_offset(broker, "g", "T", [0, 2]) == {0: None, 2: 4}
    assert offsets.end_offsets(broker, "T", [0, 2]) == {0: (0, 0), 2: (2, 20)}
    assert offsets.offsets_at(broker, "T", [1], 9) == {1: 9}
    offsets.commit_offset(broker, "g", "T", {0: 3})
    code, ext = server.requests[-1]
    assert (code, ext["queueId"], ext["commitOffset"]) == (RequestCode.UPDATE_CONSUMER_OFFSET, "0", "3")


def test_missing_values(server: FakeServer) -> None:
    server.answers[RequestCode.GET_KV_CONFIG] = lambda _: FakeAnswer(22, remark="No config item")
    server.answers[RequestCode.GET_KVLIST_BY_NAMESPACE] = lambda _: FakeAnswer(22, remark="No config item")
    with BlockingCluster(server.address) as cluster:
        assert name_servers.key_value(cluster, "n", "k") is None
        assert name_servers.key_values(cluster, "n") == {}


def test_all_name_servers_can_be_queried(server: FakeServer) -> None:
    topics_of_c = encode_body(TopicList(topic_list=("b", "a")))
    with fake_server() as other, BlockingCluster(f"{server.address};{other.address};{server.address}") as cluster:
        for each in (server, other):
            each.answers[RequestCode.GET_TOPICS_BY_CLUSTER] = lambda _: FakeAnswer(body=topics_of_c)
        assert sorted(map(str, cluster.name_servers)) == sorted([server.address, other.address])
        for address in cluster.name_servers:
            assert name_servers.topics_of_cluster(cluster.name_server(address), "C") == ["a", "b"]
            assert cluster.name_server(address) is cluster.name_server(address)
        assert [len(each.requests) for each in (server, other)] == [1, 1]
