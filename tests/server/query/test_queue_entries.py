from __future__ import annotations

import json
from typing import Any

import pytest

from rocketwire.server.query import queue_entries
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.java import string_hash
from tests.server.harness import Client, code_and_remark, consumer, properties_text, subscription


async def queried(client: Client, **changes: object) -> Any:
    ext = {"topic": "T", "queueId": 0, "index": 0, "count": 10, **changes}
    answer = await client.request(RequestCode.QUERY_CONSUME_QUEUE, {name: str(value) for name, value in ext.items()})
    if answer.header.code or not answer.body:
        return code_and_remark(answer)
    return json.loads(bytes(answer.body))


@pytest.fixture
async def filled(broker: Client) -> Client:
    """Three messages with tags in queue 0 of T."""
    for tag in "abc":
        await broker.send("T", properties=properties_text(TAGS=tag))
    return broker


async def test_entries_are_listed(filled: Client) -> None:
    entries = await queried(filled)
    assert (entries["minQueueIndex"], entries["maxQueueIndex"]) == (0, 3)
    assert [entry["tagsCode"] for entry in entries["queueData"]] == [string_hash(tag) for tag in "abc"]
    first, second, _ = entries["queueData"]
    assert second["physicOffset"] == first["physicOffset"] + first["physicSize"]
    assert first["eval"] is False
    assert not {"subscriptionData", "filterData"} & set(entries)


async def test_a_part_of_the_entries_is_listed(filled: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = (await queried(filled))["queueData"]
    assert (await queried(filled, index=1, count=1))["queueData"] == whole[1:2]
    assert (await queried(filled, count=0))["queueData"] == []
    assert (await queried(filled, count=-1))["queueData"] == []
    monkeypatch.setattr(queue_entries, "MOST_ENTRIES", 2)
    assert (await queried(filled))["queueData"] == whole[:2]


async def test_many_entries_are_listed_in_steps(broker: Client) -> None:
    for _ in range(130):
        await broker.send("T")
    assert len((await queried(broker, count=1000))["queueData"]) == 130


async def test_missing_entries_queues_and_topics_are_reported(filled: Client) -> None:
    assert await queried(filled, index=3) == (0, "Index 3 of 0@T is not exist!")
    assert await queried(filled, index=-1) == (0, "Index -1 of 0@T is not exist!")
    assert await queried(filled, queueId=1) == (0, "Index 0 of 1@T is not exist!")  # a queue without messages
    assert await queried(filled, queueId=9) == (ResponseCode.SYSTEM_ERROR, "9@T is not exist!")
    assert await queried(filled, topic="None") == (ResponseCode.SYSTEM_ERROR, "0@None is not exist!")


async def test_the_subscription_of_a_group_is_shown(filled: Client) -> None:
    assert (await queried(filled, consumerGroup="G"))["filterData"] == "G@T is not online!"
    await filled.heartbeat("client", consumer("G", subscription("T", "a||b")))
    entries = await queried(filled, consumerGroup="G")
    assert entries["subscriptionData"]["subString"] == "a||b"
    assert entries["filterData"] == "null"
    sql = subscription("T", "a > 1", version=2, expression_type="SQL92")
    await filled.heartbeat("client", consumer("G", sql))
    assert json.loads((await queried(filled, consumerGroup="G"))["filterData"])["subString"] == "a > 1"
