"""A wall clock that is set while the server runs: no duration changes by that.

Dates follow it: when delayed and timer messages are due (`delay`, `timer`), how old files are (`test_lifetime`), which
half messages are old enough (`transactions`). All else follows the event loop's clock.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import LockBatchRequestBody, MessageQueue
from rocketwire.wire.bodies.route import RegisterBrokerBody, encode_registration
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig, TopicConfigSerializeWrapper
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import Client, Server, consumer, send_ext, serving, subscription

HOUR = 3_600_000
JUMPS = [-24 * HOUR, -HOUR, HOUR, 24 * HOUR]

pytestmark = pytest.mark.parametrize("jump", JUMPS)


async def members(client: Client) -> list[str]:
    answer = await client.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
    found: list[str] = json.loads(bytes(answer.body))["consumerIdList"] if answer.header.code == 0 else []
    return found


async def test_a_group_keeps_its_members(server: Server, broker: Client, jump: int) -> None:
    await broker.heartbeat("one", consumer("G", subscription("T")), producers=["P"])
    server.clock.now += jump
    for _ in range(11):
        await server.pass_time(10)
        assert await members(broker) == ["one"]
        answer = await broker.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": "P"})
        assert answer.header.code == 0
    await server.pass_time(30)
    assert await members(broker) == []


async def lock(client: Client, client_id: str) -> list[Any]:
    queue = MessageQueue(topic="T", broker_name="broker-a", queue_id=0)
    body = encode_body(LockBatchRequestBody(client_id=client_id, consumer_group="G", mq_set=(queue,)))
    answer = await client.request(RequestCode.LOCK_BATCH_MQ, body=body)
    held: list[Any] = json.loads(bytes(answer.body))["lockOKMQSet"]
    return held


async def test_a_queue_stays_locked(server: Server, broker: Client, jump: int) -> None:
    assert len(await lock(broker, "one")) == 1
    server.clock.now += jump
    await server.pass_time(50)
    assert await lock(broker, "two") == []
    await server.pass_time(20)
    assert len(await lock(broker, "two")) == 1


async def test_a_broker_stays_registered(server: Server, name_server: Client, jump: int) -> None:
    wrapper = TopicConfigSerializeWrapper(
        topic_config_table={"A": TopicConfig(topic_name="A")}, data_version=DataVersion(counter=1, timestamp=1)
    )
    ext = {"brokerName": "a", "brokerAddr": "10.0.0.1:1", "clusterName": "C", "brokerId": "0", "haServerAddr": "x"}
    body = RegisterBrokerBody(topic_config_serialize_wrapper=wrapper, filter_server_list=())
    data = encode_registration(body, compressed=False)
    ext |= {"compressed": "false", "bodyCrc32": str(zlib.crc32(data) & 0x7FFFFFFF)}
    answer = await name_server.request(RequestCode.REGISTER_BROKER, ext, data)
    assert answer.header.code == 0, answer.header.remark
    server.clock.now += jump
    for _ in range(11):
        await server.pass_time(10)
        assert (await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "A"})).header.code == 0
    await server.pass_time(30)
    answer = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "A"})
    assert answer.header.code == ResponseCode.TOPIC_NOT_EXIST
    # The broker of this process continues to register.
    assert (await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})).header.code == 0


@pytest.mark.usefixtures("driver")
async def test_a_pull_is_held_for_its_time(server: Server, broker: Client, jump: int) -> None:
    await broker.hold("T", seconds=15)
    server.clock.now += jump
    await server.pass_time(14, step=1)
    assert await broker.arrived() == []
    await server.pass_time(2, step=1)
    (answer,) = await broker.arrived()
    assert answer.header.code == ResponseCode.PULL_NOT_FOUND


@pytest.mark.usefixtures("driver")
async def test_a_message_wakes_a_pull(server: Server, broker: Client, jump: int) -> None:
    await broker.hold("T", seconds=15)
    server.clock.now += jump
    other = server.broker()
    assert (await other.send("T")).header.code == 0
    (answer,) = await broker.arrived()
    assert answer.header.code == 0


@pytest.mark.usefixtures("driver")
async def test_a_silent_connection_is_closed_in_its_time(server: Server, jump: int) -> None:
    silent = server.broker()
    await server.pass_time(10)
    server.clock.now += jump
    await server.pass_time(100)
    assert await silent.is_open()
    await server.pass_time(30)
    assert await silent.ended()


@pytest.mark.usefixtures("driver")
async def test_a_quota_is_neither_filled_nor_emptied(tmp_path: Path, jump: int) -> None:
    async with serving(tmp_path / "store", topic_quotas="T=10/-") as server:
        client = server.broker()
        await client.create_topic("T")

        async def taken() -> int:
            await client.write(b"".join(client.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T")) for _ in range(30)))
            answers = await client.arrived()
            assert len(answers) == 30
            return sum(answer.header.code == 0 for answer in answers)

        assert await taken() in (10, 11)
        server.clock.now += jump
        assert await taken() == 0
        await server.pass_time(1)
        assert await taken() in (9, 10, 11)


async def test_a_request_to_a_client_waits_for_its_time(server: Server, broker: Client, jump: int) -> None:
    await broker.heartbeat("one", consumer("G", subscription("T")))
    requester = server.broker()
    ext = {"consumerGroup": "G", "clientId": "one", "jstackEnable": "false"}
    await requester.write(requester.frame(RequestCode.GET_CONSUMER_RUNNING_INFO, ext))
    await server.pass_time(1, step=1)
    server.clock.now += jump
    await server.pass_time(8, step=1)
    assert await requester.arrived() == []
    await server.pass_time(2, step=1)
    assert len(await requester.arrived()) == 1


async def test_the_messages_a_second_of_a_group_are_counted_correctly(
    server: Server, broker: Client, jump: int
) -> None:
    await broker.send("T")
    await server.pass_time(10)
    for _ in range(2):
        await broker.pull("T")
        await server.pass_time(10)
    server.clock.now += jump
    ext = {"consumerGroup": "G", "topic": "T"}
    answer = await broker.request(RequestCode.GET_CONSUME_STATS, ext)
    assert b'"consumeTps":0.1' in bytes(answer.body)
