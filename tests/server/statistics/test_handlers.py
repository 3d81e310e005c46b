from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.message_id import parse_offset_message_id
from tests.server.harness import Client, Server, batch_body, code_and_remark, send_ext, serving

VIEW = RequestCode.VIEW_BROKER_STATS_DATA
ZERO = {"avgpt": 0.0, "sum": 0, "tps": 0.0}


async def viewed(client: Client, name: str, key: str) -> dict[str, Any]:
    answer = await client.request(VIEW, {"statsName": name, "statsKey": key})
    assert code_and_remark(answer) == (0, None)
    found: dict[str, Any] = json.loads(bytes(answer.body))
    assert found.keys() == {"statsMinute", "statsHour", "statsDay"}
    return found


async def minute(client: Client, name: str, key: str) -> dict[str, float]:
    found: dict[str, float] = (await viewed(client, name, key))["statsMinute"]
    return found


async def remark(client: Client, name: str, key: str) -> tuple[int, str | None]:
    return code_and_remark(await client.request(VIEW, {"statsName": name, "statsKey": key}))


async def size_of_one(client: Client) -> int:
    return len((await client.pull("T", 0, consumer_group="Other", max_msg_nums=1)).body)


async def test_a_topics_messages_and_bytes_are_counted(server: Server, broker: Client) -> None:
    for _ in range(5):
        await broker.send("T")
    assert await viewed(broker, "TOPIC_PUT_NUMS", "T") == {"statsMinute": ZERO, "statsHour": ZERO, "statsDay": ZERO}
    await server.pass_time(10)
    assert await minute(broker, "TOPIC_PUT_NUMS", "T") == {"sum": 5, "tps": 0.5, "avgpt": 1.0}
    size = await size_of_one(broker)
    assert await minute(broker, "TOPIC_PUT_SIZE", "T") == {"sum": 5 * size, "tps": size / 2, "avgpt": float(size)}
    found = await viewed(broker, "TOPIC_PUT_NUMS", "T")
    assert (found["statsHour"], found["statsDay"]) == (ZERO, ZERO)
    await server.pass_time(600)
    found = await viewed(server.broker(), "TOPIC_PUT_NUMS", "T")
    assert (found["statsMinute"]["sum"], found["statsHour"]["sum"], found["statsDay"]["sum"]) == (0, 5, 0)
    await server.pass_time(3000)
    assert (await viewed(server.broker(), "TOPIC_PUT_NUMS", "T"))["statsDay"] == {
        "sum": 5,
        "tps": 5 / 3600,
        "avgpt": 1.0,
    }


async def test_each_message_of_a_batch_counts(server: Server, broker: Client) -> None:
    await broker.create_topic("T")
    ext = send_ext("T", short=True, batch=True)
    assert (await broker.request(RequestCode.SEND_BATCH_MESSAGE, ext, batch_body([b"x"] * 7))).header.code == 0
    await server.pass_time(10)
    assert (await minute(broker, "TOPIC_PUT_NUMS", "T"))["sum"] == 7


async def test_deliveries_to_a_group_are_counted(server: Server, broker: Client) -> None:
    for _ in range(4):
        await broker.send("T")
    size = await size_of_one(broker)
    assert await remark(broker, "GROUP_GET_NUMS", "T@G") == (1, "The stats <GROUP_GET_NUMS> <T@G> not exist")
    await broker.pull("T", 0, consumer_group="G")
    await broker.pull("T", 3, consumer_group="G")
    assert await minute(broker, "GROUP_GET_NUMS", "T@G") == ZERO
    await server.pass_time(10)
    assert await minute(broker, "GROUP_GET_NUMS", "T@G") == {"sum": 5, "tps": 0.5, "avgpt": 2.5}
    assert await minute(broker, "GROUP_GET_SIZE", "T@G") == {"sum": 5 * size, "tps": size / 2, "avgpt": 2.5 * size}


async def test_messages_sent_back_are_counted(server: Server, broker: Client) -> None:
    answer = await broker.send("T")
    assert answer.header.ext is not None
    _, offset = parse_offset_message_id(answer.header.ext["msgId"])
    for level in ("3", "-1"):
        ext = {"offset": str(offset), "group": "G", "delayLevel": level, "originTopic": "T"}
        assert (await broker.request(RequestCode.CONSUMER_SEND_MSG_BACK, ext)).header.code == 0
    await server.pass_time(10)
    assert await minute(broker, "SNDBCK_PUT_NUMS", "T@G") == {"sum": 2, "tps": 0.2, "avgpt": 1.0}


async def test_the_totals_of_the_broker_are_shown(server: Server, broker: Client) -> None:
    cluster = server.config.broker.broker_cluster_name
    for name in ("BROKER_PUT_NUMS", "BROKER_GET_NUMS"):
        assert await remark(broker, name, cluster) == (1, f"The stats <{name}> <{cluster}> not exist")
    for _ in range(3):
        await broker.send("T")
    await broker.pull("T", 1)
    assert await minute(broker, "BROKER_PUT_NUMS", cluster) == ZERO
    await server.pass_time(10)
    assert await minute(broker, "BROKER_PUT_NUMS", cluster) == {"sum": 3, "tps": 0.3, "avgpt": 0.0}
    assert await minute(broker, "BROKER_GET_NUMS", cluster) == {"sum": 2, "tps": 0.2, "avgpt": 0.0}
    assert await remark(broker, "BROKER_PUT_NUMS", "Other") == (1, "The stats <BROKER_PUT_NUMS> <Other> not exist")


@pytest.mark.parametrize(
    ("name", "key"), [("TOPIC_PUT_NUMS", "None"), ("GROUP_GET_NUMS", "T"), ("QUEUE_PUT_NUMS", "T@0"), ("", "")]
)
async def test_unknown_names_have_no_statistics(broker: Client, name: str, key: str) -> None:
    await broker.send("T")
    await broker.pull("T")
    assert await remark(broker, name, key) == (1, f"The stats <{name}> <{key}> not exist")


async def test_messages_from_before_the_start_do_not_count(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.broker().send("T")
    async with serving(tmp_path) as server:
        client = server.broker()
        await server.pass_time(10)
        assert (await remark(client, "TOPIC_PUT_NUMS", "T"))[0] == 1
        await client.send("T")
        await server.pass_time(10)
        assert (await minute(client, "TOPIC_PUT_NUMS", "T"))["sum"] == 1
