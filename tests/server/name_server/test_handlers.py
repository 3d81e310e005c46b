from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.route import RegisterBrokerBody, encode_registration
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig, TopicConfigSerializeWrapper
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import BINARY, Client, Server, code_and_remark, serving

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
ORDER = "ORDER_TOPIC_CONFIG"


async def route(client: Client, topic: str, **options: Any) -> Any:
    """A route as JSON, or None when there is none."""
    answer = await client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, **options)
    if answer.header.code:
        expected = f"No topic route info in name server for the topic: {topic}{FAQ}"
        assert code_and_remark(answer) == (ResponseCode.TOPIC_NOT_EXIST, expected)
        return None
    return json.loads(bytes(answer.body))


# --- routes ---


async def test_the_route_of_a_topic_is_found(server: Server, broker: Client, name_server: Client) -> None:
    assert await route(name_server, "T") == {
        "brokerDatas": [{"brokerAddrs": {"0": str(server.advertised)}, "brokerName": "broker-a", "cluster": "C"}],
        "filterServerTable": {},
        "queueDatas": [
            {"brokerName": "broker-a", "perm": 6, "readQueueNums": 2, "topicSysFlag": 0, "writeQueueNums": 2}
        ],
    }


async def test_the_route_of_an_unknown_topic_is_not_found(name_server: Client) -> None:
    assert await route(name_server, "Unknown") is None


@pytest.mark.parametrize(
    ("version", "ext", "strict"),
    [
        (0, {}, False),
        (400, {}, False),
        (401, {}, True),
        (407, {}, True),
        (513, {}, True),
        (293, {"acceptStandardJsonOnly": "true"}, True),
        (293, {"acceptStandardJsonOnly": "false"}, False),
    ],
)
async def test_clients_that_understand_it_get_strict_json(
    broker: Client, name_server: Client, version: int, ext: dict[str, str], strict: bool
) -> None:
    answer = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T", **ext}, version=version)
    assert (b'{"0":"127' in bytes(answer.body)) is strict
    assert (b'{0:"127' in bytes(answer.body)) is not strict


async def test_a_binary_request_gets_a_binary_answer(broker: Client, name_server: Client) -> None:
    answer = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}, serialize_type=BINARY)
    assert (answer.header.code, answer.serialize_type) == (0, BINARY)


async def test_an_ordered_topics_route_has_its_order(broker: Client, name_server: Client) -> None:
    ext = {"namespace": ORDER, "key": "T", "value": "broker-a:2"}
    await name_server.request(RequestCode.PUT_KV_CONFIG, ext)
    assert (await route(name_server, "T"))["orderTopicConf"] == "broker-a:2"


async def test_clusters_are_listed(server: Server, name_server: Client) -> None:
    answer = await name_server.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    address = str(server.advertised)
    assert bytes(answer.body).decode() == (
        f'{{"brokerAddrTable":{{"broker-a":{{"brokerAddrs":{{0:"{address}"}},"brokerName":"broker-a","cluster":"C"}}}},'
        '"clusterAddrTable":{"C":["broker-a"]}}'
    )


async def test_the_names_of_all_topics_are_listed(broker: Client, name_server: Client) -> None:
    answer = await name_server.request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    names = json.loads(bytes(answer.body))["topicList"]
    assert {"T", "TBW102", "C", "broker-a"} <= set(names)


# --- brokers that register from elsewhere ---


def topic(name: str, queues: int = 4) -> TopicConfig:
    return TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues)


def registration(*topics: TopicConfig, version: int = 1, filters: tuple[str, ...] = ()) -> RegisterBrokerBody:
    wrapper = TopicConfigSerializeWrapper(
        topic_config_table={each.topic_name: each for each in topics},
        data_version=DataVersion(counter=version, timestamp=version),
    )
    return RegisterBrokerBody(topic_config_serialize_wrapper=wrapper, filter_server_list=filters)


def identity(name: str = "apache", broker_id: int = 0, port: int = 1) -> dict[str, str]:
    return {
        "brokerName": name,
        "brokerAddr": f"10.0.0.1:{port}",
        "clusterName": "C",
        "brokerId": str(broker_id),
    }


async def register(
    client: Client, body: RegisterBrokerBody | None, *, compressed: bool = False, crc: int | None = None, **who: Any
) -> Frame:
    data = b"" if body is None else encode_registration(body, compressed=compressed)
    who_text = identity(**who)
    ext = {
        **who_text,
        "haServerAddr": who_text["brokerAddr"] + "9",
        "compressed": str(compressed).lower(),
        "bodyCrc32": str(zlib.crc32(data) & 0x7FFFFFFF if crc is None else crc),
    }
    return await client.request(RequestCode.REGISTER_BROKER, ext, data)


@pytest.mark.parametrize("compressed", [False, True])
async def test_a_brokers_topics_get_a_route(name_server: Client, compressed: bool) -> None:
    answer = await register(name_server, registration(topic("A", 3), topic("B")), compressed=compressed)
    assert code_and_remark(answer) == (0, None)
    assert answer.header.ext == {}
    assert (await route(name_server, "A"))["queueDatas"] == [
        {"brokerName": "apache", "perm": 6, "readQueueNums": 3, "topicSysFlag": 0, "writeQueueNums": 3}
    ]
    assert await route(name_server, "B") is not None


async def test_a_topic_of_two_brokers_has_both_in_its_route(broker: Client, name_server: Client) -> None:
    await register(name_server, registration(topic("T")))
    found = await route(name_server, "T")
    assert sorted(each["brokerName"] for each in found["brokerDatas"]) == ["apache", "broker-a"]
    assert sorted(each["brokerName"] for each in found["queueDatas"]) == ["apache", "broker-a"]
    clusters = await name_server.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert b'"clusterAddrTable":{"C":["broker-a","apache"]}' in bytes(clusters.body)


async def test_filter_servers_are_in_the_route(name_server: Client) -> None:
    await register(name_server, registration(topic("A"), filters=("10.0.0.2:1",)))
    assert (await route(name_server, "A"))["filterServerTable"] == {"10.0.0.1:1": ["10.0.0.2:1"]}


async def test_a_slave_gets_the_address_of_its_master(name_server: Client) -> None:
    await register(name_server, registration(topic("A")))
    answer = await register(name_server, registration(topic("A")), broker_id=1, port=2)
    assert answer.header.ext == {"haServerAddr": "10.0.0.1:19", "masterAddr": "10.0.0.1:1"}
    assert (await route(name_server, "A"))["brokerDatas"][0]["brokerAddrs"] == {"0": "10.0.0.1:1", "1": "10.0.0.1:2"}


@pytest.mark.parametrize("compressed", [False, True])
async def test_a_body_with_another_crc_is_refused(name_server: Client, compressed: bool) -> None:
    answer = await register(name_server, registration(topic("A")), compressed=compressed, crc=12345)
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, "crc32 not match")
    assert answer.header.ext == {}
    assert await route(name_server, "A") is None


async def test_a_crc_of_0_is_not_checked(name_server: Client) -> None:
    assert (await register(name_server, registration(topic("A")), crc=0)).header.code == 0


@pytest.mark.parametrize(("compressed", "body"), [("true", b"no zlib"), ("false", b"no json"), ("true", b"{}")])
async def test_a_malformed_body_is_answered(name_server: Client, compressed: str, body: bytes) -> None:
    ext = {**identity(), "haServerAddr": "h", "compressed": compressed, "bodyCrc32": "0"}
    answer = await name_server.request(RequestCode.REGISTER_BROKER, ext, body)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark


async def test_an_old_broker_may_register_without_a_body(name_server: Client) -> None:
    assert (await register(name_server, None, crc=0)).header.code == 0
    clusters = await name_server.request(RequestCode.GET_BROKER_CLUSTER_INFO)
    assert b'"apache"' in bytes(clusters.body)


async def test_only_a_changed_version_changes_topics(name_server: Client) -> None:
    await register(name_server, registration(topic("A", 4), version=1))
    await register(name_server, registration(topic("A", 8), version=1))
    assert (await route(name_server, "A"))["queueDatas"][0]["readQueueNums"] == 4
    await register(name_server, registration(topic("A", 8), version=2))
    assert (await route(name_server, "A"))["queueDatas"][0]["readQueueNums"] == 8


@pytest.mark.parametrize(("version", "changed"), [(1, "false"), (2, "true")])
async def test_a_broker_may_query_whether_it_has_to_register_again(
    name_server: Client, version: int, changed: str
) -> None:
    await register(name_server, registration(topic("A"), version=1))
    body = encode_body(DataVersion(counter=version, timestamp=version))
    answer = await name_server.request(RequestCode.QUERY_DATA_VERSION, identity(), body)
    assert code_and_remark(answer) == (0, None)
    assert answer.header.ext == {"changed": changed}
    assert json.loads(bytes(answer.body)) == {"counter": 1, "timestamp": 1}


async def test_an_unknown_broker_has_to_register(name_server: Client) -> None:
    answer = await name_server.request(RequestCode.QUERY_DATA_VERSION, identity(), encode_body(DataVersion()))
    assert answer.header.ext == {"changed": "true"}
    assert answer.body == b""


async def test_a_broker_unregisters(name_server: Client) -> None:
    await register(name_server, registration(topic("A")))
    assert code_and_remark(await name_server.request(RequestCode.UNREGISTER_BROKER, identity())) == (0, None)
    assert await route(name_server, "A") is None
    assert code_and_remark(await name_server.request(RequestCode.UNREGISTER_BROKER, identity())) == (0, None)


async def test_a_broker_whose_connection_closes_is_removed_at_once(server: Server, name_server: Client) -> None:
    other = server.name_server()
    await register(other, registration(topic("A")))
    assert await route(name_server, "A") is not None
    other.close()
    await server.pass_time(0.1)
    assert await route(name_server, "A") is None


async def test_a_broker_that_does_not_register_again_is_removed_after_120_s(server: Server) -> None:
    apache = server.name_server()
    await register(apache, registration(topic("A")))
    for _ in range(11):
        await server.pass_time(10)
        await apache.request(RequestCode.GET_BROKER_CLUSTER_INFO)  # its connection stays open
    assert await route(server.name_server(), "A") is not None
    await server.pass_time(21)
    assert await route(server.name_server(), "A") is None
    assert await route(server.name_server(), "TBW102") is not None


async def test_a_query_of_its_version_keeps_a_broker(server: Server) -> None:
    apache = server.name_server()
    await register(apache, registration(topic("A"), version=1))
    for _ in range(20):
        await server.pass_time(10)
        body = encode_body(DataVersion(counter=1, timestamp=1))
        await apache.request(RequestCode.QUERY_DATA_VERSION, identity(), body)
    assert await route(apache, "A") is not None


# --- values ---


async def put(client: Client, namespace: str, key: str, value: str) -> None:
    ext = {"namespace": namespace, "key": key, "value": value}
    assert (await client.request(RequestCode.PUT_KV_CONFIG, ext)).header.code == 0


async def get(client: Client, namespace: str, key: str) -> Frame:
    return await client.request(RequestCode.GET_KV_CONFIG, {"namespace": namespace, "key": key})


async def test_a_value_is_stored(name_server: Client) -> None:
    await put(name_server, "N", "k", "值")
    answer = await get(name_server, "N", "k")
    assert (answer.header.code, answer.header.ext) == (0, {"value": "值"})


@pytest.mark.parametrize(("namespace", "key"), [("N", "other"), ("Other", "k")])
async def test_a_missing_value_is_not_found(name_server: Client, namespace: str, key: str) -> None:
    await put(name_server, "N", "k", "v")
    expected = f"No config item, Namespace: {namespace} Key: {key}"
    assert code_and_remark(await get(name_server, namespace, key)) == (ResponseCode.QUERY_NOT_FOUND, expected)


async def test_a_value_is_deleted_and_may_be_missing(name_server: Client) -> None:
    await put(name_server, "N", "k", "v")
    for _ in range(2):
        answer = await name_server.request(RequestCode.DELETE_KV_CONFIG, {"namespace": "N", "key": "k"})
        assert code_and_remark(answer) == (0, None)
    assert (await get(name_server, "N", "k")).header.code == ResponseCode.QUERY_NOT_FOUND


async def test_all_values_of_a_namespace_are_listed(name_server: Client) -> None:
    await put(name_server, "N", "a", "1")
    await put(name_server, "N", "b", "2")
    answer = await name_server.request(RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "N"})
    assert json.loads(bytes(answer.body)) == {"table": {"a": "1", "b": "2"}}
    answer = await name_server.request(RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "Other"})
    expected = "No config item, Namespace: Other"
    assert code_and_remark(answer) == (ResponseCode.QUERY_NOT_FOUND, expected)


async def test_registering_brokers_get_the_order_of_topics(name_server: Client) -> None:
    await put(name_server, ORDER, "A", "apache:4")
    answer = await register(name_server, registration(topic("A")))
    assert json.loads(bytes(answer.body)) == {"table": {"A": "apache:4"}}


async def test_values_survive_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await put(server.name_server(), "N", "k", "v")
    async with serving(tmp_path) as server:
        assert (await get(server.name_server(), "N", "k")).header.ext == {"value": "v"}


@pytest.mark.parametrize(
    "code",
    [
        RequestCode.REGISTER_BROKER,
        RequestCode.UNREGISTER_BROKER,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.PUT_KV_CONFIG,
    ],
)
async def test_a_request_without_its_fields_is_answered(name_server: Client, code: int) -> None:
    answer = await name_server.request(code)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark
