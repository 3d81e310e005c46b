"""Pulls by the table of the protocol: answers, next offsets, and pulls that are held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.bodies.client import MessageModel
from rocketwire.wire.facts.codes import FLAG_ONEWAY, PullSysFlag, RequestCode, ResponseCode
from rocketwire.wire.java import string_hash
from tests.server.harness import (
    BINARY,
    Client,
    Server,
    batch_body,
    bodies,
    code_and_remark,
    consumer,
    offsets_of,
    properties_text,
    pull_ext,
    records,
    send_ext,
    serving,
    subscription,
)

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
FROM_HEARTBEAT = PullSysFlag.SUSPEND
KIB = 1024


@pytest.fixture
async def filled(broker: Client) -> Client:
    """T's queue 0 has ten messages, whose tags alternate between A and B."""
    for number in range(10):
        await broker.send("T", b"m%d" % number, tags="AB"[number % 2])
    return broker


# --- quotas ---

OVER = (
    ResponseCode.FLOW_CONTROL,
    "Rate of message receiving reaches limit, please take a control or upgrade the resource specification.",
)


async def test_a_pull_over_its_quota_is_refused_and_moves_nothing(filled: Client, server: Server) -> None:
    await filled.set_config(groupQuotas="G=-/4")
    assert bodies(await filled.pull("T", 0, max_msg_nums=6)) == [b"m%d" % number for number in range(6)]
    for offset in (6, 10, 100):
        refused = await filled.pull("T", offset, sys_flag=PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET)
        assert (code_and_remark(refused), refused.header.ext, refused.body) == (OVER, {}, b"")
    answer = await filled.request(
        RequestCode.QUERY_CONSUMER_OFFSET, {"consumerGroup": "G", "topic": "T", "queueId": "0"}
    )
    assert answer.header.code == 0
    assert answer.header.ext == {"offset": "0"}
    assert (await filled.pull("T", 6, consumer_group="H")).header.code == 0
    await server.pass_time(0.6)
    assert bodies(await filled.pull("T", 6)) == [b"m6", b"m7", b"m8", b"m9"]


async def test_a_held_pull_over_its_quota_is_refused_when_a_message_comes(filled: Client, server: Server) -> None:
    await filled.set_config(groupQuotas="G=-/1", throttleWording="flow-control")
    waiting, other = server.broker(), server.broker()
    await waiting.hold("T", 10)
    await other.hold("T", 10, consumer_group="H")
    assert len(bodies(await filled.pull("T", 0, max_msg_nums=5))) == 5
    await filled.send("T", b"m10")
    (refused,) = await waiting.arrived()
    assert code_and_remark(refused) == (ResponseCode.FLOW_CONTROL, "messages flow control")
    (found,) = await other.arrived()
    assert bodies(found) == [b"m10"]
    await server.pass_time(4.5)
    assert bodies(await waiting.pull("T", 10)) == [b"m10"]


async def test_a_held_pull_within_its_quota_is_charged(filled: Client, server: Server) -> None:
    await filled.set_config(groupQuotas="G=-/1")
    waiting = server.broker()
    await waiting.hold("T", 10)
    await filled.send("T", b"m10")
    (found,) = await waiting.arrived()
    assert bodies(found) == [b"m10"]
    assert (await waiting.pull("T", 11)).header.code == ResponseCode.FLOW_CONTROL


async def test_a_pull_that_finds_nothing_is_not_charged(filled: Client) -> None:
    await filled.set_config(groupQuotas="G=-/1")
    for _ in range(3):
        assert (await filled.pull("T", 10)).header.code == ResponseCode.PULL_NOT_FOUND


async def test_reads_from_the_disk_over_a_threshold_are_refused(tmp_path: Path) -> None:
    async with serving(
        tmp_path / "store",
        access_message_in_memory_max_ratio=0,
        cold_data_flow_control_enable=True,
        cg_cold_read_threshold=KIB,
    ) as server:
        client = server.broker()
        await client.create_topic("T")
        for _ in range(4):
            await client.send("T", bytes(KIB))
        assert len(bodies(await client.pull("T", 0, max_msg_nums=1))) == 1
        assert code_and_remark(await client.pull("T", 1)) == OVER
        assert len(bodies(await client.pull("T", 0, max_msg_nums=1, consumer_group="H"))) == 1
        assert (await client.pull("T", 4)).header.code == ResponseCode.PULL_NOT_FOUND
        await client.set_config(coldDataFlowControlEnable="false")
        assert len(bodies(await client.pull("T", 1))) == 3


async def test_messages_read_for_a_filter_are_charged_though_none_matches(tmp_path: Path) -> None:
    async with serving(
        tmp_path / "store",
        access_message_in_memory_max_ratio=0,
        cold_data_flow_control_enable=True,
        cg_cold_read_threshold=KIB,
        enable_property_filter=True,
    ) as server:
        client = server.broker()
        await client.create_topic("T")
        for _ in range(3):
            await client.send("T", bytes(KIB), properties=properties_text(a="1"))

        async def code(wanted: str, kind: str) -> int:
            return (await client.pull("T", subscription=wanted, expression_type=kind)).header.code

        assert [await code("x", "TAG") for _ in range(3)] == [ResponseCode.PULL_RETRY_IMMEDIATELY] * 3
        codes = [await code("a = '2'", "SQL92") for _ in range(3)]
        assert codes == [ResponseCode.PULL_RETRY_IMMEDIATELY] + [ResponseCode.FLOW_CONTROL] * 2
        assert (await client.pull("T", 3)).header.code == ResponseCode.PULL_NOT_FOUND
        await server.pass_time(11)
        assert await code("a = '2'", "SQL92") == ResponseCode.PULL_RETRY_IMMEDIATELY


# --- the table ---


async def test_a_pull_finds_messages(filled: Client) -> None:
    answer = await filled.pull("T", 4, max_msg_nums=3)
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, "FOUND")
    assert offsets_of(answer) == (7, 0, 10)
    assert bodies(answer) == [b"m4", b"m5", b"m6"]
    assert answer.header.ext is not None
    assert answer.header.ext["suggestWhichBrokerId"] == "0"


@pytest.mark.parametrize(
    ("topic", "offset", "changes", "code", "remark", "offsets"),
    [
        ("T", 10, {}, ResponseCode.PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE", (10, 0, 10)),
        ("T", 2, {"subscription": "C"}, ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE", (10, 0, 10)),
        ("T", 11, {}, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", (10, 0, 10)),
        ("T", 1_000_000, {}, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY", (10, 0, 10)),
        ("T", -1, {}, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL", (0, 0, 10)),
        ("U", 0, {}, ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE", (0, 0, 0)),
        ("U", 5, {}, ResponseCode.PULL_OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE", (0, 0, 0)),
        ("OFFSET_MOVED_EVENT", 0, {}, ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE", (0, 0, 0)),
    ],
)
async def test_a_pull_outside_the_queue_gets_the_next_offset(
    filled: Client,
    topic: str,
    offset: int,
    changes: dict[str, Any],
    code: ResponseCode,
    remark: str,
    offsets: tuple[int, int, int],
) -> None:
    await filled.create_topic("U")
    answer = await filled.pull(topic, offset, **changes)
    assert (code_and_remark(answer), offsets_of(answer), answer.body) == ((code, remark), offsets, b"")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("*", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("A", [0, 2, 4, 6, 8]),
        ("A || B", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("C||B", [1, 3, 5, 7, 9]),
    ],
)
async def test_the_tags_of_the_request_are_the_filter(filled: Client, expression: str, found: list[int]) -> None:
    answer = await filled.pull("T", subscription=expression)
    assert bodies(answer) == [b"m%d" % number for number in found]
    assert offsets_of(answer)[0] == 10


async def test_tags_are_compared_by_their_hash_only(broker: Client) -> None:
    assert string_hash("Aa") == string_hash("BB")
    await broker.send("T", tags="Aa")
    assert len(records((await broker.pull("T", subscription="BB")).body)) == 1


@pytest.mark.parametrize("nums", [0, -1, 1])
async def test_one_message_is_delivered_even_if_none_is_requested(filled: Client, nums: int) -> None:
    answer = await filled.pull("T", max_msg_nums=nums)
    assert bodies(answer) == [b"m0"]


async def test_at_most_32_messages_are_delivered(broker: Client) -> None:
    ext = send_ext("T", batch=True)
    await broker.request(RequestCode.SEND_BATCH_MESSAGE, ext, batch_body([b"%d" % number for number in range(100)]))
    answer = await broker.pull("T", max_msg_nums=1000)
    assert len(records(answer.body)) == 32
    assert offsets_of(answer)[0] == 32


async def test_at_most_256_kib_are_delivered_but_always_one_message(broker: Client) -> None:
    await broker.send("T", bytes(300 * KIB))
    for _ in range(4):
        await broker.send("T", bytes(100 * KIB))
    answer = await broker.pull("T")
    assert [len(body) for body in bodies(answer)] == [300 * KIB]
    answer = await broker.pull("T", 1)
    assert [len(body) for body in bodies(answer)] == [100 * KIB] * 2
    answer = await broker.pull("T", 1, max_msg_bytes=150 * KIB)
    assert [len(body) for body in bodies(answer)] == [100 * KIB]


async def test_the_limits_are_configured(tmp_path: Path) -> None:
    async with serving(tmp_path, max_transfer_count_on_message_in_memory=2) as server:
        client = server.broker()
        for _ in range(3):
            await client.send("New")
        assert len(records((await client.pull("New")).body)) == 2


async def test_a_pull_delivers_as_many_as_client_and_broker_allow(tmp_path: Path) -> None:
    async with serving(
        tmp_path,
        max_transfer_count_on_message_in_memory=1024,
        max_transfer_bytes_on_message_in_memory=1 << 20,
        mapped_file_size_consume_queue=60_000,  # an answer ends where a file of the queue does
    ) as server:
        client = server.broker()
        body = batch_body([b"%d" % each for each in range(1100)])
        ext = send_ext("New", batch=True)
        assert (await client.request(RequestCode.SEND_BATCH_MESSAGE, ext, body)).header.code == 0
        for most in (1, 1024):
            answer = await client.pull("New", 7, max_msg_nums=most)
            assert bodies(answer) == [b"%d" % each for each in range(7, 7 + most)]


async def test_a_pull_of_a_5x_lite_consumer_is_answered(filled: Client) -> None:
    answer = await filled.request(RequestCode.LITE_PULL_MESSAGE, pull_ext("T", 9))
    assert bodies(answer) == [b"m9"]


async def test_a_binary_pull_gets_a_binary_answer(filled: Client) -> None:
    answer = await filled.request(RequestCode.PULL_MESSAGE, pull_ext("T", 9), serialize_type=BINARY)
    assert answer.serialize_type == BINARY
    assert offsets_of(answer) == (10, 0, 10)
    assert bodies(answer) == [b"m9"]


async def test_a_one_way_pull_is_not_answered(filled: Client) -> None:
    await filled.send_oneway(RequestCode.PULL_MESSAGE, pull_ext("T"))
    assert await filled.arrived() == []


# --- refusals ---


async def test_an_unknown_topic_is_refused(broker: Client) -> None:
    expected = f"topic[Nowhere] not exist, apply first please! {FAQ}"
    assert code_and_remark(await broker.pull("Nowhere")) == (ResponseCode.TOPIC_NOT_EXIST, expected)


@pytest.mark.parametrize("queue_id", [-1, 2])
async def test_an_unknown_queue_is_refused(broker: Client, queue_id: int) -> None:
    expected = f"queueId[{queue_id}] is illegal, topic:[T] topicConfig.readQueueNums:[2] consumer:[{broker.local}]"
    assert code_and_remark(await broker.pull("T", queue_id=queue_id)) == (ResponseCode.SYSTEM_ERROR, expected)


async def test_a_topic_or_a_broker_without_read_permission_is_refused(broker: Client) -> None:
    await broker.create_topic("Write", perm=2)
    expected = "the topic[Write] pulling message is forbidden"
    assert code_and_remark(await broker.pull("Write")) == (ResponseCode.NO_PERMISSION, expected)
    await broker.set_config(brokerPermission=2)
    expected = "the broker[127.0.0.1] pulling message is forbidden"
    assert code_and_remark(await broker.pull("T")) == (ResponseCode.NO_PERMISSION, expected)


async def test_a_group_that_may_not_be_created_is_refused(broker: Client) -> None:
    await broker.set_config(autoCreateSubscriptionGroup="false")
    expected = f"subscription group [Unknown] does not exist, {FAQ}"
    answer = await broker.pull("T", consumer_group="Unknown")
    assert code_and_remark(answer) == (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, expected)
    assert (await broker.pull("T", consumer_group="CID_RMQ_SYS_TRANS")).header.code == ResponseCode.PULL_NOT_FOUND


async def test_groups_that_may_not_consume_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "subscriptionGroup.json").write_text(
        '{"subscriptionGroupTable":{"Off":{"groupName":"Off","consumeEnable":false},'
        '"Shared":{"groupName":"Shared","consumeEnable":true,"consumeBroadcastEnable":false}}}'
    )
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.create_topic("T")
        answer = await client.pull("T", consumer_group="Off")
        assert code_and_remark(answer) == (ResponseCode.NO_PERMISSION, "subscription group no permission, Off")
        await client.heartbeat("id", consumer("Shared", subscription("T"), message_model=MessageModel.BROADCASTING))
        answer = await client.pull("T", consumer_group="Shared", sys_flag=FROM_HEARTBEAT)
        expected = "the consumer group[Shared] can not consume by broadcast way"
        assert code_and_remark(answer) == (ResponseCode.NO_PERMISSION, expected)


async def test_an_invalid_subscription_is_refused(broker: Client) -> None:
    answer = await broker.pull("T", subscription="||")
    expected = (ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")
    assert code_and_remark(answer) == expected


async def test_a_request_without_a_topic_is_refused(broker: Client) -> None:
    ext = pull_ext("T")
    del ext["topic"]
    answer = await broker.request(RequestCode.PULL_MESSAGE, ext)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.ext == {}


# --- the subscription of the heartbeat ---


@pytest.mark.parametrize(
    ("named", "code", "remark"),
    [
        (None, ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{FAQ}"),
        ("Other", ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{FAQ}"),
        ("T", ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"),
    ],
)
async def test_a_subscription_that_is_in_no_heartbeat_is_refused(
    broker: Client, named: str | None, code: ResponseCode, remark: str
) -> None:
    if named is not None:
        await broker.heartbeat("id", consumer("G", subscription(named, version=5)))
    answer = await broker.pull("T", sys_flag=FROM_HEARTBEAT, sub_version=6)
    assert code_and_remark(answer) == (code, remark)


@pytest.mark.parametrize(("expression", "found"), [("*", 10), ("A", 5), ("A || B", 10)])
async def test_the_heartbeats_tags_are_the_filter(filled: Client, expression: str, found: int) -> None:
    await filled.heartbeat("id", consumer("G", subscription("T", expression, version=5)))
    answer = await filled.pull("T", sys_flag=FROM_HEARTBEAT, sub_version=5, subscription=None, expression_type=None)
    assert len(records(answer.body)) == found


# --- commit offsets ---


async def test_a_pull_commits_if_its_flag_is_set(filled: Client) -> None:
    await filled.pull("T", 3, commit_offset=3)
    assert await filled.committed() is None
    await filled.pull("T", 3, commit_offset=3, sys_flag=PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET)
    assert await filled.committed() == 3


async def test_a_held_pull_commits_at_once(server: Server, filled: Client) -> None:
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET | PullSysFlag.SUSPEND
    await filled.hold("T", 10, commit_offset=10, sys_flag=flags)
    assert await server.broker().committed() == 10


async def test_a_refused_pull_commits_nothing(filled: Client) -> None:
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET
    await filled.pull("T", 3, commit_offset=3, sys_flag=flags, expression_type="SQL92")
    assert await filled.committed() is None


# --- long polling ---


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_pull_at_the_end_is_held_and_woken_at_once(server: Server, filled: Client, serialize_type: int) -> None:
    await filled.hold("T", 10, serialize_type=serialize_type)
    assert await filled.arrived() == []
    await server.broker().send("T", b"new")
    (answer,) = await filled.arrived()
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, "FOUND")
    assert bodies(answer) == [b"new"]
    assert offsets_of(answer) == (11, 0, 11)
    assert answer.serialize_type == serialize_type


@pytest.mark.parametrize("way", ["batch", "binary", "one-way"])
async def test_every_kind_of_send_wakes_it(server: Server, broker: Client, way: str) -> None:
    await broker.hold("T")
    sender = server.broker()
    if way == "batch":
        await sender.request(RequestCode.SEND_BATCH_MESSAGE, send_ext("T", batch=True), batch_body([b"new"]))
    elif way == "binary":
        await sender.send("T", b"new", serialize_type=BINARY)
    else:
        await sender.write(sender.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"new", flag=FLAG_ONEWAY))
    (answer,) = await broker.arrived()
    assert bodies(answer) == [b"new"]


async def test_a_consumer_that_sends_on_the_same_connection_wakes_its_pull(broker: Client) -> None:
    await broker.hold("T")
    await broker.write(broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"own"))
    answers = await broker.arrived()
    assert sorted(len(answer.body) > 0 for answer in answers) == [False, True]


async def test_only_a_message_that_passes_the_filter_wakes(server: Server, filled: Client) -> None:
    await filled.hold("T", 10, subscription="C")
    sender = server.broker()
    await sender.send("T", b"not", tags="A")
    await sender.send("T", b"nor")
    assert await filled.arrived() == []
    await sender.send("T", b"this", tags="C")
    (answer,) = await filled.arrived()
    assert bodies(answer) == [b"this"]
    assert offsets_of(answer) == (13, 0, 13)


@pytest.mark.parametrize(("offset", "remark"), [(0, "NO_MESSAGE_IN_QUEUE"), (1, "OFFSET_OVERFLOW_ONE")])
async def test_a_pull_that_nothing_wakes_is_answered_after_its_time(
    server: Server, broker: Client, offset: int, remark: str
) -> None:
    if offset:
        await broker.send("T")
    await broker.hold("T", offset, seconds=15)
    await server.pass_time(14.9, step=5)
    assert await broker.arrived() == []
    await server.pass_time(0.2)
    (answer,) = await broker.arrived()
    assert code_and_remark(answer) == (ResponseCode.PULL_NOT_FOUND, remark)
    assert offsets_of(answer) == (offset, 0, offset)


async def test_a_pull_of_unwanted_messages_gets_its_next_offset_in_the_end(server: Server, broker: Client) -> None:
    await broker.hold("T", 0, seconds=15, subscription="C")
    await server.broker().send("T", tags="A")
    await server.pass_time(15.1)
    (answer,) = await broker.arrived()
    assert answer.header.code in {ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY}
    assert offsets_of(answer) == (1, 0, 1)


async def test_without_long_polling_a_pull_waits_a_second(server: Server, broker: Client) -> None:
    await broker.set_config(longPollingEnable="false")
    await broker.hold("T", seconds=15)
    await server.pass_time(0.9)
    assert await broker.arrived() == []
    await server.pass_time(0.2)
    assert len(await broker.arrived()) == 1


@pytest.mark.parametrize(
    ("offset", "changes", "code"),
    [
        (0, {"subscription": "C"}, ResponseCode.PULL_RETRY_IMMEDIATELY),
        (11, {}, ResponseCode.PULL_OFFSET_MOVED),
        (-1, {}, ResponseCode.PULL_OFFSET_MOVED),
        (0, {}, ResponseCode.SUCCESS),
    ],
)
async def test_only_a_pull_at_the_end_is_held(
    filled: Client, offset: int, changes: dict[str, Any], code: ResponseCode
) -> None:
    await filled.hold("T", offset, **changes)
    (answer,) = await filled.arrived()
    assert answer.header.code == code


async def test_a_held_pull_of_a_closed_connection_is_forgotten(server: Server, broker: Client) -> None:
    closed = server.broker()
    await closed.hold("T", seconds=15)
    closed.close()
    await server.pass_time(1)
    assert (await broker.send("T")).header.code == 0
    await server.pass_time(20)
    assert len(records((await broker.pull("T")).body)) == 1
