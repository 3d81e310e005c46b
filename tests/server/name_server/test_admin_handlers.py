"""Administration of the name server, with the answers of Apache's 4.9.7."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.config.java_properties import parse_java_properties
from rocketwire.server.name_server.admin_handlers import MOST_CONFIG
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import BINARY, JSON, Client, Server, code_and_remark, serving


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    async with serving(tmp_path / "store") as running:
        yield running


@pytest.fixture
async def client(server: Server) -> Client:
    """A broker with T."""
    made = server.broker()
    await made.create_topic("T", 2)
    return made


@pytest.fixture
def name_server(server: Server, client: Client) -> Client:
    del client  # its topic exists
    return server.name_server()


async def perm(name_server: Client, topic: str) -> int | None:
    answer = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    return json.loads(bytes(answer.body))["queueDatas"][0]["perm"] if answer.header.code == 0 else None


async def listed(name_server: Client, code: RequestCode, ext: dict[str, str] | None = None) -> Any:
    answer = await name_server.request(code, ext)
    assert code_and_remark(answer) == (0, None)
    return json.loads(bytes(answer.body))


@pytest.mark.parametrize("way", [JSON, BINARY])
async def test_write_permission_is_removed_from_a_brokers_topics(client: Client, name_server: Client, way: int) -> None:
    own = {"brokerName": "broker-a"}
    count = str(len((await listed(name_server, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))["topicList"]))
    for _ in range(2):  # counted a second time
        answer = await name_server.request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, own, serialize_type=way)
        assert (code_and_remark(answer), answer.header.ext) == ((0, None), {"wipeTopicCount": count})
        assert [await perm(name_server, topic) for topic in ("T", "TBW102")] == [4, 5]
    await client.create_topic("U")  # only the changed topic is registered
    assert [await perm(name_server, topic) for topic in ("T", "U")] == [4, 6]
    await client.create_topic("T", 3)
    assert await perm(name_server, "T") == 6
    answer = await name_server.request(RequestCode.ADD_WRITE_PERM_OF_BROKER, own, serialize_type=way)
    assert (code_and_remark(answer), answer.header.ext) == ((0, None), {"addTopicCount": str(int(count) + 1)})
    assert [await perm(name_server, topic) for topic in ("T", "TBW102")] == [6, 6]


async def test_periodic_registration_keeps_the_permission(server: Server, name_server: Client) -> None:
    await name_server.request(RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "broker-a"})
    await server.pass_time(100)
    assert await perm(name_server, "T") == 4


@pytest.mark.parametrize("ext", [{"brokerName": "unknown"}, {}])
async def test_an_unknown_broker_has_no_topics(name_server: Client, ext: dict[str, str]) -> None:
    for code, field in (
        (RequestCode.WIPE_WRITE_PERM_OF_BROKER, "wipeTopicCount"),
        (RequestCode.ADD_WRITE_PERM_OF_BROKER, "addTopicCount"),
    ):
        answer = await name_server.request(code, ext)
        assert (code_and_remark(answer), answer.header.ext) == ((0, None), {field: "0"})
    assert await perm(name_server, "T") == 6


@pytest.mark.parametrize(
    ("ext", "goes"),
    [
        ({"topic": "T"}, True),
        ({"topic": "T", "clusterName": "C"}, True),
        ({"topic": "T", "clusterName": ""}, True),
        ({"topic": "T", "clusterName": "other"}, False),
        ({"topic": "nowhere"}, False),
        ({}, False),
    ],
)
async def test_a_topics_route_is_deleted(
    server: Server, client: Client, name_server: Client, ext: dict[str, str], goes: bool
) -> None:
    assert code_and_remark(await name_server.request(RequestCode.DELETE_TOPIC_IN_NAMESRV, ext)) == (0, None)
    await server.pass_time(100)
    assert await perm(name_server, "T") == (None if goes else 6)
    topics = (await listed(name_server, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))["topicList"]
    assert ("T" in topics) is not goes
    await client.create_topic("T")  # registers it again
    assert await perm(name_server, "T") == 6


async def test_topics_of_a_cluster_are_listed(name_server: Client) -> None:
    everything = await listed(name_server, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    assert await listed(name_server, RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": "C"}) == everything
    for ext in ({"cluster": "other"}, {}):
        assert await listed(name_server, RequestCode.GET_TOPICS_BY_CLUSTER, ext) == {"topicList": []}


async def test_system_topics_are_listed(server: Server, name_server: Client) -> None:
    expected = {"brokerAddr": str(server.advertised), "topicList": ["C", "broker-a"]}
    assert await listed(name_server, RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS) == expected


async def test_topics_of_units_are_listed(client: Client, name_server: Client) -> None:
    for flags in range(4):
        await client.create_topic(f"F{flags}", topic_sys_flag=flags)
    assert await listed(name_server, RequestCode.GET_UNIT_TOPIC_LIST) == {"topicList": ["F1", "F3"]}
    assert await listed(name_server, RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST) == {"topicList": ["F2", "F3"]}
    assert await listed(name_server, RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST) == {"topicList": ["F2"]}


# --- its configuration ---


async def settings(name_server: Client) -> dict[str, str]:
    answer = await name_server.request(RequestCode.GET_NAMESRV_CONFIG)
    assert code_and_remark(answer) == (0, None)
    return parse_java_properties(bytes(answer.body).decode())


async def test_the_keys_equal_apaches(server: Server, name_server: Client, tmp_path: Path) -> None:
    found = await settings(name_server)
    assert len(found) == 20
    assert found["productEnvName"] == "center"
    assert found["listenPort"] == str(server.name_server_address.port)
    assert found["kvConfigPath"] == str(tmp_path / "store" / "config" / "kvConfig.json")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", {}),
        ("productEnvName = x y ", {"productEnvName": "x y"}),
        ("serverWorkerThreads=9\nclusterTest:true", {"serverWorkerThreads": "9", "clusterTest": "true"}),
        ("serverWorkerThreads=nine\nclusterTest=maybe\nlistenPort=-1\nunknown=1\nlone", {}),
        ("listenPort=99999999999", {}),
    ],
)
async def test_a_changed_key_is_shown(name_server: Client, text: str, changed: dict[str, str]) -> None:
    """Unknown keys and values of the wrong type are ignored, as by Apache's."""
    before = await settings(name_server)
    answer = await name_server.request(RequestCode.UPDATE_NAMESRV_CONFIG, body=text.encode())
    assert (code_and_remark(answer), answer.header.ext) == ((0, None), None)
    assert await settings(name_server) == {**before, **changed}


@pytest.mark.parametrize("name", ["configStorePath", "kvConfigPath"])
async def test_paths_cannot_be_changed(name_server: Client, name: str) -> None:
    before = await settings(name_server)
    body = f"productEnvName=x\n{name}=/elsewhere".encode()
    answer = await name_server.request(RequestCode.UPDATE_NAMESRV_CONFIG, body=body)
    assert code_and_remark(answer) == (ResponseCode.NO_PERMISSION, "Can not update config path")
    assert await settings(name_server) == before


async def test_a_malformed_or_too_long_change_is_refused(name_server: Client) -> None:
    answer = await name_server.request(RequestCode.UPDATE_NAMESRV_CONFIG, body=b"a=\\u12")
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    answer = await name_server.request(RequestCode.UPDATE_NAMESRV_CONFIG, body=b"#" * (MOST_CONFIG + 1))
    assert answer.header.code == ResponseCode.SYSTEM_BUSY


async def test_routes_have_the_order_configuration_if_that_is_on(name_server: Client) -> None:
    ext = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:2"}
    await name_server.request(RequestCode.PUT_KV_CONFIG, ext)
    for value, expected in (("true", "broker-a:2"), ("false", None)):
        await name_server.request(RequestCode.UPDATE_NAMESRV_CONFIG, body=f"orderMessageEnable={value}".encode())
        answer = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
        assert json.loads(bytes(answer.body)).get("orderTopicConf") == expected
