"""Pulls filtered by SQL92: by the expression of the request or of the heartbeat, held until a message matches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.facts.codes import PullSysFlag, RequestCode, ResponseCode
from tests.server.harness import (
    Client,
    Server,
    batch_body,
    bodies,
    code_and_remark,
    consumer,
    mock_clock,
    offsets_of,
    properties_text,
    records,
    send_ext,
    serving,
    settle,
    subscription,
)

FROM_HEARTBEAT = PullSysFlag.SUSPEND
OFF = (ResponseCode.SYSTEM_ERROR, "The broker does not support consumer to filter message by SQL92")
MISSING = (
    ResponseCode.FILTER_DATA_NOT_EXIST,
    "The broker's consumer filter data is not exist!Your expression may be wrong!",
)


@pytest.fixture
async def filled(broker: Client) -> Client:
    """T's queue 0 has ten messages: m0 to m9, with their number as `a`, and `b` of every third one."""
    for number in range(10):
        third = {"b": "x"} if number % 3 == 0 else {}
        await broker.send("T", b"m%d" % number, properties=properties_text(a=str(number), **third))
    return broker


def sql(expression: str, version: int = 5, topic: str = "T") -> SubscriptionData:
    return subscription(topic, expression, version, expression_type="SQL92")


async def test_the_expression_of_the_request_is_the_filter(filled: Client) -> None:
    answer = await filled.pull("T", subscription="a > 5 AND b = 'x'", expression_type="SQL92")
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, "FOUND")
    assert bodies(answer) == [b"m6", b"m9"]
    assert offsets_of(answer) == (10, 0, 10)


async def test_the_expression_of_the_heartbeat_is_the_filter(filled: Client) -> None:
    await filled.heartbeat("id", consumer("G", sql("a BETWEEN 2 AND 3")), consumer("H", sql("b IS NOT NULL")))
    for group, found in (("G", [b"m2", b"m3"]), ("H", [b"m0", b"m3", b"m6", b"m9"])):
        answer = await filled.pull("T", consumer_group=group, sys_flag=FROM_HEARTBEAT, sub_version=5)
        assert bodies(answer) == found


async def test_only_a_message_that_matches_wakes(server: Server, filled: Client) -> None:
    await filled.hold("T", 10, subscription="a > 100", expression_type="SQL92")
    sender = server.broker()
    await sender.send("T", b"small", properties=properties_text(a="7"))
    await sender.send("T", b"no number", properties=properties_text(a="many"))
    assert await filled.arrived() == []
    await sender.send("T", b"large", properties=properties_text(a="101"))
    (answer,) = await filled.arrived()
    assert bodies(answer) == [b"large"]
    assert offsets_of(answer) == (13, 0, 13)


async def test_a_held_pull_does_not_wait_behind_unread_messages(server: Server, broker: Client) -> None:
    await broker.hold("T", subscription="a = 1", expression_type="SQL92")
    unwanted = batch_body([b"m"] * 900, properties_text(a="0"))
    wanted = batch_body([b"wanted"], properties_text(a="1"))
    await server.broker().request(RequestCode.SEND_BATCH_MESSAGE, send_ext("T", batch=True), unwanted + wanted)
    (answer,) = await broker.arrived()
    assert code_and_remark(answer) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    assert offsets_of(answer) == (800, 0, 901)
    answer = await broker.pull("T", 800, subscription="a = 1", expression_type="SQL92")
    assert bodies(answer) == [b"wanted"]


# --- refusals ---


@pytest.mark.parametrize(
    ("expression", "kind", "why"),
    [
        ("a >", "SQL92", 'Encountered "<EOF>" at line 1, column 3.'),
        ("", "SQL92", 'Encountered "<EOF>" at line 0, column 0.'),
        ("a", "CLASS", "no filter is of type CLASS"),
    ],
)
async def test_a_request_with_a_bad_expression_is_refused(broker: Client, expression: str, kind: str, why: str) -> None:
    code, remark = code_and_remark(await broker.pull("T", subscription=expression, expression_type=kind))
    assert code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert remark is not None
    assert remark.startswith("parse the consumer's subscription failed: ")
    assert remark.endswith(why)


@pytest.mark.parametrize("kind", ["SQL92", "CLASS"])
async def test_a_heartbeat_with_a_bad_expression_is_accepted_but_its_pulls_are_refused(
    broker: Client, kind: str
) -> None:
    beat = await broker.heartbeat("id", consumer("G", subscription("T", "a >", 5, expression_type=kind)))
    assert beat.header.code == 0
    assert code_and_remark(await broker.pull("T", sys_flag=FROM_HEARTBEAT, sub_version=5)) == MISSING


async def test_a_filter_that_is_older_than_the_subscription_is_refused(broker: Client) -> None:
    """An empty expression is none, and keeps the older filter."""
    for version, expression in ((5, "a = 1"), (6, "")):
        await broker.heartbeat("id", consumer("G", sql(expression, version)))
    answer = await broker.pull("T", sys_flag=FROM_HEARTBEAT, sub_version=6)
    expected = (ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
    assert code_and_remark(answer) == expected
    answer = await broker.pull("T", sub_version=5, sys_flag=0)
    assert answer.header.code == ResponseCode.PULL_NOT_FOUND


async def test_filters_can_be_switched_off(broker: Client) -> None:
    await broker.heartbeat("id", consumer("G", sql("a = 1")))
    await broker.set_config(enablePropertyFilter="false")
    assert code_and_remark(await broker.pull("T", sys_flag=FROM_HEARTBEAT, sub_version=5)) == OFF
    assert code_and_remark(await broker.pull("T", subscription="a >", expression_type="SQL92")) == OFF
    assert (await broker.pull("T", subscription="A || B")).header.code == ResponseCode.PULL_NOT_FOUND


# --- retried messages ---


async def test_retried_messages_are_filtered_again_if_configured(broker: Client) -> None:
    await broker.heartbeat("id", consumer("G", sql("a = 1"), subscription("%RETRY%G", version=5)))
    for number, topic in enumerate(("T", "T", "Other", None)):
        named = {} if topic is None else {"RETRY_TOPIC": topic}
        await broker.send("%RETRY%G", b"m%d" % number, properties=properties_text(a=str(number), **named))
    for wanted, found in (("false", 4), ("true", 3)):
        await broker.set_config(filterSupportRetry=wanted)
        answer = await broker.pull("%RETRY%G", sys_flag=FROM_HEARTBEAT, sub_version=5)
        assert len(records(answer.body)) == found
    assert bodies(answer) == [b"m1", b"m2", b"m3"]


# --- the file ---


async def test_the_file_has_the_time_when_the_last_consumer_left(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        first, second = server.broker(), server.broker()
        await first.create_topic("T")
        for client in (first, second):
            await client.heartbeat("id", consumer("G", sql("a = 1")))
        leave = {"clientID": "id", "consumerGroup": "G"}
        assert (await first.request(RequestCode.UNREGISTER_CLIENT, leave)).header.code == 0
        mock_clock().jump(10)
        await settle()
        assert not saved(tmp_path)["dead"]
        second.close()
        await settle()
    assert saved(tmp_path)["dead"]
    async with serving(tmp_path / "store") as server:
        broker = server.broker()
        await broker.send("T", b"m", properties=properties_text(a="1"))
        await broker.heartbeat("id", consumer("G", sql("a = 1")))
        answer = await broker.pull("T", sys_flag=FROM_HEARTBEAT, sub_version=5)
        assert bodies(answer) == [b"m"]


def saved(folder: Path) -> dict[str, object]:
    """G's filter of T in the file."""
    document = json.loads((folder / "store" / "config" / "consumerFilter.json").read_bytes())
    found: dict[str, object] = document["filterDataByTopic"]["T"]["groupFilterData"]["G"]
    return found
