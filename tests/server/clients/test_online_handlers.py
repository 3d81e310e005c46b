from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from rocketwire.server.clients import client_requests as client_requests_module
from rocketwire.server.core import long_tasks
from rocketwire.server.net.session import Session
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.client import ConsumeFromWhere, MessageModel, MessageQueue
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.bodies.online import GetConsumerStatusBody, ResetOffsetBody, ResetOffsetBodyForC
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import Header
from rocketwire.wire.message_id import offset_message_id
from tests.server.harness import (
    BINARY,
    JSON,
    NOW,
    Client,
    Server,
    code_and_remark,
    consumer,
    heartbeat,
    records,
    settle,
    subscription,
)

CONNECTIONS = RequestCode.GET_CONSUMER_CONNECTION_LIST
PRODUCERS = RequestCode.GET_PRODUCER_CONNECTION_LIST
RESET = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
RESET_OF_CLIENT = RequestCode.RESET_CONSUMER_CLIENT_OFFSET
STATUS = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
STATUS_OF_CLIENT = RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT
INFO = RequestCode.GET_CONSUMER_RUNNING_INFO
DIRECTLY = RequestCode.CONSUME_MESSAGE_DIRECTLY
UNSET = "not set any response code"
QUEUES = [MessageQueue(topic="T", broker_name="broker-a", queue_id=number) for number in (0, 1)]


async def join(client: Client, client_id: str, *, version: int = 407, language: str = "JAVA", **changes: Any) -> None:
    """Become a member of the group G."""
    body = heartbeat(client_id, consumer("G", subscription("T"), **changes))
    header = Header(code=RequestCode.HEART_BEAT, opaque=1_000_000, version=version, language=language)
    await client.write(encode_frame(header, body, JSON))
    assert (await client.receive()).header.code == 0


async def pushed(client: Client, code: int) -> list[Frame]:
    """Requests of one code that the broker has sent to the client since the last call; there were no answers."""
    assert await client.arrived() == []
    found = [frame for frame in client.pushes if frame.header.code == code]
    client.pushes = [frame for frame in client.pushes if frame.header.code != code]
    return found


async def answer(client: Client, request: Frame, body: bytes = b"", **fields: Any) -> None:
    """Answer a request of the broker."""
    header = Header(**{"code": 0, "opaque": request.header.opaque, "flag": FLAG_RESPONSE, **fields})
    await client.write(encode_frame(header, body, JSON))
    await settle()


@pytest.fixture
async def member(server: Server) -> Client:
    """A connection that is the client "one" of the group G."""
    client = server.broker()
    await client.create_topic("T", 2)
    await join(client, "one")
    return client


# --- connected clients ---


async def test_the_members_of_a_consumer_group_are_listed(server: Server, broker: Client, member: Client) -> None:
    other = server.broker()
    await join(other, "two", language="GO", version=0, consume_from_where=ConsumeFromWhere.CONSUME_FROM_TIMESTAMP)
    got = await broker.request(CONNECTIONS, {"consumerGroup": "G"})
    assert code_and_remark(got) == (0, None)
    body = json.loads(bytes(got.body))
    assert sorted(body.pop("connectionSet"), key=lambda each: each["clientId"]) == [
        {"clientAddr": member.local, "clientId": "one", "language": "JAVA", "version": 407},
        {"clientAddr": other.local, "clientId": "two", "language": "GO", "version": 0},
    ]
    assert body.pop("subscriptionTable")["T"]["subString"] == "*"
    assert body == {
        "consumeFromWhere": "CONSUME_FROM_TIMESTAMP",
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
    }


async def test_a_disconnected_consumer_group_is_not_found(broker: Client) -> None:
    got = await broker.request(CONNECTIONS, {"consumerGroup": "G"})
    assert code_and_remark(got) == (ResponseCode.CONSUMER_NOT_ONLINE, "the consumer group[G] not online")


async def test_the_members_of_a_producer_group_are_listed(broker: Client) -> None:
    await broker.heartbeat("one", producers=["P"])
    got = await broker.request(PRODUCERS, {"producerGroup": "P"})
    assert json.loads(bytes(got.body)) == {
        "connectionSet": [{"clientAddr": broker.local, "clientId": "one", "language": "JAVA", "version": 407}]
    }
    got = await broker.request(PRODUCERS, {"producerGroup": "Q"})
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, "the producer group[Q] not exist")


# --- requests that are passed on ---


def info_ext(client_id: str = "one", group: str = "G") -> dict[str, str]:
    return {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}


async def start_request(broker: Client, code: int, ext: dict[str, str], **options: Any) -> None:
    await broker.write(broker.frame(code, ext, **options))
    await settle()


@pytest.mark.parametrize("serialize_type", [JSON, BINARY])
async def test_a_request_and_its_answer_are_passed_on(broker: Client, member: Client, serialize_type: int) -> None:
    await start_request(broker, INFO, {**info_ext(), "more": "m"}, serialize_type=serialize_type)
    assert await broker.arrived() == []
    (request,) = await pushed(member, INFO)
    assert (request.header.flag, request.header.ext) == (0, {**info_ext(), "more": "m"})
    await answer(member, request, b'{"properties":{}}', code=1, remark="said", ext={"a": "b"})
    (got,) = await broker.arrived()
    assert code_and_remark(got) == (1, "said")
    assert (got.header.ext, bytes(got.body), got.serialize_type) == ({"a": "b"}, b'{"properties":{}}', serialize_type)


async def test_an_empty_answer_is_passed_on(broker: Client, member: Client) -> None:
    await start_request(broker, INFO, info_ext())
    await answer(member, (await pushed(member, INFO))[0])
    (got,) = await broker.arrived()
    assert (got.header.code, got.header.remark, got.header.ext, bytes(got.body)) == (0, None, None, b"")


@pytest.mark.parametrize(("group", "client_id"), [("G", "two"), ("Other", "one")])
async def test_a_request_to_a_disconnected_client_is_refused(
    broker: Client, member: Client, group: str, client_id: str
) -> None:
    got = await broker.request(INFO, info_ext(client_id, group))
    expected = f"The Consumer <{group}> <{client_id}> not online"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, expected)
    assert await pushed(member, INFO) == []


async def test_a_client_that_is_too_old_gets_no_request(broker: Client, member: Client) -> None:
    await join(member, "one", version=61)
    got = await broker.request(INFO, info_ext())
    expected = "The Consumer <one> Version <V3_X> too low to finish, please upgrade it to V3_1_8_SNAPSHOT"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, expected)
    assert await pushed(member, INFO) == []


async def test_a_client_has_10_s_to_answer(server: Server, broker: Client, member: Client) -> None:
    await start_request(broker, INFO, info_ext())
    await server.pass_time(9.9)
    assert await broker.arrived() == []
    await server.pass_time(0.2)
    (got,) = await broker.arrived()
    remark = f"consumer <G> <one> Timeout: wait response on the channel <{member.local}> timeout, 10000(ms)"
    assert code_and_remark(got) == (ResponseCode.CONSUME_MSG_TIMEOUT, remark)


async def test_a_client_that_leaves_is_not_waited_for(broker: Client, member: Client) -> None:
    await start_request(broker, INFO, info_ext())
    member.close()
    (got,) = await broker.arrived()
    assert got.header.code == ResponseCode.CONSUME_MSG_TIMEOUT


@pytest.mark.parametrize("client_reads", [True, False])
async def test_a_client_that_cannot_be_written_to_is_not_waited_for(
    broker: Client, member: Client, monkeypatch: pytest.MonkeyPatch, client_reads: bool
) -> None:
    if client_reads:
        monkeypatch.setattr("rocketwire.server.net.client_calls.LIMIT", 0)
    else:
        real = Session.congested
        monkeypatch.setattr(
            Session,
            "congested",
            property(lambda self: self.remote_text == member.local or real.__get__(self)),
        )
    got = await broker.request(INFO, info_ext())
    remark = f"invoke consumer <G> <one> Exception: the channel <{member.local}> takes no request"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, remark)
    assert await pushed(member, INFO) == []


# --- consuming a message directly ---


async def message_id(client: Client, body: bytes = b"again") -> str:
    """Send a message to T; its offset message id."""
    sent = await client.send("T", body)
    assert sent.header.ext is not None
    return sent.header.ext["msgId"]


async def test_a_stored_message_is_sent_to_a_client(broker: Client, member: Client) -> None:
    ext = {"consumerGroup": "G", "clientId": "one", "msgId": await message_id(broker)}
    await start_request(broker, DIRECTLY, ext)
    (request,) = await pushed(member, DIRECTLY)
    assert request.header.ext == {**ext, "brokerName": "broker-a"}
    (record,) = records(request.body)
    assert (record.topic, record.body, record.queue_offset) == ("T", b"again", 0)
    await answer(member, request, b'{"consumeResult":"CR_SUCCESS"}')
    (got,) = await broker.arrived()
    assert (got.header.code, bytes(got.body)) == (0, b'{"consumeResult":"CR_SUCCESS"}')


async def test_an_unknown_message_is_not_sent_to_a_client(broker: Client, member: Client) -> None:
    found = await message_id(broker)
    nowhere = offset_message_id(bytes.fromhex(found[:16]), 123_456)
    target = {"consumerGroup": "G", "clientId": "one"}
    for ext, remark in (
        ({"msgId": nowhere}, "can not find message by the offset, 123456"),
        ({}, "no message id is given"),
    ):
        got = await broker.request(DIRECTLY, {**target, **ext})
        assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, remark)
    got = await broker.request(DIRECTLY, {**target, "msgId": "unique"})
    assert got.header.code == ResponseCode.SYSTEM_ERROR
    got = await broker.request(DIRECTLY, {"consumerGroup": "G", "msgId": found})
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, "The Consumer <G> <> not online")
    assert await pushed(member, DIRECTLY) == []


# --- resetting offsets ---


def reset_ext(timestamp: int, *, force: bool = True, **changes: str) -> dict[str, str]:
    return {"topic": "T", "group": "G", "timestamp": str(timestamp), "isForce": str(force).lower(), **changes}


async def consumed(server: Server, client: Client, *committed: int) -> None:
    """Five messages in each queue of T, a second apart, of which G has consumed some."""
    for _ in range(5):
        for queue_id in (0, 1):
            await client.send("T", queue_id=queue_id)
        server.clock.now += 1000
    for queue_id, offset in enumerate(committed):
        await client.commit(offset, queue_id=queue_id)


@pytest.mark.parametrize(
    ("timestamp", "force", "expected"),
    [
        (NOW, True, (0, 0)),
        (NOW - 1000, False, (0, 0)),
        (NOW + 2000, True, (2, 2)),
        (NOW + 2000, False, (2, 1)),
        (NOW + 900_000, True, (5, 5)),
        (-1, True, (5, 5)),
        (-1, False, (3, 1)),
    ],
)
async def test_members_get_their_new_offsets(
    server: Server, broker: Client, member: Client, timestamp: int, force: bool, expected: tuple[int, int]
) -> None:
    other = server.broker()
    await join(other, "two")
    await consumed(server, broker, 3, 1)
    got = await broker.request(RESET, reset_ext(timestamp, force=force))
    assert code_and_remark(got) == (0, UNSET)
    offsets = dict(zip(QUEUES, expected, strict=True))
    assert decode_body(ResetOffsetBody, bytes(got.body)).offset_table == offsets
    for client in (member, other):
        (push,) = await pushed(client, RESET_OF_CLIENT)
        assert push.header.flag == FLAG_ONEWAY
        assert push.header.ext == reset_ext(timestamp, force=False)
        assert push.body == got.body


async def test_the_log_names_the_new_offsets(
    server: Server, broker: Client, member: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await consumed(server, broker, 3, 1)
    await broker.request(RESET, reset_ext(-1))
    (line,) = [record.getMessage() for record in caplog.records if "is told to continue" in record.getMessage()]
    assert line.startswith("group G, topic T: ")
    assert line.endswith(" is told to continue at offsets 5 (queue 0), 5 (queue 1)")
    assert await pushed(member, RESET_OF_CLIENT)


@pytest.mark.parametrize(
    ("ext", "expected"),
    [
        ({"queueId": "-1", "offset": "-1"}, {0: 2, 1: 1}),
        ({"queueId": "1", "offset": "4"}, {1: 4}),
        ({"queueId": "1", "offset": "5"}, {1: 5}),
        ({"queueId": "0", "offset": "-1"}, {0: 2}),
        ({"queueId": "0"}, {0: 2}),
        ({"offset": "4"}, {0: 2, 1: 1}),
    ],
)
async def test_5x_tools_may_name_a_queue_and_an_offset(
    server: Server, broker: Client, member: Client, ext: dict[str, str], expected: dict[int, int]
) -> None:
    await consumed(server, broker, 3, 1)
    got = await broker.request(RESET, {**reset_ext(NOW + 2000, force=False), **ext})
    offsets = {QUEUES[queue_id]: offset for queue_id, offset in expected.items()}
    assert decode_body(ResetOffsetBody, bytes(got.body)).offset_table == offsets
    (push,) = await pushed(member, RESET_OF_CLIENT)
    assert push.body == got.body


@pytest.mark.parametrize(
    ("ext", "remark"),
    [
        ({"queueId": "1", "offset": "-2"}, "Target offset -2 not in consume queue range [0-5]"),
        ({"queueId": "1", "offset": "6"}, "Target offset 6 not in consume queue range [0-5]"),
        ({"queueId": "2"}, "queueId[2] is illegal, topic:[T] writeQueueNums:[2]"),
    ],
)
async def test_an_unknown_queue_or_offset_is_refused(
    server: Server, broker: Client, member: Client, ext: dict[str, str], remark: str
) -> None:
    await consumed(server, broker, 3, 1)
    got = await broker.request(RESET, {**reset_ext(NOW), **ext})
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, remark)
    assert await pushed(member, RESET_OF_CLIENT) == []


@pytest.mark.parametrize("offset", [-1, -2, -(2**63)])
async def test_a_group_with_a_negative_offset_is_not_reset(
    server: Server, broker: Client, member: Client, offset: int
) -> None:
    await consumed(server, broker, 3, offset)
    got = await broker.request(RESET, reset_ext(NOW))
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, "THe consumer group <G> not exist")
    assert await pushed(member, RESET_OF_CLIENT) == []


async def test_the_stored_offset_stays_until_a_member_commits(server: Server, broker: Client, member: Client) -> None:
    await consumed(server, broker, 3, 1)
    await broker.request(RESET, reset_ext(NOW))
    assert len(await pushed(member, RESET_OF_CLIENT)) == 1
    assert await broker.committed() == 3


@pytest.mark.parametrize(
    ("language", "asker", "as_list"),
    [
        ("JAVA", "JAVA", False),
        ("GO", "JAVA", False),
        ("CPP", "JAVA", True),
        ("CPP", "CPP", True),
        ("PYTHON", "CPP", True),
        ("JAVA", "CPP", False),
    ],
)
async def test_cpp_clients_get_a_list(
    server: Server, broker: Client, member: Client, language: str, asker: str, as_list: bool
) -> None:
    await join(member, "one", language=language)
    await consumed(server, broker, 3, 1)
    header = Header(code=RESET, opaque=77, language=asker, version=407, ext=reset_ext(NOW + 2000))
    await broker.write(encode_frame(header, b"", JSON))
    got = await broker.receive()
    expected = dict.fromkeys(QUEUES, 2)
    assert decode_body(ResetOffsetBody, bytes(got.body)).offset_table == expected
    (push,) = await pushed(member, RESET_OF_CLIENT)
    if as_list:
        rows = decode_body(ResetOffsetBodyForC, bytes(push.body)).offset_table
        assert [(row.topic, row.broker_name, row.queue_id, row.offset) for row in rows] == [
            ("T", "broker-a", 0, 2),
            ("T", "broker-a", 1, 2),
        ]
    else:
        assert decode_body(ResetOffsetBody, bytes(push.body)).offset_table == expected


async def test_one_encoded_body_is_sent_to_many_members(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    queues, each = 1000, 10
    await broker.create_topic("Wide", queues)
    for queue_id in range(queues):
        where = {"consumerGroup": "G", "topic": "Wide", "queueId": str(queue_id), "commitOffset": "0"}
        await broker.write(broker.frame(RequestCode.UPDATE_CONSUMER_OFFSET, where))
    assert len(await broker.arrived()) == queues
    members = {language: [server.broker() for _ in range(each)] for language in ("JAVA", "CPP")}
    for language, clients in members.items():
        for number, client in enumerate(clients):
            await join(client, f"{language}-{number}", language=language)
    written: list[object] = []

    def counted(body: object, *, strict: bool) -> bytes:
        assert not strict
        written.append(body)
        return encode_body(body)

    monkeypatch.setattr(long_tasks, "encode_body", counted)
    got = await broker.request(RESET, reset_ext(NOW, topic="Wide"))
    assert [type(body) for body in written] == [ResetOffsetBody, ResetOffsetBodyForC]
    assert len(decode_body(ResetOffsetBody, bytes(got.body)).offset_table) == queues
    for language, clients in members.items():
        for client in clients:
            (push,) = await pushed(client, RESET_OF_CLIENT)
            assert bytes(push.body) == (bytes(got.body) if language == "JAVA" else encode_body(written[1]))


async def test_a_disconnected_group_is_not_reset(server: Server, broker: Client) -> None:
    await consumed(server, broker, 3, 1)
    got = await broker.request(RESET, reset_ext(NOW))
    expected = f"Consumer not online, so can not reset offset, Group: G Topic: T Timestamp: {NOW}"
    assert code_and_remark(got) == (ResponseCode.CONSUMER_NOT_ONLINE, expected)


async def test_an_unknown_topic_is_refused(broker: Client, member: Client) -> None:
    got = await broker.request(RESET, reset_ext(NOW, topic="None"))
    expected = "[reset-offset] reset offset failed, no topic in this broker. topic=None"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, expected)
    assert await pushed(member, RESET_OF_CLIENT) == []


async def test_a_broadcasting_group_is_not_reset(server: Server, broker: Client) -> None:
    await consumed(server, broker, 3)
    client = server.broker()
    await join(client, "one", message_model=MessageModel.BROADCASTING)
    got = await broker.request(RESET, reset_ext(NOW))
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, "THe consumer group <G> not exist")
    assert await pushed(client, RESET_OF_CLIENT) == []


async def test_no_member_is_notified_when_one_is_too_old(server: Server, broker: Client, member: Client) -> None:
    await consumed(server, broker, 3, 1)
    await join(server.broker(), "old", version=27)
    got = await broker.request(RESET, reset_ext(NOW))
    expected = "the client does not support this feature. version=V3_X"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, expected)
    assert await pushed(member, RESET_OF_CLIENT) == []


# --- offsets of clients ---


async def status_request(client: Client) -> Frame:
    (request,) = await pushed(client, STATUS_OF_CLIENT)
    assert request.header.ext == {"topic": "T", "group": "G"}
    return request


def status_body(offset: int) -> bytes:
    return encode_body(GetConsumerStatusBody(message_queue_table={QUEUES[0]: offset}))


async def table_of(broker: Client) -> dict[str, dict[MessageQueue, int]]:
    (got,) = await broker.arrived()
    assert code_and_remark(got) == (0, UNSET)
    assert set(loads(bytes(got.body))) == {"consumerTable", "messageQueueTable"}
    return decode_body(GetConsumerStatusBody, bytes(got.body)).consumer_table


async def test_all_members_are_queried_for_their_offsets(server: Server, broker: Client, member: Client) -> None:
    other = server.broker()
    await join(other, "two")
    await start_request(broker, STATUS, {"topic": "T", "group": "G"})
    await answer(other, await status_request(other), status_body(2))
    assert await broker.arrived() == []
    await answer(member, await status_request(member), status_body(1))
    assert await table_of(broker) == {"one": {QUEUES[0]: 1}, "two": {QUEUES[0]: 2}}


async def test_the_offsets_of_many_members_are_encoded_one_by_one(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {f"client {number}": dict.fromkeys(QUEUES, number) for number in range(50)}
    members = {client_id: server.broker() for client_id in tables}
    for client_id, client in members.items():
        await join(client, client_id)
    await start_request(broker, STATUS, {"topic": "T", "group": "G"})
    client_requests = {client_id: await status_request(client) for client_id, client in members.items()}
    written: list[str] = []

    def counted(body: GetConsumerStatusBody) -> bytes:
        written.extend(body.consumer_table)
        return encode_body(body)

    monkeypatch.setattr(client_requests_module, "encode_body", counted)
    for number, (client_id, client) in enumerate(members.items(), 1):
        await answer(
            client,
            client_requests[client_id],
            encode_body(GetConsumerStatusBody(message_queue_table=tables[client_id])),
        )
        assert len(written) == number
    (got,) = await broker.arrived()
    assert bytes(got.body) == encode_body(GetConsumerStatusBody(consumer_table=tables))


async def test_one_member_is_queried_for_its_offsets(server: Server, broker: Client, member: Client) -> None:
    other = server.broker()
    await join(other, "two")
    await start_request(broker, STATUS, {"topic": "T", "group": "G", "clientAddr": "two"})
    await answer(other, await status_request(other), status_body(2))
    assert await table_of(broker) == {"two": {QUEUES[0]: 2}}
    assert await pushed(member, STATUS_OF_CLIENT) == []
    await start_request(broker, STATUS, {"topic": "T", "group": "G", "clientAddr": "three"})
    assert await table_of(broker) == {}


async def refuse(client: Client, request: Frame) -> None:
    await answer(client, request, code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


async def stay_silent(_client: Client, _request: Frame) -> None:
    await settle()


async def answer_malformed(client: Client, request: Frame) -> None:
    await answer(client, request, b"[")


async def answer_bad_offset(client: Client, request: Frame) -> None:
    body = status_body(1).replace(b"}:1", b"}:" + b"9" * 39)
    assert len(body) > len(status_body(1))
    await answer(client, request, body)


async def answer_without_body(client: Client, request: Frame) -> None:
    await answer(client, request)


@pytest.mark.parametrize("reaction", [refuse, stay_silent, answer_malformed, answer_bad_offset, answer_without_body])
async def test_a_member_without_offsets_is_omitted(
    server: Server, broker: Client, member: Client, reaction: Callable[[Client, Frame], Any]
) -> None:
    other = server.broker()
    await join(other, "two")
    await start_request(broker, STATUS, {"topic": "T", "group": "G"})
    await reaction(member, await status_request(member))
    await answer(other, await status_request(other), status_body(2))
    if reaction is stay_silent:
        assert await broker.arrived() == []
        await server.pass_time(5.1)
    assert await table_of(broker) == {"two": {QUEUES[0]: 2}}


async def test_a_group_without_members_has_no_offsets(server: Server, broker: Client) -> None:
    got = await broker.request(STATUS, {"topic": "T", "group": "G"})
    expected = "No Any Consumer online in the consumer group: [G]"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, expected)
    await join(server.broker(), "old", version=27)
    got = await broker.request(STATUS, {"topic": "T", "group": "G"})
    expected = "the client does not support this feature. version=V3_X"
    assert code_and_remark(got) == (ResponseCode.SYSTEM_ERROR, expected)
