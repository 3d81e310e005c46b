"""Assignments over the wire, against Apache 5.5.0's answers to the same requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.assignments import assignments
from rocketwire.store.tables.request_modes import RequestModeTable
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import Client, Server, code_and_remark, consumer, serving, subscription
from tests.wire import golden

QUERY: dict[str, Any] = {
    "topic": "T",
    "consumerGroup": "G",
    "clientId": "c1",
    "strategyName": "AVG",
    "messageModel": "CLUSTERING",
}


def text(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


async def joined(server: Server, group: str, client_id: str, *topics: str) -> Client:
    client = server.broker()
    await client.heartbeat(client_id, consumer(group, *map(subscription, topics)))
    return client


def are_equal(ours: bytes, theirs: str) -> bool:
    """Sets have no order in Java; a mode that Apache omits, because it does not know it, is PULL to clients."""
    return bool(plain(json.loads(ours)) == plain(json.loads(theirs)))


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(str(plain({"mode": "PULL", **each})) for each in value)
    if isinstance(value, dict):
        value = {"mode": "PULL", **value} if "popShareQueueNum" in value else value
        return {key: plain(each) for key, each in value.items()}
    return value


async def test_answers_equal_those_of_apache(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        client = server.broker()
        await client.create_topic("Order", 3)
        await client.create_topic("Wide", 8)
        compared = 0
        for row in golden.pop_rows("modes"):
            if "joins" in row:
                await joined(server, row["joins"], row["client"], "Order")
                continue
            answer = await client.request(row["code"], None, row["body"].encode())
            if "NullPointerException" in (row["remark"] or ""):
                continue  # a field that Apache requires and we do not
            assert code_and_remark(answer) == (row["answer"], row["remark"] or None), row
            if row["answerBody"]:
                assert are_equal(bytes(answer.body), row["answerBody"]), row
            compared += 1
        assert compared > 40


async def test_a_mode_is_saved_before_it_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "store" / "config" / "messageRequestMode.json"
    async with serving(tmp_path / "store") as server:
        client = server.broker()
        await client.create_topic("T", 2)
        for share in (1, 2, 2):
            body = text(topic="T", consumerGroup="G", mode="POP", popShareQueueNum=share)
            assert (await client.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body)).header.code == 0
            found = RequestModeTable.open(path).get("T", "G")
            assert found is not None
            assert found.pop_share_queue_num == share
    async with serving(tmp_path / "store") as server:
        answer = await server.broker().request(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
        modes = json.loads(bytes(answer.body))["messageRequestModeMap"]
        assert modes["T"]["G"] == {"consumerGroup": "G", "mode": "POP", "popShareQueueNum": 2, "topic": "T"}


async def test_the_mode_of_a_group_that_may_not_be_created_is_refused(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", auto_create_subscription_group=False) as server:
        client = server.broker()
        await client.create_topic("T")
        body = text(topic="T", consumerGroup="G", mode="POP")
        answer = await client.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body)
        assert answer.header.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST


async def test_the_number_of_modes_is_bounded(broker: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignments, "MOST_MODES", 1)
    codes = []
    for group in ("A", "B", "A"):
        body = text(topic="T", consumerGroup=group, mode="POP")
        codes.append((await broker.request(RequestCode.SET_MESSAGE_REQUEST_MODE, None, body)).header.code)
    assert codes == [0, ResponseCode.SYSTEM_BUSY, 0]


async def assigned(client: Client, **changes: Any) -> list[tuple[int, str]] | None:
    answer = await client.request(RequestCode.QUERY_ASSIGNMENT, None, text(**{**QUERY, **changes}))
    found = json.loads(bytes(answer.body)).get("messageQueueAssignments")
    return found and sorted((each["messageQueue"]["queueId"], each["mode"]) for each in found)


async def test_groups_pop_by_default_if_configured(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", default_message_request_mode="POP") as server:
        client = server.broker()
        await client.create_topic("T", 2)
        await joined(server, "G", "c1", "T")
        assert await assigned(client) == [(-1, "POP")]
        assert await assigned(client, topic="%RETRY%G") == [(0, "PULL")]


async def test_clients_divide_queues_themselves_if_configured(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", server_load_balancer_enable=False) as server:
        client = server.broker()
        await client.create_topic("T", 2)
        assert await assigned(client) == [(0, "PULL"), (1, "PULL")]


async def test_a_lite_queue_is_one_queue(server: Server, broker: Client) -> None:
    await joined(server, "G", "c1", "T")
    assert await assigned(broker, topic="%LMQ%x") == [(0, "PULL")]


async def test_queues_without_read_permission_are_not_assigned(server: Server, broker: Client) -> None:
    await broker.create_topic("W", 2, perm=2)
    await joined(server, "G", "c1", "W")
    assert await assigned(broker, topic="W") is None
    assert await assigned(broker, topic="W", messageModel="BROADCASTING") == []


async def test_many_queues_are_written_in_steps(server: Server, broker: Client) -> None:
    await broker.create_topic("Many", 1000)
    await joined(server, "G", "c1", "Many")
    found = await assigned(broker, topic="Many")
    assert found is not None
    assert [queue for queue, _ in found] == list(range(1000))
