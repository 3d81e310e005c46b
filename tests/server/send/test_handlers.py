"""Sends by every code and path; all of them refuse bad sends with Apache's remarks."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire.wire.facts.codes import RequestCode, ResponseCode, SysFlag
from rocketwire.wire.frame import Frame
from rocketwire.wire.java import hash_map_order
from rocketwire.wire.properties import decode_properties
from rocketwire.wire.recall_handle import decode_recall_handle
from tests.server.harness import (
    BINARY,
    BROKER_PROPERTIES,
    BROKER_TEXT,
    JSON,
    NOW,
    Client,
    FullDisk,
    HangingDisk,
    Server,
    batch_body,
    code_and_remark,
    properties_text,
    records,
    send_ext,
    serving_topic,
    settle,
)

MIB = 1 << 20
TOO_LARGE = (
    "the message is illegal, maybe msg body or properties length not matched. "
    "msg body length limit 4194304B, msg properties length limit 32KB."
)
NO_TIME = (
    "timer message illegal, the delay time should not be bigger than the max delay 3456000000ms; "
    "or if set del msg, the delay time should be bigger than the current time"
)
FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


async def send_v2_json(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    """Decoded fast."""
    return await client.request(RequestCode.SEND_MESSAGE_V2, send_ext(topic, **changes), body)


async def send_v2_binary(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    return await client.request(RequestCode.SEND_MESSAGE_V2, send_ext(topic, **changes), body, serialize_type=BINARY)


async def send_v1_json(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    return await client.request(RequestCode.SEND_MESSAGE, send_ext(topic, short=False, **changes), body)


async def send_v1_binary(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    ext = send_ext(topic, short=False, **changes)
    return await client.request(RequestCode.SEND_MESSAGE, ext, body, serialize_type=BINARY)


WAYS = [send_v2_json, send_v2_binary, send_v1_json, send_v1_binary]
every_way = pytest.mark.parametrize("send", WAYS)


async def stored(client: Client, topic: str, queue_id: int = 0) -> list[bytes]:
    """Bodies in a queue."""
    answer = await client.pull(topic, queue_id=queue_id)
    return [message.body for message in records(answer.body)]


@every_way
async def test_a_message_is_stored_and_its_offset_returned(server: Server, broker: Client, send: Any) -> None:
    first = await send(broker, "T", b"one", queue_id=1)
    second = await send(broker, "T", b"two", queue_id=1)
    assert [frame.header.code for frame in (first, second)] == [0, 0]
    assert [frame.header.remark for frame in (first, second)] == [None, None]
    host = f"7F000001{server.advertised.port:08X}"
    ext = second.header.ext
    assert ext is not None
    place = ext.pop("msgId")
    assert ext == {"queueId": "1", "queueOffset": "1", "TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}
    assert len(place) == 32
    assert place.startswith(host)
    seen = await broker.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(int(place[16:], 16))})
    assert [message.body for message in records(seen.body)] == [b"two"]


@every_way
async def test_all_fields_of_the_producer_are_in_the_record(server: Server, broker: Client, send: Any) -> None:
    text = properties_text(KEYS="k1 k2", UNIQ_KEY="U", WAIT="true", TAGS="标签", own="值")
    await send(broker, "T", b"\x00\xff", properties=text, flag=-5, born_timestamp=123, reconsume_times=3)
    (message,) = records((await broker.pull("T")).body)
    assert message.topic == "T"
    assert message.body == b"\x00\xff"
    assert (message.flag, message.born_timestamp, message.reconsume_times) == (-5, 123, 3)
    assert (message.store_timestamp, message.sys_flag) == (NOW, 0)
    assert message.born_host == ("127.0.0.1", broker.sock.getsockname()[1])
    assert message.store_host == ("127.0.0.1", server.advertised.port)
    assert message.properties.decode() == properties_text(
        KEYS="k1 k2", UNIQ_KEY="U", TAGS="标签", own="值", **BROKER_PROPERTIES
    )


@every_way
async def test_the_answer_is_serialised_as_the_request_was(broker: Client, send: Any) -> None:
    answer = await send(broker, "T", b"x")
    assert answer.serialize_type == (BINARY if send in {send_v2_binary, send_v1_binary} else JSON)
    assert answer.header.language == "JAVA"
    assert answer.header.version == 407
    assert answer.header.flag == 1


@pytest.mark.parametrize("code", [RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_MESSAGE])
@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_a_one_way_send_is_stored_and_never_answered(broker: Client, code: int, serialize_type: int) -> None:
    ext = send_ext("T", short=code == RequestCode.SEND_MESSAGE_V2)
    await broker.send_oneway(code, ext, b"quiet", serialize_type=serialize_type)
    await broker.send_oneway(code, {**ext, "queueId": "99", "e": "99"}, b"refused", serialize_type=serialize_type)
    assert await broker.arrived() == []
    assert await stored(broker, "T") == [b"quiet"]


@every_way
async def test_an_empty_body_is_stored_as_4_9_does(broker: Client, send: Any) -> None:
    assert (await send(broker, "T", b"")).header.code == 0
    assert await stored(broker, "T") == [b""]


# --- topics and queues ---


@every_way
@pytest.mark.parametrize(("requested", "made"), [(4, 4), (100, 8), (0, 0)])
async def test_an_unknown_topic_is_created_after_its_template(
    broker: Client, send: Any, requested: int, made: int
) -> None:
    answer = await send(broker, "New", b"x", default_topic_queue_nums=requested, queue_id=-1)
    assert answer.header.code == 0
    topics = await broker.request(RequestCode.GET_ALL_TOPIC_CONFIG)
    expected = (
        f'"New":{{"order":false,"perm":6,"readQueueNums":{made},"topicFilterType":"SINGLE_TAG",'
        f'"topicName":"New","topicSysFlag":0,"writeQueueNums":{made}}}'
    )
    assert expected in bytes(topics.body).decode()


@every_way
async def test_the_route_of_a_created_topic_exists_before_the_answer(
    broker: Client, name_server: Client, send: Any
) -> None:
    await send(broker, "New", b"x")
    route = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "New"})
    assert route.header.code == 0


@every_way
async def test_no_topic_is_created_when_that_is_off(broker: Client, send: Any) -> None:
    assert (await broker.set_config(autoCreateTopicEnable="false")).header.code == 0
    answer = await send(broker, "New", b"x")
    expected = f"topic[New] not exist, apply first please!{FAQ}"
    assert code_and_remark(answer) == (ResponseCode.TOPIC_NOT_EXIST, expected)
    assert answer.header.ext == {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}


@pytest.mark.parametrize("model", ["Nothing", "T"])
async def test_no_topic_is_created_after_a_template_without_inheritance(broker: Client, model: str) -> None:
    answer = await broker.send("New", default_topic=model)
    assert answer.header.code == ResponseCode.TOPIC_NOT_EXIST


async def test_a_retry_topic_is_created_even_when_topics_are_not(broker: Client) -> None:
    await broker.set_config(autoCreateTopicEnable="false")
    assert (await broker.send("%RETRY%G")).header.code == 0
    assert await stored(broker, "%RETRY%G") == [b"body"]


@every_way
@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        ("  ", "The specified topic is blank."),
        ("a.b", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("主题", "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"),
        ("x" * 128, "The specified topic is longer than topic max length."),
    ],
)
async def test_bad_topic_names_are_refused_with_apaches_remarks(
    broker: Client, send: Any, topic: str, remark: str
) -> None:
    assert code_and_remark(await send(broker, topic, b"x")) == (ResponseCode.SYSTEM_ERROR, remark)


@every_way
async def test_the_longest_topic_name_is_accepted(broker: Client, send: Any) -> None:
    topic = "x" * 127
    assert (await send(broker, topic, b"long")).header.code == 0
    assert await stored(broker, topic) == [b"long"]


@every_way
@pytest.mark.parametrize(
    "topic",
    [
        "SCHEDULE_TOPIC_XXXX",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    ],
)
async def test_system_topics_accept_no_sends(broker: Client, send: Any, topic: str) -> None:
    answer = await send(broker, topic, b"x")
    assert code_and_remark(answer) == (ResponseCode.NO_PERMISSION, f"Sending message to topic[{topic}] is forbidden.")


@every_way
async def test_a_queue_the_topic_does_not_have_is_refused(broker: Client, send: Any) -> None:
    answer = await send(broker, "T", b"x", queue_id=2)
    expected = (
        "request queueId[2] is illegal, TopicConfig [topicName=T, readQueueNums=2, writeQueueNums=2, perm=RW-, "
        f"topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false] Producer: {broker.local}"
    )
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, expected)


@every_way
async def test_a_read_only_queue_accepts_a_send_as_apaches_does(broker: Client, send: Any) -> None:
    await broker.create_topic("Shrunk", read_queue_nums=4, write_queue_nums=2)
    assert (await send(broker, "Shrunk", b"x", queue_id=3)).header.code == 0
    assert (await send(broker, "Shrunk", b"x", queue_id=4)).header.code == ResponseCode.SYSTEM_ERROR


@every_way
async def test_without_a_queue_a_writable_one_is_chosen(server: Server, broker: Client, send: Any) -> None:
    answer = await send(broker, "T", b"x", queue_id=-1)
    assert server.chosen == [2]
    assert answer.header.ext is not None
    assert answer.header.ext["queueId"] == "1"
    assert await stored(broker, "T", 1) == [b"x"]


@every_way
async def test_an_ordered_topic_of_a_broker_without_write_permission_accepts_nothing(broker: Client, send: Any) -> None:
    await broker.create_topic("Ordered", order=True)
    await broker.set_config(brokerPermission=4)
    answer = await send(broker, "Ordered", b"x")
    expected = "the broker[127.0.0.1] sending message is forbidden"
    assert code_and_remark(answer) == (ResponseCode.NO_PERMISSION, expected)
    assert (await send(broker, "T", b"x")).header.code == 0


@every_way
async def test_messages_of_a_multi_tag_topic_have_its_flag(broker: Client, send: Any) -> None:
    await broker.create_topic("Many", topic_filter_type="MULTI_TAG")
    await send(broker, "Many", b"x")
    (message,) = records((await broker.pull("Many")).body)
    assert message.sys_flag == SysFlag.MULTI_TAGS


# --- what is in the message ---


@every_way
async def test_a_body_of_4_mib_is_stored_and_a_longer_one_refused(broker: Client, send: Any) -> None:
    largest = bytes(4 * MIB)
    assert (await send(broker, "T", largest)).header.code == 0
    answer = await send(broker, "T", largest + b"x", queue_id=1)
    assert code_and_remark(answer) == (ResponseCode.MESSAGE_ILLEGAL, TOO_LARGE)
    assert await stored(broker, "T") == [largest]
    assert await stored(broker, "T", 1) == []


@every_way
async def test_the_limit_of_a_body_is_configured(broker: Client, send: Any) -> None:
    await broker.set_config(maxMessageSize=10)
    assert (await send(broker, "T", b"0123456789")).header.code == 0
    answer = await send(broker, "T", b"0123456789A")
    assert code_and_remark(answer) == (ResponseCode.MESSAGE_ILLEGAL, TOO_LARGE.replace("4194304", "10"))


@every_way
async def test_properties_of_more_than_32767_bytes_are_refused(broker: Client, send: Any) -> None:
    room = 32767 - len(f"\x02{BROKER_TEXT}")
    fits = properties_text(p="x" * (room - 2))
    assert (await send(broker, "T", b"x", properties=fits)).header.code == 0
    answer = await send(broker, "T", b"x", properties=fits + "x")
    assert code_and_remark(answer) == (ResponseCode.MESSAGE_ILLEGAL, TOO_LARGE)
    # Counted are bytes, not characters.
    answer = await send(broker, "T", b"x", properties=properties_text(p="字" * 11_000))
    assert answer.header.code == ResponseCode.MESSAGE_ILLEGAL
    assert len(await stored(broker, "T")) == 1


@every_way
@pytest.mark.parametrize("kind", [4, 5, 6, 7])
async def test_an_unknown_compression_is_refused(broker: Client, send: Any, kind: int) -> None:
    answer = await send(broker, "T", b"x", sys_flag=SysFlag.COMPRESSED | kind << 8)
    assert answer.header.code == ResponseCode.MESSAGE_ILLEGAL
    assert answer.header.remark is not None
    assert "compression" in answer.header.remark
    assert await stored(broker, "T") == []


@every_way
@pytest.mark.parametrize("kind", [0, 0x100, 0x200, 0x300])
async def test_a_compressed_body_is_stored_unchanged(broker: Client, send: Any, kind: int) -> None:
    packed = zlib.compress(b"x" * 5000)
    sys_flag = SysFlag.COMPRESSED | kind
    await send(broker, "T", packed, sys_flag=sys_flag)
    (message,) = records((await broker.pull("T")).body)
    assert (message.body, message.sys_flag) == (packed, sys_flag)


@every_way
async def test_the_producer_does_not_choose_the_length_of_addresses(broker: Client, send: Any) -> None:
    await send(broker, "T", b"x", sys_flag=SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6)
    (message,) = records((await broker.pull("T")).body)
    assert message.sys_flag == 0


@every_way
@pytest.mark.parametrize(
    ("properties", "remark"),
    [
        ({"DELAY": "soon"}, "property DELAY: 'soon' is no delay level"),
        ({"TIMER_DELAY_SEC": "soon"}, NO_TIME),
        ({"TIMER_DELAY_SEC": "3456001"}, NO_TIME),
        ({"TIMER_DELAY_MS": "-1"}, NO_TIME),
        ({"TIMER_DELIVER_MS": "1", "TIMER_DEL_UNIQKEY": "U"}, NO_TIME),
    ],
    ids=str,
)
async def test_a_message_that_would_be_delivered_at_a_wrong_time_is_refused(
    broker: Client, send: Any, properties: dict[str, str], remark: str
) -> None:
    answer = await send(broker, "T", b"x", properties=properties_text(**properties))
    assert code_and_remark(answer) == (ResponseCode.MESSAGE_ILLEGAL, remark)
    assert await stored(broker, "T") == []


@every_way
async def test_a_timer_message_is_answered_with_its_recall_handle(broker: Client, send: Any) -> None:
    for offset in range(2):
        answer = await send(broker, "T", b"x", properties=properties_text(UNIQ_KEY="U", TIMER_DELIVER_MS=str(NOW + 1)))
        ext = answer.header.ext
        assert ext is not None
        assert (answer.header.code, ext["queueId"], ext["queueOffset"]) == (0, "0", str(offset))
        assert decode_recall_handle(ext["recallHandle"]) == ("T", "broker-a", NOW + 1, "U")
    assert await stored(broker, "T") == []


async def test_a_header_without_a_topic_is_answered(broker: Client) -> None:
    ext = send_ext("T")
    del ext["b"]
    answer = await broker.request(RequestCode.SEND_MESSAGE_V2, ext, b"x")
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark is not None
    assert "topic" in answer.header.remark


async def test_a_header_with_a_malformed_number_is_answered(broker: Client) -> None:
    answer = await broker.request(RequestCode.SEND_MESSAGE_V2, {**send_ext("T"), "e": "first"}, b"x")
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark is not None
    assert "first" in answer.header.remark


@pytest.mark.parametrize("field", ["d", "e", "f", "g", "h", "j", "l"])
async def test_a_number_that_no_record_can_hold_is_refused(broker: Client, field: str) -> None:
    number = str(2**63 if field == "g" else 2**31)
    answer = await broker.request(RequestCode.SEND_MESSAGE_V2, {**send_ext("T"), field: number}, b"x")
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark is not None
    assert number in answer.header.remark
    assert await stored(broker, "T") == []


# --- batches ---


async def send_batch(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    """Decoded fast."""
    ext = send_ext(topic, batch=True, **changes)
    return await client.request(RequestCode.SEND_BATCH_MESSAGE, ext, body)


async def send_batch_binary(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    ext = send_ext(topic, batch=True, **changes)
    return await client.request(RequestCode.SEND_BATCH_MESSAGE, ext, body, serialize_type=BINARY)


async def send_batch_v1(client: Client, topic: str, body: bytes, **changes: Any) -> Frame:
    """An old client's: SEND_MESSAGE whose header says that it is a batch."""
    ext = send_ext(topic, short=False, batch=True, **changes)
    return await client.request(RequestCode.SEND_MESSAGE, ext, body)


every_batch_way = pytest.mark.parametrize("send", [send_batch, send_batch_binary, send_batch_v1])


@every_batch_way
async def test_a_batch_is_stored_message_by_message(broker: Client, send: Any) -> None:
    await broker.send("T", b"before")
    body = batch_body([b"one", b"two", b"three"], properties_text(TAGS="t", UNIQ_KEY="U"))
    answer = await send(broker, "T", body, properties=properties_text(WAIT="true"))
    ext = answer.header.ext
    assert answer.header.code == 0
    assert ext is not None
    assert (ext["queueId"], ext["queueOffset"]) == ("0", "1")
    messages = records((await broker.pull("T", 1)).body)
    assert [message.body for message in messages] == [b"one", b"two", b"three"]
    assert [message.queue_offset for message in messages] == [1, 2, 3]
    assert ext["msgId"].split(",") == [
        f"7F000001{message.store_host[1]:08X}{message.physical_offset:016X}" for message in messages
    ]
    # A batch's own properties are in the order of Java's hash table, as by 4.9.7.
    common = {**BROKER_PROPERTIES, "WAIT": "true"}
    in_hash_order = {name: common[name] for name in hash_map_order(common)}
    for message in messages:
        text = message.properties.decode()
        assert text == properties_text(TAGS="t", UNIQ_KEY="U", **in_hash_order)
        assert decode_properties(text)["TAGS"] == "t"


@every_batch_way
async def test_a_batch_of_one_may_have_no_properties(broker: Client, send: Any) -> None:
    answer = await send(broker, "T", batch_body([b"one"]), properties="")
    assert answer.header.code == 0
    (message,) = records((await broker.pull("T")).body)
    assert decode_properties(message.properties.decode()) == BROKER_PROPERTIES


@every_batch_way
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\x00",
        bytes(32),
        batch_body([b"one"])[:-1],
        batch_body([b"one"]) + b"\x00",
        b"\x7f\xff\xff\xff" + bytes(30),
        b"\xff\xff\xff\xff" + bytes(30),
    ],
    ids=["empty", "short", "zeros", "cut", "more", "too long", "negative"],
)
async def test_a_malformed_batch_is_refused_whole(broker: Client, send: Any, body: bytes) -> None:
    answer = await send(broker, "T", body)
    assert answer.header.code == ResponseCode.MESSAGE_ILLEGAL
    assert answer.header.remark
    assert await stored(broker, "T") == []


NUL_REFUSED = (ResponseCode.MESSAGE_ILLEGAL, "the message is illegal: a property holds a NUL character (\\u0000)")


@every_way
async def test_properties_with_a_nul_are_refused(broker: Client, send: Any) -> None:
    answer = await send(broker, "T", b"x", properties=properties_text(UNIQ_KEY="U", text="a\0b"))
    assert code_and_remark(answer) == NUL_REFUSED
    assert await stored(broker, "T") == []


@every_batch_way
@pytest.mark.parametrize(("own", "common"), [("a\0b", "c"), ("a", "c\0")])
async def test_a_batch_with_a_nul_in_its_properties_is_refused(
    broker: Client, send: Any, own: str, common: str
) -> None:
    body = batch_body([b"one", b"two"], properties_text(own=own))
    assert code_and_remark(await send(broker, "T", body, properties=properties_text(common=common))) == NUL_REFUSED
    assert await stored(broker, "T") == []


@every_batch_way
async def test_a_batch_for_a_retry_topic_is_refused(broker: Client, send: Any) -> None:
    answer = await send(broker, "%RETRY%G", batch_body([b"one"]))
    expected = "batch request does not support retry group %RETRY%G"
    assert code_and_remark(answer) == (ResponseCode.MESSAGE_ILLEGAL, expected)


@every_batch_way
async def test_a_batch_with_a_delayed_message_is_refused(broker: Client, send: Any) -> None:
    answer = await send(broker, "T", batch_body([b"one"], properties_text(DELAY="1")))
    expected = "a batch takes no delayed or transactional messages"
    assert code_and_remark(answer) == (ResponseCode.MESSAGE_ILLEGAL, expected)


@every_batch_way
async def test_a_batchs_properties_are_stored_unchanged_bad_utf8_too(broker: Client, send: Any) -> None:
    body = batch_body([b"one"], "own\x01abcd").replace(b"abcd", b"a\xff\xfed")
    assert (await send(broker, "T", body)).header.code == 0
    (message,) = records((await broker.pull("T")).body)
    assert message.properties.startswith(b"own\x01a\xff\xfed\x02")


@every_batch_way
@pytest.mark.parametrize("valid", [True, False])
async def test_a_batch_that_is_too_large_as_a_whole_is_refused_unread(broker: Client, send: Any, valid: bool) -> None:
    body = batch_body([b"one", b"four"]) if valid else bytes(60)
    await broker.set_config(maxMessageSize=len(body))
    assert ((await send(broker, "T", body)).header.code == 0) is valid
    await broker.set_config(maxMessageSize=len(body) - 1)
    answer = await send(broker, "T", body)
    assert answer.header.code == ResponseCode.MESSAGE_ILLEGAL
    assert answer.header.remark is not None
    assert f"msg body length limit {len(body) - 1}B" in answer.header.remark
    assert await stored(broker, "T") == ([b"one", b"four"] if valid else [])


@every_batch_way
async def test_a_batch_for_an_unknown_queue_is_refused(broker: Client, send: Any) -> None:
    answer = await send(broker, "T", batch_body([b"one"]), queue_id=7)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark is not None
    assert answer.header.remark.startswith("request queueId[7] is illegal, TopicConfig [topicName=T,")


# --- the disk ---


@every_way
async def test_under_sync_flush_the_answer_waits_for_the_disk_if_the_producer_wants_that(
    tmp_path: Path, send: Any
) -> None:
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH") as (server, client):
        assert (await send(client, "T", b"durable")).header.code == 0
        disk.hangs = True
        assert (await send(client, "T", b"x", properties=properties_text(WAIT="false"))).header.code == 0
        answers: list[Frame] = []
        async with trio.open_nursery() as nursery:

            async def one() -> None:
                answers.append(await send(client, "T", b"waits"))

            nursery.start_soon(one)
            await settle()
            assert answers == []
            # The message is visible to consumers, as with Apache.
            assert len(await stored(server.broker(), "T")) == 3
            disk.move()
        assert [answer.header.code for answer in answers] == [0]


@every_way
async def test_under_sync_flush_a_hanging_disk_is_answered(tmp_path: Path, send: Any) -> None:
    disk = HangingDisk()
    async with serving_topic(tmp_path, run_sync=disk, flush_disk_type="SYNC_FLUSH") as (server, client):
        disk.hangs = True
        answers: list[Frame] = []
        async with trio.open_nursery() as nursery:

            async def one() -> None:
                answers.append(await send(client, "T", b"waits"))

            nursery.start_soon(one)
            await settle()
            await server.pass_time(4.9)
            assert answers == []
            await server.pass_time(0.2)
        disk.move()
        (answer,) = answers
        assert answer.header.code == ResponseCode.FLUSH_DISK_TIMEOUT
        assert answer.header.ext is not None
        assert answer.header.ext["queueOffset"] == "0"


@every_way
async def test_a_full_disk_refuses_with_code_14_loses_nothing_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, send: Any
) -> None:
    disk = FullDisk(monkeypatch)
    async with serving_topic(tmp_path, mapped_file_size_commit_log=2 * MIB) as (_, client):
        disk.full = True
        acknowledged = 0
        while acknowledged < 100:
            answer = await send(client, "T", b"%06d" % acknowledged + bytes(200_000))
            if answer.header.code:
                break
            acknowledged += 1
        assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert answer.header.remark is not None
        assert "the broker's disk is full" in answer.header.remark
        assert answer.header.ext == {"TRACE_ON": "true", "MSG_REGION": "DefaultRegion"}
        assert (await send(client, "T", bytes(200_000))).header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        batch = await send_batch(client, "T", batch_body([bytes(150_000), bytes(150_000)]))
        assert batch.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        batch = await send_batch_binary(client, "T", batch_body([bytes(150_000), bytes(150_000)]))
        assert batch.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        disk.full = False
        assert (await send(client, "T", b"%06d" % acknowledged)).header.code == 0
        found: list[bytes] = []
        while len(found) <= acknowledged:
            bodies = [m.body for m in records((await client.pull("T", len(found))).body)]
            assert bodies
            found += bodies
        assert [int(body[:6]) for body in found] == list(range(acknowledged + 1))
