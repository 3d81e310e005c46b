from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.config.java_properties import parse_java_properties
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import BINARY, Client, Server, code_and_remark, serving, topic_ext


async def topics(client: Client) -> dict[str, Any]:
    answer = await client.request(RequestCode.GET_ALL_TOPIC_CONFIG)
    assert answer.header.code == 0
    found: dict[str, Any] = json.loads(bytes(answer.body))
    return found


async def config(client: Client) -> dict[str, str]:
    answer = await client.request(RequestCode.GET_BROKER_CONFIG)
    assert answer.header.code == 0
    return parse_java_properties(bytes(answer.body).decode())


# --- topics ---


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_topic_is_created_as_requested(broker: Client, serialize_type: int) -> None:
    ext = topic_ext("Made", read_queue_nums=3, write_queue_nums=2, perm=4, topic_filter_type="MULTI_TAG", order=True)
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_TOPIC, ext, serialize_type=serialize_type)
    assert code_and_remark(answer) == (0, None)
    assert (await topics(broker))["topicConfigTable"]["Made"] == {
        "order": True,
        "perm": 4,
        "readQueueNums": 3,
        "topicFilterType": "MULTI_TAG",
        "topicName": "Made",
        "topicSysFlag": 0,
        "writeQueueNums": 2,
    }


async def test_a_topic_and_its_route_change_at_once(broker: Client, name_server: Client) -> None:
    version = (await topics(broker))["dataVersion"]["counter"]
    await broker.create_topic("T", 7)
    assert (await topics(broker))["dataVersion"]["counter"] == version + 1
    route = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert json.loads(bytes(route.body))["queueDatas"][0]["readQueueNums"] == 7


async def test_topics_survive_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.broker().create_topic("Kept", 3)
    async with serving(tmp_path) as server:
        client = server.broker()
        assert (await topics(client))["topicConfigTable"]["Kept"]["readQueueNums"] == 3
        assert (
            await server.name_server().request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "Kept"})
        ).header.code == 0


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        ("a b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, "The specified topic is longer than topic max length."),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("rmq_sys_own", "The topic[rmq_sys_own] is conflict with system topic."),
        ("C", "The topic[C] is conflict with system topic."),
        ("broker-a", "The topic[broker-a] is conflict with system topic."),
        ("C_REPLY_TOPIC", "The topic[C_REPLY_TOPIC] is conflict with system topic."),
    ],
)
async def test_bad_names_are_refused_with_apaches_remarks(broker: Client, topic: str, remark: str) -> None:
    before = (await topics(broker))["topicConfigTable"]
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(topic))
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, remark)
    assert (await topics(broker))["topicConfigTable"] == before


async def test_an_unknown_filter_type_is_refused(broker: Client) -> None:
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("New", topic_filter_type="ALL"))
    expected = "topicFilterType [ALL]: SINGLE_TAG or MULTI_TAG"
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, expected)


@pytest.mark.parametrize(
    ("queues", "remark"),
    [
        (16_385, "topic[New] has 16385 queues, 16384 are the most"),
        (2**31 - 1, "topic[New] has 2147483647 queues, 16384 are the most"),
    ],
)
async def test_a_topic_with_too_many_queues_is_refused(broker: Client, queues: int, remark: str) -> None:
    answer = await broker.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext("New", queues))
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, remark)
    assert "New" not in (await topics(broker))["topicConfigTable"]
    await broker.create_topic("New", 16_384)


# --- configuration ---


async def test_a_changed_key_applies_at_once(broker: Client) -> None:
    assert (await config(broker))["maxMessageSize"] == "4194304"
    answer = await broker.set_config(maxMessageSize=3, autoCreateTopicEnable="false")
    assert code_and_remark(answer) == (0, None)
    now = await config(broker)
    assert (now["maxMessageSize"], now["autoCreateTopicEnable"]) == ("3", "false")
    assert (await broker.send("T", b"four")).header.code == ResponseCode.MESSAGE_ILLEGAL


async def test_each_change_increases_the_version(server: Server, broker: Client) -> None:
    async def version() -> dict[str, int]:
        answer = await broker.request(RequestCode.GET_BROKER_CONFIG)
        assert answer.header.ext is not None
        found: dict[str, int] = json.loads(answer.header.ext["version"])
        return found

    first = await version()
    server.clock.now += 5
    await broker.set_config(maxMessageSize=3)
    second = await version()
    assert second["counter"] == first["counter"] + 1
    assert second["timestamp"] == first["timestamp"] + 5


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("maxMessageSize=many", "maxMessageSize=many: expected a whole number from 1 to 16711680"),
        ("brokerPermission=7", "brokerPermission=7: expected a whole number from 2 to 6"),
        ("autoCreateTopicEnable=maybe", "autoCreateTopicEnable=maybe: expected true or false"),
        ("brokerName=b", "brokerName=b: read at the start only; restart the server with it"),
        ("nonsense=1", "nonsense=1: unknown key"),
    ],
)
async def test_a_change_with_an_invalid_value_is_refused_whole(broker: Client, text: str, remark: str) -> None:
    before = await config(broker)
    answer = await broker.request(RequestCode.UPDATE_BROKER_CONFIG, body=f"defaultQueryMaxNum=5\n{text}\n".encode())
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark is not None
    assert answer.header.remark.startswith(remark)
    assert await config(broker) == before


async def test_keys_of_apaches_brokers_only_change_nothing_and_are_logged(
    broker: Client, caplog: pytest.LogCaptureFixture
) -> None:
    changes = b"highSpeedMode=true\ndefaultQueryMaxNum=5\nenablePopLog=x\n"
    answer = await broker.request(RequestCode.UPDATE_BROKER_CONFIG, body=changes)
    assert code_and_remark(answer) == (0, None)
    assert (await config(broker))["defaultQueryMaxNum"] == "5"
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{key} was not changed: known to Apache, has no effect here" for key in ("highSpeedMode", "enablePopLog")
    ]


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"key=\\u12"])
async def test_a_malformed_body_is_answered(broker: Client, body: bytes) -> None:
    answer = await broker.request(RequestCode.UPDATE_BROKER_CONFIG, body=body)
    assert answer.header.code == (ResponseCode.SUCCESS if body == b"" else ResponseCode.SYSTEM_ERROR)


@pytest.mark.parametrize(("permission", "perm"), [(4, 4), (2, 2), (6, 6)])
async def test_the_brokers_permission_limits_its_routes(
    broker: Client, name_server: Client, permission: int, perm: int
) -> None:
    await broker.set_config(brokerPermission=permission)
    route = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert json.loads(bytes(route.body))["queueDatas"][0]["perm"] == perm


async def test_the_route_is_restored_with_the_permission(broker: Client, name_server: Client) -> None:
    for permission in (4, 6):
        await broker.set_config(brokerPermission=permission)
    route = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert json.loads(bytes(route.body))["queueDatas"][0]["perm"] == 6


async def test_the_configuration_has_the_addresses_of_the_servers(server: Server, broker: Client) -> None:
    found = await config(broker)
    assert found["brokerName"] == "broker-a"
    assert found["brokerIP1"] == "127.0.0.1"
    assert found["storePathRootDir"] == server.config.store.store_path_root_dir


async def test_the_configuration_has_the_keys_that_tools_need(broker: Client) -> None:
    answer = await broker.request(RequestCode.GET_BROKER_CONFIG)
    lines = bytes(answer.body).decode().splitlines()
    assert {"brokerRole=ASYNC_MASTER", "filterServerNums=0", "slaveReadEnable=false", "useTLS=false"} <= set(lines)
