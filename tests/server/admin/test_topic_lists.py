from __future__ import annotations

import json
from typing import Any

import pytest

from rocketwire.wire import names
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.topic import CreateTopicListRequestBody, TopicConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import Client, code_and_remark


async def create(client: Client, *topics: TopicConfig) -> Frame:
    body = encode_body(CreateTopicListRequestBody(topic_config_list=topics))
    return await client.request(RequestCode.UPDATE_AND_CREATE_TOPIC_LIST, {}, body)


async def config(client: Client, topic: str) -> Any:
    answer = await client.request(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})
    return code_and_remark(answer) if answer.header.code else json.loads(bytes(answer.body))


async def test_a_list_of_topics_is_created(broker: Client) -> None:
    answer = await create(
        broker,
        TopicConfig(topic_name="First", read_queue_nums=3, write_queue_nums=2, perm=4),
        TopicConfig(topic_name="Second", attributes={"+message.type": "FIFO"}),
        *(TopicConfig(topic_name=f"Many{number}") for number in range(130)),
    )
    assert code_and_remark(answer) == (0, None)
    first = await config(broker, "First")
    assert (first["readQueueNums"], first["writeQueueNums"], first["perm"]) == (3, 2, 4)
    assert (await config(broker, "Second"))["attributes"] == {"message.type": "FIFO"}
    assert (await config(broker, "Many129"))["topicName"] == "Many129"


@pytest.mark.parametrize("name", ["bad*name", names.SCHEDULE_TOPIC, ""])
async def test_a_list_with_one_bad_name_is_refused(broker: Client, name: str) -> None:
    answer = await create(broker, TopicConfig(topic_name="Good"), TopicConfig(topic_name=name))
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert await config(broker, "Good") == (
        ResponseCode.TOPIC_NOT_EXIST,
        "No topic in this broker. topic: Good",
    )


async def test_the_system_topics_are_listed(broker: Client) -> None:
    answer = await broker.request(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    found = set(json.loads(bytes(answer.body))["topicList"])
    assert found >= {*names.SYSTEM_TOPICS, "broker-a", "C", "C_REPLY_TOPIC"}
    assert "T" not in found
