from __future__ import annotations

from typing import Any

import pytest

from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.java import INT64_MAX
from tests.server.harness import Client, code_and_remark, consumer, subscription


async def clone(client: Client, **changes: str) -> None:
    answer = await client.request(RequestCode.CLONE_GROUP_OFFSET, {"srcGroup": "G", "destGroup": "Copy", **changes})
    assert code_and_remark(answer) == (0, None)


async def decoded_answer(client: Client, code: int, **ext: str) -> Any:
    answer = await client.request(code, ext)
    assert code_and_remark(answer) == (0, None)
    return loads(bytes(answer.body))


@pytest.fixture
async def filled(broker: Client) -> Client:
    """G has offsets in two topics that exist and in one that does not."""
    await broker.create_topic("U")
    for _ in range(3):
        await broker.send("T")
        await broker.send("U")
    await broker.commit(2)
    await broker.commit(1, queue_id=1)
    await broker.commit(3, "U")
    await broker.commit(1, "Gone")
    return broker


async def test_the_offsets_of_one_topic_are_copied(filled: Client) -> None:
    await clone(filled, topic="T")
    assert [await filled.committed(group="Copy", queue_id=queue) for queue in (0, 1)] == [2, 1]
    assert await filled.committed("U", group="Copy") is None


async def test_the_offsets_of_all_topics_that_exist_are_copied(filled: Client) -> None:
    await clone(filled, topic=" ")
    assert [await filled.committed(topic, group="Copy") for topic in ("T", "U", "Gone")] == [2, 3, None]


async def test_of_a_connected_group_the_topics_that_it_subscribes_to_are_copied(filled: Client) -> None:
    await filled.heartbeat("client", consumer("G", subscription("U")))
    await clone(filled)
    assert [await filled.committed(topic, group="Copy") for topic in ("T", "U")] == [None, 3]
    await clone(filled, offline="true")
    assert [await filled.committed(topic, group="Copy") for topic in ("T", "U")] == [2, 3]


async def test_a_group_without_offsets_copies_nothing(filled: Client) -> None:
    await clone(filled, srcGroup="Nobody")
    assert await filled.committed(group="Copy") is None


async def test_the_offsets_of_the_slowest_group_are_found(filled: Client) -> None:
    await filled.commit(1, group="Slow")
    fields = {"topic": "T", "compareGroup": "G"}

    async def offsets(**changes: str) -> Any:
        return (await decoded_answer(filled, RequestCode.QUERY_CORRECTION_OFFSET, **fields, **changes))[
            "correctionOffsets"
        ]

    assert await offsets() == {0: 1, 1: 1}
    assert await offsets(filterGroups="Slow,Other") == {0: 2, 1: 1}
    fields["compareGroup"] = "Slow"
    assert await offsets(filterGroups="Slow") == {0: INT64_MAX, 1: 1}  # the compared group is behind
    assert await filled.committed(group="Slow") == 1  # 4.9.7 forgets the offsets of groups that it omits


async def test_the_topics_of_a_group_are_listed(filled: Client) -> None:
    found = await decoded_answer(filled, RequestCode.QUERY_TOPICS_BY_CONSUMER, group="G")
    assert found["topicList"] == ["T", "U", "Gone"]
    assert (await decoded_answer(filled, RequestCode.QUERY_TOPICS_BY_CONSUMER, group="Nobody"))["topicList"] == []


async def test_the_subscription_of_a_group_is_shown(filled: Client) -> None:
    fields = {"group": "G", "topic": "T"}
    assert await decoded_answer(filled, RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, **fields) == fields
    await filled.heartbeat("client", consumer("G", subscription("T", "a")))
    found = await decoded_answer(filled, RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER, **fields)
    assert found["subscriptionData"]["subString"] == "a"
