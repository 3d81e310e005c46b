"""Topics that accept one type of messages; through a whole server at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.core.errors import MessageTypeWrong
from rocketwire.server.topics.message_types import (
    MessageType,
    accepted_type,
    check_message_type,
    may_have_a_type,
    message_type,
)
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from rocketwire.wire.properties import encode_properties
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    Server,
    code_and_remark,
    properties_text,
    send_ext,
    serving,
    topic_ext,
)

PROPERTIES: dict[str, dict[str, str]] = {
    "NORMAL": {"KEYS": "k"},
    "FIFO": {"__SHARDINGKEY": "order-7"},
    "DELAY": {"DELAY": "3"},
    "TRANSACTION": {"TRAN_MSG": "true", "PGROUP": "P"},
}
ONE_KIND = sorted(PROPERTIES)


def refusal(topic: str, accepted: str, found: str) -> tuple[int, str]:
    return ResponseCode.MESSAGE_ILLEGAL, (
        "current message type does not match with topic accept message types: "
        f"topic[{topic}] accepts {accepted}, the message is {found}"
    )


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, "NORMAL"),
        ({"TRAN_MSG": "false"}, "NORMAL"),
        ({"TIMER_DELIVER_MS": "1"}, "DELAY"),
        ({"TIMER_DELAY_SEC": "1"}, "DELAY"),
        ({"TIMER_DELAY_MS": "1"}, "DELAY"),
        ({"__STARTDELIVERTIME": "1"}, "DELAY"),
        ({"DELAY": "1", "__SHARDINGKEY": "k"}, "DELAY"),
        ({"DELAY": "1", "TRAN_MSG": "TRUE"}, "TRANSACTION"),
        *((each, name) for name, each in PROPERTIES.items()),
    ],
)
def test_the_type_of_a_message_is_that_of_5_x(properties: dict[str, str], expected: str) -> None:
    assert message_type(properties) is MessageType(expected)
    assert may_have_a_type(encode_properties(properties)) or expected == "NORMAL"


def test_few_texts_are_searched_for_a_type() -> None:
    assert not may_have_a_type(encode_properties({"UNIQ_KEY": "0A", "TAGS": "a", "__BORNHOST": "h", "x": "__delay"}))


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("T", None, None),
        ("T", {}, None),
        ("T", {"queue.type": "SimpleCQ"}, None),
        *(("T", {"message.type": each}, each) for each in ONE_KIND),
        ("T", {"message.type": "MIXED"}, None),
        ("T", {"message.type": "UNSPECIFIED"}, None),
        ("T", {"message.type": "PRIORITY"}, None),
        ("%RETRY%G", {"message.type": "FIFO"}, None),
        ("%DLQ%G", {"message.type": "FIFO"}, None),
        ("RMQ_SYS_TRACE_TOPIC", {"message.type": "FIFO"}, None),
    ],
)
def test_topics_without_a_type_accept_all(name: str, attributes: dict[str, str] | None, expected: str | None) -> None:
    assert accepted_type(TopicConfig(topic_name=name, attributes=attributes)) == expected


@pytest.mark.parametrize("accepted", ONE_KIND)
@pytest.mark.parametrize("found", ONE_KIND)
def test_only_messages_of_the_topics_type_pass(accepted: str, found: str) -> None:
    if accepted == found:
        check_message_type("T", MessageType(accepted), PROPERTIES[found])
    else:
        with pytest.raises(MessageTypeWrong, match=f"accepts {accepted}, the message is {found}"):
            check_message_type("T", MessageType(accepted), PROPERTIES[found])


# --- through a server ---


async def make(client: Client, topic: str, attributes: str | None) -> Frame:
    return await client.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(topic, attributes=attributes))


async def send(client: Client, topic: str, kind: str, **options: Any) -> Frame:
    return await client.send(topic, properties=properties_text(**PROPERTIES[kind]), **options)


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
@pytest.mark.parametrize("accepted", ONE_KIND)
async def test_a_mismatch_is_refused_and_the_right_type_stored(
    broker: Client, accepted: str, serialize_type: int
) -> None:
    assert (await make(broker, "Typed", f"+message.type={accepted}")).header.code == 0
    for found in ONE_KIND:
        answer = await send(broker, "Typed", found, serialize_type=serialize_type)
        if found == accepted:
            assert code_and_remark(answer) == (ResponseCode.SUCCESS, None)
        else:
            assert code_and_remark(answer) == refusal("Typed", accepted, found)


async def test_an_untyped_topic_accepts_all(broker: Client) -> None:
    for topic, attributes in (("T", None), ("M", "+message.type=MIXED"), ("U", "+message.type=UNSPECIFIED")):
        assert (await make(broker, topic, attributes)).header.code == 0
        for kind in ONE_KIND:
            assert (await send(broker, topic, kind)).header.code == 0


async def test_every_message_of_a_batch_must_have_the_type(broker: Client) -> None:
    await make(broker, "Fifo", "+message.type=FIFO")

    async def send_batch(*kinds: str) -> Frame:
        items = [
            BatchItem(flag=0, body=b"x", properties=properties_text(**PROPERTIES[kind]).encode()) for kind in kinds
        ]
        ext = send_ext("Fifo", batch=True, properties="WAIT\x01true")
        return await broker.request(RequestCode.SEND_BATCH_MESSAGE, ext, encode_batch(items))

    assert (await send_batch("FIFO", "FIFO")).header.code == 0
    assert code_and_remark(await send_batch("FIFO", "NORMAL")) == refusal("Fifo", "FIFO", "NORMAL")


async def test_the_check_may_be_turned_off(broker: Client) -> None:
    await make(broker, "Fifo", "+message.type=FIFO")
    assert (await broker.set_config(enableTopicMessageTypeCheck="false")).header.code == 0
    assert (await send(broker, "Fifo", "NORMAL")).header.code == 0


async def test_types_survive_a_restart_and_are_changed_and_removed(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        client = server.broker()
        await make(client, "Typed", "+message.type=FIFO")
        table = json.loads((tmp_path / "config" / "topics.json").read_text(encoding="utf-8"))
        assert table["topicConfigTable"]["Typed"]["attributes"] == {"message.type": "FIFO"}
    async with serving(tmp_path) as server:
        client = server.broker()
        assert code_and_remark(await send(client, "Typed", "NORMAL")) == refusal("Typed", "FIFO", "NORMAL")
        # A 4.x client changes the topic and sends no attributes.
        await client.create_topic("Typed", 3)
        assert code_and_remark(await send(client, "Typed", "NORMAL")) == refusal("Typed", "FIFO", "NORMAL")
        await make(client, "Typed", "+message.type=NORMAL")
        assert (await send(client, "Typed", "NORMAL")).header.code == 0
        assert code_and_remark(await send(client, "Typed", "FIFO")) == refusal("Typed", "NORMAL", "FIFO")
        await make(client, "Typed", "-message.type")
        assert (await send(client, "Typed", "FIFO")).header.code == 0


async def test_a_bad_attribute_is_refused_and_changes_nothing(broker: Client) -> None:
    answer = await make(broker, "New", "+message.type=ODD")
    assert code_and_remark(answer) == (
        ResponseCode.SYSTEM_ERROR,
        "value is not in set: UNSPECIFIED, NORMAL, FIFO, DELAY, TRANSACTION, MIXED",
    )
    topics = json.loads(bytes((await broker.request(RequestCode.GET_ALL_TOPIC_CONFIG)).body))
    assert "New" not in topics["topicConfigTable"]


async def test_a_message_that_is_stored_again_has_no_type_from_before(server: Server) -> None:
    """A delayed message comes to its topic as a plain one, and a retried message to its retry topic."""
    client = server.broker()
    await make(client, "Later", "+message.type=DELAY")
    answer = await client.send("Later", b"due", properties=properties_text(DELAY="1"))
    assert answer.header.code == 0
    await server.pass_time(3, step=0.5)
    assert (await client.pull("Later")).header.code == 0
    assert (await send(client, "%RETRY%G", "FIFO")).header.code == 0
