from __future__ import annotations

import pytest

from rocketwire.server.query.handlers import _is_of
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import BINARY, NOW, Client, Server, code_and_remark, records

FOREVER = str(2**63 - 1)


async def query(
    client: Client,
    key: str,
    *,
    topic: str = "T",
    most: int = 32,
    begin: int = 0,
    end: str = FOREVER,
    unique: str | None = None,
    serialize_type: int = 0,
) -> Frame:
    ext = {"topic": topic, "key": key, "maxNum": str(most), "beginTimestamp": str(begin), "endTimestamp": end}
    if unique is not None:
        ext["_UNIQUE_KEY_QUERY"] = unique
    return await client.request(RequestCode.QUERY_MESSAGE, ext, serialize_type=serialize_type)


@pytest.fixture
async def filled(server: Server, broker: Client) -> Client:
    """Three messages with keys, a second apart, and time for the index."""
    for number in range(3):
        await broker.send("T", b"m%d" % number, keys=f"all k{number}", unique_key=f"U{number}")
        await server.pass_time(1)
    return broker


def bodies(answer: Frame) -> list[bytes]:
    assert answer.header.code == 0, answer.header.remark
    return sorted(message.body for message in records(answer.body))


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_messages_are_found_by_key(filled: Client, serialize_type: int) -> None:
    answer = await query(filled, "k1", serialize_type=serialize_type)
    assert bodies(answer) == [b"m1"]
    assert answer.serialize_type == serialize_type
    assert answer.header.ext is not None
    assert set(answer.header.ext) == {"indexLastUpdateTimestamp", "indexLastUpdatePhyoffset"}
    assert answer.header.ext["indexLastUpdateTimestamp"] == str(NOW + 2000)
    assert bodies(await query(filled, "all", unique="false")) == [b"m0", b"m1", b"m2"]


async def test_messages_are_found_by_unique_key(filled: Client) -> None:
    assert bodies(await query(filled, "U2", unique="true")) == [b"m2"]


async def test_no_more_messages_than_requested_are_returned(filled: Client) -> None:
    assert len(bodies(await query(filled, "all", most=2))) == 2


async def test_a_unique_key_query_has_its_limit(filled: Client) -> None:
    await filled.set_config(defaultQueryMaxNum=1)
    assert len(bodies(await query(filled, "all", unique="true"))) == 1
    assert len(bodies(await query(filled, "all"))) == 3


async def test_only_messages_of_the_time_are_found(filled: Client) -> None:
    assert bodies(await query(filled, "all", begin=NOW + 1000, end=str(NOW + 1500))) == [b"m1"]


@pytest.mark.parametrize(("key", "topic"), [("nokey", "T"), ("k1", "Other")])
async def test_without_a_match_nothing_is_found(filled: Client, key: str, topic: str) -> None:
    answer = await query(filled, key, topic=topic)
    expected = "can not find message, maybe time range not correct"
    assert code_and_remark(answer) == (ResponseCode.QUERY_NOT_FOUND, expected)
    assert answer.header.ext is not None
    assert set(answer.header.ext) == {"indexLastUpdateTimestamp", "indexLastUpdatePhyoffset"}


async def test_a_message_just_sent_is_found(broker: Client) -> None:
    await broker.send("T", b"new", keys="fresh")
    assert bodies(await query(broker, "fresh")) == [b"new"]


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_message_is_found_by_its_offset(filled: Client, serialize_type: int) -> None:
    sent = await filled.send("T", b"here")
    assert sent.header.ext is not None
    offset = int(sent.header.ext["msgId"][16:], 16)
    ext = {"offset": str(offset)}
    answer = await filled.request(RequestCode.VIEW_MESSAGE_BY_ID, ext, serialize_type=serialize_type)
    assert answer.serialize_type == serialize_type
    (message,) = records(answer.body)
    assert (message.body, message.physical_offset) == (b"here", offset)


@pytest.mark.parametrize("offset", [1, -1, 2**62, 10_000])
async def test_an_offset_without_a_message_is_refused(filled: Client, offset: int) -> None:
    answer = await filled.request(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(offset)})
    expected = f"can not find message by the offset, {offset}"
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, expected)


@pytest.mark.parametrize("code", [RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID])
async def test_a_request_that_lacks_a_field_is_answered(broker: Client, code: int) -> None:
    answer = await broker.request(code, {"topic": "T"})
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert answer.header.remark


async def test_an_answer_holds_no_more_than_a_frame(broker: Client) -> None:
    for number in range(5):
        await broker.send("T", bytes([number]) * (4 << 20), keys="large")
    answer = await query(broker, "large")
    assert [body[0] for body in bodies(answer)] == [0, 1, 2]


def test_an_unreadable_record_has_no_topic() -> None:
    assert not _is_of(memoryview(b"damaged"), "T")
