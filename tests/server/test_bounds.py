"""Bounds of requests: one entry more is refused with the limit's name, and the requests behind it are served."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest

from rocketwire.server.admin import handlers as admin
from rocketwire.server.clients import client_requests, heartbeats
from rocketwire.server.core.guard_errors import MOST_ITEMS
from rocketwire.server.name_server import routes
from rocketwire.wire.facts.codes import FLAG_RESPONSE, RequestCode, ResponseCode
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import MAX_HEADER_BYTES, MAX_HEADER_FIELDS, Header
from rocketwire.wire.json_bounds import MAX_JSON_DEPTH, MAX_JSON_ENTRIES
from rocketwire.wire.stored_properties import MOST_MESSAGES, MOST_PROPERTIES
from tests.server.harness import (
    BINARY,
    JSON,
    Client,
    Server,
    batch_body,
    code_and_remark,
    consumer,
    heartbeat,
    pull_ext,
    send_ext,
    settle,
    subscription,
)

LOCK = RequestCode.LOCK_BATCH_MQ
UNLOCK = RequestCode.UNLOCK_BATCH_MQ
MIB = 1 << 20


def busy(limit: str, most: int) -> tuple[int, str]:
    return ResponseCode.SYSTEM_BUSY, f"[REJECTREQUEST]system busy, start flow control for a while, {limit}={most}"


def locks(*queues: str, client: str = "c") -> bytes:
    return f'{{"consumerGroup":"g","clientId":"{client}","mqSet":[{",".join(queues)}]}}'.encode()


def locked(answer: Frame) -> list[Any]:
    assert answer.header.code == 0, answer.header.remark
    found: list[Any] = json.loads(bytes(answer.body))["lockOKMQSet"]
    return found


async def test_a_queue_that_is_named_twice_is_counted_and_answered_once(server: Server, broker: Client) -> None:
    empty = {"topic": "", "brokerName": "", "queueId": 0}
    assert locked(await broker.request(LOCK, body=locks("{}"))) == [empty]
    assert locked(await broker.request(LOCK, body=locks(*["{}"] * (MAX_JSON_ENTRIES - 3)))) == [empty]
    assert (await broker.request(UNLOCK, body=locks(*["{}"] * (MAX_JSON_ENTRIES - 3)))).header.code == 0
    assert locked(await broker.request(LOCK, body=locks("{}", client="d"))) == [empty]


@pytest.mark.parametrize("code", [LOCK, UNLOCK, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP])
async def test_one_entry_more_is_refused(broker: Client, code: int) -> None:
    answer = await broker.request(code, body=locks(*["{}"] * (MAX_JSON_ENTRIES - 2)))
    assert code_and_remark(answer) == busy("bodyEntries", MAX_JSON_ENTRIES)
    answer = await broker.request(code, body=locks(*["{}"] * 1_000_000))
    assert code_and_remark(answer) == busy("bodyEntries", MAX_JSON_ENTRIES)


async def test_a_body_that_is_nested_too_deep_is_refused(broker: Client) -> None:
    def nested(depth: int) -> bytes:
        return b'{"mqSet":[],"a":' + b"[" * depth + b"]" * depth + b"}"

    assert (await broker.request(LOCK, body=nested(MAX_JSON_DEPTH - 1))).header.code == 0
    answer = await broker.request(LOCK, body=nested(MAX_JSON_DEPTH))
    assert answer.header.code == ResponseCode.SYSTEM_ERROR
    assert "nested too deep" in str(answer.header.remark)


@pytest.mark.parametrize("kind", [JSON, BINARY])
@pytest.mark.parametrize("which", ["broker", "name_server"])
@pytest.mark.parametrize("code", [RequestCode.GET_MAX_OFFSET, RequestCode.SEND_MESSAGE_V2, 9999])
async def test_a_header_with_too_many_fields_is_refused(server: Server, kind: int, which: str, code: int) -> None:
    client = server.broker() if which == "broker" else server.name_server()
    ext = {f"f{number}": "" for number in range(MAX_HEADER_FIELDS + 8)}
    for _ in range(2):  # the connection stays open
        answer = await client.request(code, ext, serialize_type=kind)
        assert code_and_remark(answer) == busy("headerFields", MAX_HEADER_FIELDS)
    answer = await client.request(code, {"a": "x" * MAX_HEADER_BYTES}, serialize_type=kind)
    assert code_and_remark(answer) == busy("headerBytes", MAX_HEADER_BYTES)
    await client.send_oneway(code, ext, serialize_type=kind)
    await client.write(client.frame(code, ext, flag=FLAG_RESPONSE, serialize_type=kind))
    assert await client.arrived() == []


async def test_a_send_with_too_many_fields_is_not_stored(broker: Client) -> None:
    ext = {**send_ext("T"), **{f"f{number}": "" for number in range(MAX_HEADER_FIELDS)}}
    frames = [broker.frame(RequestCode.SEND_MESSAGE_V2, each, b"x") for each in (send_ext("T"), ext, send_ext("T"))]
    await broker.write(b"".join(frames))
    # The refused one is answered at once, before the stored one.
    assert [answer.header.code for answer in await broker.arrived()] == [ResponseCode.SYSTEM_BUSY, 0, 0]
    answer = await broker.request(RequestCode.GET_MAX_OFFSET, {"topic": "T", "queueId": "0"})
    assert answer.header.ext == {"offset": "2"}


async def test_requests_behind_a_long_request_are_answered_behind_it(server: Server, broker: Client) -> None:
    many = [f'{{"queueId":{number}}}' for number in range(5000)]
    frames = [
        broker.frame(LOCK, body=locks(*many)),
        broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"),
        broker.frame(UNLOCK, body=locks(*many)),
        broker.frame(LOCK, body=locks("{}", client="other")),
        broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"),
    ]
    await broker.write(b"".join(frames))
    answers = [await broker.receive() for _ in frames]
    assert [answer.header.opaque for answer in answers] == sorted(answer.header.opaque for answer in answers)
    assert [answer.header.code for answer in answers] == [0] * len(frames)
    assert (len(locked(answers[0])), len(locked(answers[3]))) == (5000, 1)


async def test_a_long_request_is_carried_out_though_its_connection_closes(server: Server, broker: Client) -> None:
    many = [f'{{"queueId":{number}}}' for number in range(5000)]
    assert len(locked(await broker.request(LOCK, body=locks(*many)))) == 5000
    leaving = server.broker()
    await leaving.send_oneway(UNLOCK, body=locks(*many))
    leaving.close()
    await settle()
    assert len(locked(await broker.request(LOCK, body=locks(*many, client="other")))) == 5000


async def test_the_groups_of_a_heartbeat_are_bounded(broker: Client) -> None:
    def producers(count: int) -> bytes:
        return heartbeat("c", producers=[f"P{number}" for number in range(count)])

    assert (await broker.request(RequestCode.HEART_BEAT, body=producers(heartbeats.MOST_GROUPS))).header.code == 0
    answer = await broker.request(RequestCode.HEART_BEAT, body=producers(heartbeats.MOST_GROUPS + 1))
    assert code_and_remark(answer) == busy("heartbeatGroups", heartbeats.MOST_GROUPS)


async def test_a_heartbeat_of_a_closed_connection_adds_no_member(server: Server, broker: Client) -> None:
    consumers = [consumer(f"G{number}", subscription("T")) for number in range(200)]
    leaving = server.broker()
    await leaving.send_oneway(RequestCode.HEART_BEAT, body=heartbeat("c", *consumers))
    leaving.close()
    await settle()
    answer = await broker.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G1"})
    assert answer.header.code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize("code", [RequestCode.HEART_BEAT, RequestCode.CHECK_CLIENT_CONFIG])
async def test_the_entries_of_a_heartbeat_are_bounded_by_its_permitted_length(broker: Client, code: int) -> None:
    def body(entries: int) -> bytes:
        return json.dumps({"x": [0] * (entries - 1)}).encode()

    assert (await broker.request(code, body=body(16_384))).header.code == 0
    answer = await broker.request(code, body=body(16_385))
    assert code_and_remark(answer) == busy("bodyEntries", 16_384)
    answer = await broker.request(code, body=b'{"x":"' + b"x" * (256 << 10) + b'"}')
    assert code_and_remark(answer) == busy("maxHeartbeatBytes", 256 << 10)


async def test_the_tags_of_a_pull_are_bounded(broker: Client) -> None:
    def tags(count: int) -> dict[str, str]:
        return pull_ext("T", subscription="||".join(map(str, range(count))))

    await broker.heartbeat("c", consumer("G", subscription("T")))
    answer = await broker.request(RequestCode.PULL_MESSAGE, tags(MOST_ITEMS))
    assert answer.header.code == ResponseCode.PULL_NOT_FOUND
    answer = await broker.request(RequestCode.PULL_MESSAGE, tags(MOST_ITEMS + 1))
    assert code_and_remark(answer) == busy("headerItems", MOST_ITEMS)


async def test_the_length_of_a_change_of_the_configuration_is_bounded(broker: Client) -> None:
    answer = await broker.request(RequestCode.UPDATE_BROKER_CONFIG, body=b"#" * (admin.MOST_CONFIG + 1))
    assert code_and_remark(answer) == busy("configBytes", admin.MOST_CONFIG)


async def test_a_remark_does_not_repeat_the_whole_request(broker: Client) -> None:
    answer = await broker.request(RequestCode.GET_TOPIC_STATS_INFO, {"topic": "x" * 500_000})
    assert answer.header.code == ResponseCode.TOPIC_NOT_EXIST
    assert len(str(answer.header.remark)) == 16 * 1024


@pytest.mark.parametrize("code", [RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_MESSAGE_V2])
async def test_the_messages_of_a_batch_are_bounded(broker: Client, code: int) -> None:
    answer = await broker.request(code, send_ext("T", batch=True), batch_body([b"x"] * MOST_MESSAGES))
    assert answer.header.code == 0, answer.header.remark
    answer = await broker.request(code, send_ext("T", batch=True), batch_body([b"x"] * (MOST_MESSAGES + 1)))
    assert code_and_remark(answer) == busy("batchMessages", MOST_MESSAGES)


async def test_the_properties_of_a_batch_are_bounded(broker: Client) -> None:
    def batch(properties: int) -> bytes:
        each = ["\x02" * 32_000] * (properties // 32_000) + ["\x02" * (properties % 32_000)]
        return b"".join(batch_body([b"x"], text) for text in each)

    code = RequestCode.SEND_BATCH_MESSAGE
    answer = await broker.request(code, send_ext("T", batch=True), batch(MOST_PROPERTIES))
    assert answer.header.code == 0, answer.header.remark
    answer = await broker.request(code, send_ext("T", batch=True), batch(MOST_PROPERTIES + 1))
    assert code_and_remark(answer) == busy("batchProperties", MOST_PROPERTIES)


@pytest.mark.parametrize("long", ["key", "topic"])
async def test_impossible_keys_are_not_searched(broker: Client, long: str) -> None:
    ext = {"topic": "T", "key": "k", "maxNum": "9", "beginTimestamp": "0", "endTimestamp": "1", long: "x" * 500_000}
    answer = await broker.request(RequestCode.QUERY_MESSAGE, ext)
    assert answer.header.code == ResponseCode.QUERY_NOT_FOUND


# --- the name server ---

REGISTRATION = {"brokerName": "other", "brokerAddr": "a:1", "clusterName": "C", "haServerAddr": "h:1", "brokerId": "0"}


def topics(count: int, extra: str = "") -> str:
    each = '"{0}":{{"order":false,"perm":6,"readQueueNums":8,"topicFilterType":"SINGLE_TAG","topicName":"{0}"{1}}}'
    return ",".join(each.format(f"t{number}", extra) for number in range(count))


def registration(table: str, servers: str = '"f"') -> bytes:
    wrapper = f'{{"dataVersion":{{"counter":7}},"topicConfigTable":{{{table}}}}}'
    return f'{{"filterServerList":[{servers}],"topicConfigSerializeWrapper":{wrapper}}}'.encode()


async def test_a_broker_of_many_topics_is_registered(name_server: Client) -> None:
    body = registration(topics(27_000, ',"attributes":{"+message.type":"FIFO"}'))
    assert body.count(b",") > MAX_JSON_ENTRIES
    answer = await name_server.request(RequestCode.REGISTER_BROKER, REGISTRATION, body)
    assert answer.header.code == 0, answer.header.remark
    got = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "t26999"})
    route = json.loads(bytes(got.body))
    assert route["queueDatas"][0]["readQueueNums"] == 8
    assert route["filterServerTable"] == {"a:1": ["f"]}
    version = await name_server.request(RequestCode.QUERY_DATA_VERSION, REGISTRATION, b'{"counter":7}')
    assert version.header.ext == {"changed": "false"}


@pytest.mark.parametrize(
    "table", [topics(20_000) + ',"x":7', topics(20_000) + ',"x":{"perm":[]}', topics(20_000) + ',"x":{,}']
)
async def test_a_registration_of_many_topics_in_an_unusual_form_is_refused(name_server: Client, table: str) -> None:
    answer = await name_server.request(RequestCode.REGISTER_BROKER, REGISTRATION, registration(table))
    assert answer.header.code == ResponseCode.SYSTEM_ERROR


async def test_superfluous_parts_of_a_large_registration_are_not_read(name_server: Client) -> None:
    members = ",".join(f'"m{number}":1' for number in range(200_000))
    body = registration(f'"T":{{"perm":6,"topicName":"T","writeQueueNums":3,{members}}}')
    assert (await name_server.request(RequestCode.REGISTER_BROKER, REGISTRATION, body)).header.code == 0
    got = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
    assert json.loads(bytes(got.body))["queueDatas"][-1]["writeQueueNums"] == 3


async def test_a_registration_that_is_too_long_is_refused_unread(name_server: Client) -> None:
    body = bytes((4 << 20) + 1)
    answer = await name_server.request(RequestCode.REGISTER_BROKER, {**REGISTRATION, "bodyCrc32": "1"}, body)
    assert code_and_remark(answer) == busy("maxRegistrationBytes", 4 << 20)
    filters = b"\0\0\0\2{}\0\0\0\0" + len(many := b"[" + b"1," * 200_000 + b"1]").to_bytes(4) + many
    compressed = {**REGISTRATION, "compressed": "true"}
    answer = await name_server.request(RequestCode.REGISTER_BROKER, compressed, zlib.compress(filters))
    assert code_and_remark(answer) == busy("bodyEntries", MAX_JSON_ENTRIES)


async def test_the_other_parts_of_a_registration_are_bounded(name_server: Client) -> None:
    server = ",".join(['"' + "x" * 100 + '"'] * 200)
    answer = await name_server.request(RequestCode.REGISTER_BROKER, REGISTRATION, registration("", server))
    assert code_and_remark(answer) == busy("brokerText", routes.MOST_TEXT)
    name = "x" * (routes.MOST_TOPIC_NAME + 1)
    answer = await name_server.request(RequestCode.REGISTER_BROKER, REGISTRATION, registration(f'"{name}":{{}}'))
    assert code_and_remark(answer) == busy("topicName", routes.MOST_TOPIC_NAME)


async def test_a_registration_whose_connection_is_closed_has_no_effect(server: Server, name_server: Client) -> None:
    leaving = server.name_server()
    await leaving.send_oneway(RequestCode.REGISTER_BROKER, REGISTRATION, registration(topics(20_000)))
    leaving.close()
    await settle()
    got = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "t1"})
    assert got.header.code == ResponseCode.TOPIC_NOT_EXIST


# --- clients' answers ---

STATUS = RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS
WHERE = {"group": "G", "topic": "T"}


async def status(server: Server, broker: Client, *bodies: bytes) -> Frame:
    """The broker's answer to members that answer so."""
    members = [server.broker() for _ in bodies]
    for number, member in enumerate(members):
        await member.heartbeat(f"m{number}", consumer("G", subscription("T")))
    await broker.write(broker.frame(STATUS, WHERE))
    for member, body in zip(members, bodies, strict=True):
        await settle()
        await member.arrived()
        push = next(each for each in member.pushes if each.header.code == 221)
        header = Header(code=0, opaque=push.header.opaque, flag=FLAG_RESPONSE)
        await member.write(encode_frame(header, body))
    return await broker.receive()


def status_body(count: int) -> bytes:
    rows = ",".join(f'{{"brokerName":"b","queueId":{number},"topic":"T"}}:5' for number in range(count))
    return f'{{"messageQueueTable":{{{rows}}}}}'.encode()


async def test_a_long_answer_of_a_client_is_accepted(server: Server, broker: Client) -> None:
    answer = await status(server, broker, status_body(3000), status_body(2))
    assert answer.header.code == 0
    assert bytes(answer.body).count(b'"topic"') == 3002


@pytest.mark.parametrize(
    "body", [status_body(30_000), b'{"messageQueueTable":{' + b'"a":1,' * 200_000 + b'"a":1}}', b"[" * 99_999]
)
async def test_an_answer_of_a_client_with_too_many_entries_is_ignored(
    server: Server, broker: Client, body: bytes
) -> None:
    answer = await status(server, broker, body, status_body(2))
    assert answer.header.code == 0
    assert bytes(answer.body).count(b'"topic"') == 2


async def test_more_than_an_answer_can_hold_is_refused(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_requests, "MAX_ANSWER_BYTES", 100)
    monkeypatch.setattr("rocketwire.server.core.long_tasks.MAX_ANSWER_BYTES", 100)
    answer = await status(server, broker, status_body(5), status_body(5))
    assert code_and_remark(answer) == busy("answerBytes", 100)
