"""Messages sent back by consumers (36), and sends to retry topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from rocketwire.wire.header import decode_header
from rocketwire.wire.message import MessageRecord, decode_record
from rocketwire.wire.properties import decode_properties
from tests.server.harness import (
    BINARY,
    BROKER_PROPERTIES,
    NOW,
    Client,
    Server,
    code_and_remark,
    properties_text,
    records,
    serving,
    topic_ext,
)
from tests.wire.golden import Capture, frames

RETRY = "%RETRY%G"
DEAD = "%DLQ%G"
FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


def message_id(sent: Frame) -> str:
    assert sent.header.ext is not None, sent.header.remark
    return sent.header.ext["msgId"]


def place(sent: Frame) -> int:
    """The physical offset in a send's answer."""
    return int(message_id(sent)[16:], 16)


async def send_back(client: Client, offset: int, level: int = 0, **changes: Any) -> Frame:
    options = {name: changes.pop(name) for name in ("serialize_type", "version") if name in changes}
    ext = {
        "offset": str(offset),
        "group": "G",
        "delayLevel": str(level),
        "unitMode": "false",
        "maxReconsumeTimes": "16",
    }
    ext |= {name: str(value) for name, value in changes.items()}
    ext = {name: value for name, value in ext.items() if value != "None"}
    return await client.request(RequestCode.CONSUMER_SEND_MSG_BACK, ext, **options)


async def waiting(client: Client, level: int) -> list[MessageRecord]:
    """The messages that wait in the schedule topic with that level."""
    return records((await client.pull("SCHEDULE_TOPIC_XXXX", queue_id=level - 1)).body)


async def dead(client: Client) -> list[MessageRecord]:
    return records((await client.pull(DEAD)).body)


def properties_of(message: MessageRecord) -> dict[str, str]:
    return decode_properties(message.properties.decode())


async def topics_of(client: Client) -> dict[str, Any]:
    answer = await client.request(RequestCode.GET_ALL_TOPIC_CONFIG)
    found: dict[str, Any] = json.loads(bytes(answer.body))["topicConfigTable"]
    return found


def shape_of(topic: dict[str, Any]) -> tuple[int, int, int, int]:
    return topic["readQueueNums"], topic["writeQueueNums"], topic["perm"], topic["topicSysFlag"]


def groups_file(store: Path, **group: object) -> None:
    (store / "config").mkdir()
    text = json.dumps({"subscriptionGroupTable": {"G": {"groupName": "G", **group}}})
    (store / "config" / "subscriptionGroup.json").write_text(text)


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_message_sent_back_waits_for_its_first_retry(broker: Client, serialize_type: int) -> None:
    properties = properties_text(UNIQ_KEY="U", KEYS="k", TAGS="A", mine="1")
    sent = await broker.send("T", b"body", queue_id=1, flag=5, properties=properties)
    answer = await send_back(broker, place(sent), serialize_type=serialize_type)
    assert code_and_remark(answer) == (ResponseCode.SUCCESS, None)
    assert (answer.serialize_type, answer.body) == (serialize_type, b"")
    (again,) = await waiting(broker, 3)
    assert (again.body, again.flag, again.reconsume_times) == (b"body", 5, 1)
    assert (again.born_timestamp, again.store_timestamp) == (NOW - 1, NOW)
    assert properties_of(again) == {
        "UNIQ_KEY": "U",
        "KEYS": "k",
        "TAGS": "A",
        "mine": "1",
        **BROKER_PROPERTIES,
        "RETRY_TOPIC": "T",
        "REAL_TOPIC": RETRY,
        "REAL_QID": "0",
        "ORIGIN_MESSAGE_ID": message_id(sent),
        "WAIT": "false",
        "DELAY": "3",
    }
    assert shape_of((await topics_of(broker))[RETRY]) == (1, 1, 6, 0)


async def test_the_delay_grows_with_each_try_and_the_first_message_id_stays(broker: Client) -> None:
    """The waiting message is sent back again, as the retry topic would deliver it."""
    sent = await broker.send("T")
    offset = place(sent)
    for tries, level in enumerate([3, 4, 5], 1):
        assert (await send_back(broker, offset)).header.code == 0
        (again,) = await waiting(broker, level)
        assert again.reconsume_times == tries
        assert properties_of(again)["ORIGIN_MESSAGE_ID"] == message_id(sent)
        assert properties_of(again)["RETRY_TOPIC"] == "T"
        offset = again.physical_offset


@pytest.mark.parametrize(
    ("tried", "requested", "level"), [(0, 1, 1), (0, 2, 2), (0, 18, 18), (0, 19, 18), (0, 1000, 18), (16, 0, 18)]
)
async def test_the_delay_has_the_requested_level_but_no_higher_than_the_last(
    broker: Client, tried: int, requested: int, level: int
) -> None:
    await send_back(broker, place(await broker.send("T", reconsume_times=tried)), requested, maxReconsumeTimes=20)
    (again,) = await waiting(broker, level)
    assert (again.reconsume_times, properties_of(again)["DELAY"]) == (tried + 1, str(level))


@pytest.mark.parametrize(
    ("level", "changes"),
    [
        (-1, {}),
        (-5, {}),
        (0, {"maxReconsumeTimes": 2}),
        (4, {"maxReconsumeTimes": 1}),
        (0, {"maxReconsumeTimes": 0}),
        (0, {"maxReconsumeTimes": -1}),
    ],
)
async def test_a_message_without_further_tries_becomes_a_dead_letter(
    broker: Client, level: int, changes: dict[str, Any]
) -> None:
    sent = await broker.send("T", b"hopeless", queue_id=1, tags="A", reconsume_times=2)
    assert code_and_remark(await send_back(broker, place(sent), level, **changes)) == (0, None)
    (letter,) = await dead(broker)
    assert (letter.body, letter.reconsume_times, letter.queue_id) == (b"hopeless", 3, 0)
    kept = properties_of(letter)
    assert (kept["RETRY_TOPIC"], kept["ORIGIN_MESSAGE_ID"]) == ("T", message_id(sent))
    assert (kept["DELAY"], kept["WAIT"], kept["TAGS"]) == ("0", "false", "A")
    assert shape_of((await topics_of(broker))[DEAD]) == (1, 1, 6, 0)


@pytest.mark.parametrize(
    ("version", "limit", "is_dead"),
    [(407, None, True), (407, 3, False), (121, 3, False), (120, 3, True), (0, 3, True)],
)
async def test_the_group_sets_the_tries_if_the_client_does_not(
    tmp_path: Path, version: int, limit: int | None, is_dead: bool
) -> None:
    """Clients before 3.4.9 do not."""
    groups_file(tmp_path, retryMaxTimes=2)
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.create_topic("T")
        sent = await client.send("T", reconsume_times=2)
        assert (await send_back(client, place(sent), maxReconsumeTimes=limit, version=version)).header.code == 0
        assert len(await dead(client)) == is_dead


async def test_a_message_that_always_fails_is_retried_and_becomes_a_dead_letter(tmp_path: Path) -> None:
    """Sixteen retries, one at each level from the third on; then none."""
    seconds = range(1, 19)
    async with serving(tmp_path, message_delay_level=" ".join(f"{each}s" for each in seconds)) as server:
        client = server.broker()
        await client.create_topic("T")
        sent = await client.send("T", b"hopeless", tags="A")
        offset = place(sent)
        for tries in range(1, 17):
            assert (await send_back(client, offset)).header.code == 0
            await server.pass_time(seconds[tries + 1] - 1, step=1)
            assert records((await client.pull(RETRY, tries - 1)).body) == []
            await server.pass_time(1.5, step=0.5)
            (again,) = records((await client.pull(RETRY, tries - 1)).body)
            assert (again.body, again.reconsume_times) == (b"hopeless", tries)
            kept = properties_of(again)
            assert (kept["RETRY_TOPIC"], kept["ORIGIN_MESSAGE_ID"], kept["TAGS"]) == ("T", message_id(sent), "A")
            offset = again.physical_offset
        assert await dead(client) == []
        assert (await send_back(client, offset)).header.code == 0
        (letter,) = await dead(client)
        assert (letter.body, letter.reconsume_times) == (b"hopeless", 17)
        assert properties_of(letter)["ORIGIN_MESSAGE_ID"] == message_id(sent)


async def test_a_dead_letter_is_found_by_its_key_its_unique_key_and_its_id(server: Server, broker: Client) -> None:
    sent = await broker.send("T", b"found", keys="k", unique_key="U", reconsume_times=16)
    await send_back(broker, place(sent))
    await server.pass_time(1)
    (letter,) = await dead(broker)
    for key, unique in (("k", "false"), ("U", "true")):
        ext = {"topic": DEAD, "key": key, "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(NOW + 10_000)}
        answer = await broker.request(RequestCode.QUERY_MESSAGE, ext | {"_UNIQUE_KEY_QUERY": unique})
        assert [found.body for found in records(answer.body)] == [b"found"]
    answer = await broker.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(letter.physical_offset)})
    assert decode_record(answer.body).topic == DEAD


async def test_messages_of_a_group_without_retries_are_dropped(tmp_path: Path) -> None:
    groups_file(tmp_path, retryQueueNums=0)
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.create_topic("T")
        sent = await client.send("T")
        assert code_and_remark(await send_back(client, place(sent), -1)) == (0, None)
        assert code_and_remark(await send_back(client, 12345)) == (0, None)
        assert not {RETRY, DEAD} & set(await topics_of(client))
        assert await waiting(client, 3) == []


async def test_retries_are_spread_over_the_groups_queues(tmp_path: Path) -> None:
    groups_file(tmp_path, retryQueueNums=3)
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.create_topic("T")
        await send_back(client, place(await client.send("T")))
        (again,) = await waiting(client, 3)
        assert server.chosen == [3]
        assert properties_of(again)["REAL_QID"] == "2"
        assert shape_of((await topics_of(client))[RETRY]) == (3, 3, 6, 0)


async def test_the_retry_topic_of_a_unit_is_marked(broker: Client) -> None:
    await send_back(broker, place(await broker.send("T")), unitMode="true")
    assert shape_of((await topics_of(broker))[RETRY]) == (1, 1, 6, 2)


@pytest.mark.parametrize("offset", [1, -1, 2**62, 10_000])
async def test_an_offset_without_a_message_is_refused(broker: Client, offset: int) -> None:
    """So is an offset whose file has expired."""
    await broker.send("T", b"x" * 1000)
    expected = (ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {offset}")
    assert code_and_remark(await send_back(broker, offset)) == expected
    assert RETRY in await topics_of(broker)  # created before the message is read, as by Apache


async def test_a_record_inside_a_message_is_refused(broker: Client) -> None:
    """A body may contain bytes that resemble a record."""
    inner = await broker.send("T", b"inner")
    record = (await broker.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(place(inner))})).body
    outer = await broker.send("T", bytes(record))
    view = (await broker.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(place(outer))})).body
    offset = place(outer) + bytes(view).index(bytes(record))
    expected = (ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {offset}")
    assert code_and_remark(await send_back(broker, offset)) == expected


async def test_a_message_that_may_not_be_stored_is_refused(broker: Client) -> None:
    sent = place(await broker.send("T"))
    assert (await broker.request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_ext(RETRY, perm=4))).header.code == 0
    expected = (ResponseCode.NO_PERMISSION, f"the topic[{RETRY}] sending message is forbidden")
    assert code_and_remark(await send_back(broker, sent)) == expected
    await broker.set_config(autoCreateSubscriptionGroup="false")
    unknown = (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, Other {FAQ}")
    assert code_and_remark(await send_back(broker, sent, group="Other")) == unknown
    await broker.set_config(brokerPermission=4)
    expected = (ResponseCode.NO_PERMISSION, "the broker[127.0.0.1] sending message is forbidden")
    assert code_and_remark(await send_back(broker, sent)) == expected


@pytest.mark.parametrize("field", ["offset", "group", "delayLevel"])
async def test_a_request_that_lacks_a_field_is_answered(broker: Client, field: str) -> None:
    ext = {"offset": "0", "group": "G", "delayLevel": "0"}
    del ext[field]
    answer = await broker.request(RequestCode.CONSUMER_SEND_MSG_BACK, ext)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert field in (answer.header.remark or "")


@pytest.mark.parametrize("capture", ["retry_dlq", "binary_retry_dlq"])
async def test_answers_have_the_fields_of_apaches(broker: Client, capture: str) -> None:
    """The requests of an official client, with offsets of this log instead of Apache's."""
    found = list(frames(Capture("4.9.7", capture)))
    requests = [frame for frame in found if frame.row["code"] == RequestCode.CONSUMER_SEND_MSG_BACK]
    assert len(requests) == 4
    for frame in requests:
        fields = frame.row["header"]["extFields"]
        offset = str(place(await broker.send("T", properties=properties_text(UNIQ_KEY=fields["originMsgId"]))))
        serialize_type = frame.data[4]
        header_length = int.from_bytes(frame.data[5:8], "big")
        ext = decode_header(memoryview(frame.data)[8 : 8 + header_length], serialize_type).ext
        assert ext == fields
        answer = await broker.request(frame.row["code"], {**fields, "offset": offset}, serialize_type=serialize_type)
        (expected,) = [each.row for each in found if each.row["seq"] == frame.row["pair"]]
        assert code_and_remark(answer) == (expected["code"], expected["header"].get("remark"))
        assert (answer.header.ext or None) == (expected["header"].get("extFields") or None)
        assert answer.serialize_type == serialize_type


# --- sends to a retry topic, as an orderly consumer makes them ---


async def send_retry(client: Client, tried: int, limit: int | None, **changes: Any) -> Frame:
    return await client.send(RETRY, b"again", reconsume_times=tried, max_reconsume_times=limit, **changes)


@pytest.mark.parametrize("serialize_type", [0, BINARY])
@pytest.mark.parametrize(("tried", "limit"), [(2, 2), (3, 2), (16, None), (0, 0), (1, -1)])
async def test_a_send_of_too_many_tries_becomes_a_dead_letter(
    broker: Client, tried: int, limit: int | None, serialize_type: int
) -> None:
    answer = await send_retry(broker, tried, limit, serialize_type=serialize_type, tags="A")
    assert answer.header.code == 0
    assert answer.header.ext is not None
    assert (answer.header.ext["queueId"], answer.header.ext["queueOffset"]) == ("0", "0")
    (letter,) = await dead(broker)
    assert (letter.body, letter.reconsume_times) == (b"again", tried)
    assert properties_of(letter)["TAGS"] == "A"
    assert shape_of((await topics_of(broker))[DEAD]) == (1, 1, 6, 0)
    assert records((await broker.pull(RETRY)).body) == []


@pytest.mark.parametrize(("tried", "limit"), [(1, 2), (0, 1), (15, None), (16, 17)])
async def test_a_send_of_fewer_tries_is_stored_in_the_retry_topic(
    broker: Client, tried: int, limit: int | None
) -> None:
    assert (await send_retry(broker, tried, limit)).header.code == 0
    (again,) = records((await broker.pull(RETRY)).body)
    assert (again.body, again.reconsume_times) == (b"again", tried)
    assert DEAD not in await topics_of(broker)


async def test_a_send_of_too_many_tries_keeps_its_delay(broker: Client) -> None:
    """So does Apache: the client's delay is not removed with the retry topic."""
    properties = properties_text(UNIQ_KEY="U", DELAY="4")
    assert (await send_retry(broker, 1, 1, properties=properties)).header.code == 0
    (later,) = await waiting(broker, 4)
    assert (properties_of(later)["REAL_TOPIC"], properties_of(later)["REAL_QID"]) == (DEAD, "0")


async def test_a_send_for_an_unknown_group_is_refused(broker: Client) -> None:
    await broker.set_config(autoCreateSubscriptionGroup="false")
    expected = (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, G {FAQ}")
    assert code_and_remark(await send_retry(broker, 0, 16)) == expected


async def test_the_group_of_a_send_is_created(server: Server, broker: Client) -> None:
    await send_retry(broker, 0, 16)
    text = (server.config.store.folder / "config" / "subscriptionGroup.json").read_text()
    assert '"G"' in text


@pytest.mark.parametrize(("topic", "flag"), [(RETRY, 2), ("New", 1)])
async def test_a_topic_created_by_a_send_of_a_unit_is_marked(broker: Client, topic: str, flag: int) -> None:
    assert (await broker.send(topic, unit_mode=True)).header.code == 0
    assert (await topics_of(broker))[topic]["topicSysFlag"] == flag


async def test_retry_topics_found_at_the_start_are_known(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.broker().create_topic(RETRY)
    async with serving(tmp_path) as server:
        client = server.broker()
        await send_retry(client, 1, 1)
        assert len(await dead(client)) == 1
