from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.name_server.routes import BrokerRegistration, RouteTable
from rocketwire.store.tables.versioned_table import VersionedTable
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import (
    CheckClientRequestBody,
    LockBatchRequestBody,
    MessageQueue,
    UnlockBatchRequestBody,
)
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.frame import Frame
from tests.server.harness import BINARY, Client, Server, code_and_remark, consumer, heartbeat, serving, subscription

CHANGED = RequestCode.NOTIFY_CONSUMER_IDS_CHANGED


async def client_ids(client: Client, group: str = "G") -> list[str] | None:
    answer = await client.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
    if answer.header.code:
        expected = f"no consumer for this group, {group}"
        assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, expected)
        return None
    found: list[str] = json.loads(bytes(answer.body))["consumerIdList"]
    return sorted(found)


async def pushes(client: Client) -> list[dict[str, str] | None]:
    """Fields of the requests that the broker has sent to this client since the last call."""
    assert await client.arrived() == []
    found = client.pushes
    client.pushes = []
    for frame in found:
        assert (frame.header.code, frame.header.flag) == (CHANGED, 2)
        assert frame.body == b""
    return [frame.header.ext for frame in found]


async def test_a_client_that_sends_heartbeats_is_in_the_group(server: Server, broker: Client) -> None:
    other = server.broker()
    assert await client_ids(broker) is None
    assert (await broker.heartbeat("one", consumer("G", subscription("T")))).header.code == 0
    await other.heartbeat("two", consumer("G", subscription("T")))
    assert await client_ids(broker) == ["one", "two"]
    assert await client_ids(broker, "Other") is None


async def test_a_heartbeat_with_a_bad_group_is_refused_whole(broker: Client) -> None:
    answer = await broker.heartbeat("one", consumer("G", subscription("T")), consumer("a.b", subscription("T")))
    expected = "the specified group[a.b] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    assert code_and_remark(answer) == (ResponseCode.SYSTEM_ERROR, expected)
    assert await client_ids(broker) is None


@pytest.mark.parametrize(("length", "made"), [(120, True), (121, True), (248, True), (249, False)])
async def test_a_retry_topic_whose_name_would_be_too_long_is_not_created(
    broker: Client, length: int, made: bool
) -> None:
    group = "g" * length
    assert (await broker.heartbeat("one", consumer(group, subscription("T")))).header.code == 0
    assert await client_ids(broker, group) == ["one"]
    answer = await broker.request(RequestCode.GET_ALL_TOPIC_CONFIG)
    assert (f"%RETRY%{group}" in json.loads(bytes(answer.body))["topicConfigTable"]) is made
    sent = await broker.send(f"%RETRY%{group}")
    refused = (ResponseCode.SYSTEM_ERROR, "The specified topic is longer than topic max length.")
    assert code_and_remark(sent) == ((0, None) if made else refused)


async def test_a_binary_heartbeat_is_read(broker: Client) -> None:
    body = heartbeat("one", consumer("G", subscription("T")))
    answer = await broker.request(RequestCode.HEART_BEAT, body=body, serialize_type=BINARY)
    assert (answer.header.code, answer.serialize_type) == (0, BINARY)
    answer = await broker.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"}, serialize_type=BINARY)
    assert bytes(answer.body) == b'{"consumerIdList":["one"]}'


async def test_every_change_of_the_group_is_sent_to_all_its_members(server: Server, broker: Client) -> None:
    notification = {"consumerGroup": "G"}
    other = server.broker()
    producer = server.broker()
    await producer.heartbeat("three", producers=["P"])
    await broker.heartbeat("one", consumer("G", subscription("T")))
    assert await pushes(broker) == [notification]
    await other.heartbeat("two", consumer("G", subscription("T")))
    assert await pushes(broker) == [notification]
    assert await pushes(other) == [notification]
    await other.heartbeat("two", consumer("G", subscription("T")))
    assert await pushes(broker) == await pushes(other) == []
    await other.heartbeat("two", consumer("G", subscription("T"), subscription("U")))
    assert await pushes(broker) == await pushes(other) == [notification]
    await other.request(RequestCode.UNREGISTER_CLIENT, {"clientID": "two", "consumerGroup": "G"})
    assert await pushes(broker) == [notification]
    assert await pushes(other) == []
    assert await pushes(producer) == []


async def test_a_closed_connection_leaves_its_groups(server: Server, broker: Client) -> None:
    other = server.broker()
    for client, name in ((broker, "one"), (other, "two")):
        await client.heartbeat(name, consumer("G", subscription("T")), consumer("H", subscription("T")))
    await pushes(broker)
    other.close()
    assert sorted(str(each) for each in await pushes(broker)) == ["{'consumerGroup': 'G'}", "{'consumerGroup': 'H'}"]
    assert await client_ids(broker) == ["one"]


async def test_without_heartbeats_a_member_is_forgotten_after_120_s(server: Server, broker: Client) -> None:
    silent = server.broker()
    await silent.heartbeat("silent", consumer("G", subscription("T")))
    await broker.heartbeat("lively", consumer("G", subscription("T")), producers=["P"])
    for _ in range(11):
        await server.pass_time(10)
        await silent.request(RequestCode.GET_ALL_TOPIC_CONFIG)  # a pull is no heartbeat
        await broker.heartbeat("lively", consumer("G", subscription("T")), producers=["P"])
    assert await client_ids(broker) == ["lively", "silent"]
    await pushes(broker)
    await server.pass_time(21)
    assert await client_ids(broker) == ["lively"]
    assert await pushes(broker) == [{"consumerGroup": "G"}]


async def test_members_are_not_notified_if_that_is_switched_off(broker: Client) -> None:
    await broker.set_config(notifyConsumerIdsChangedEnable="false")
    await broker.heartbeat("one", consumer("G", subscription("T")))
    assert await pushes(broker) == []
    assert await client_ids(broker) == ["one"]


@pytest.mark.parametrize("ext", [{"consumerGroup": "G"}, {"producerGroup": "P"}, {}])
async def test_leaving_a_group_without_being_a_member_succeeds(broker: Client, ext: dict[str, str]) -> None:
    answer = await broker.request(RequestCode.UNREGISTER_CLIENT, {"clientID": "one", **ext})
    assert code_and_remark(answer) == (0, None)
    assert answer.header.ext == {}


async def test_a_producer_leaves(broker: Client) -> None:
    await broker.heartbeat("one", consumer("G", subscription("T")), producers=["P"])
    ext = {"clientID": "one", "producerGroup": "P", "consumerGroup": "G"}
    assert (await broker.request(RequestCode.UNREGISTER_CLIENT, ext)).header.code == 0
    assert await client_ids(broker) is None


@pytest.mark.parametrize("unit", [False, True])
async def test_a_consumers_retry_topic_is_created(broker: Client, unit: bool) -> None:
    await broker.heartbeat("one", consumer("G", subscription("T"), unit_mode=unit))
    topics = json.loads(bytes((await broker.request(RequestCode.GET_ALL_TOPIC_CONFIG)).body))["topicConfigTable"]
    made = topics["%RETRY%G"]
    assert (made["readQueueNums"], made["writeQueueNums"], made["perm"]) == (1, 1, 6)
    assert made["topicSysFlag"] == (2 if unit else 0)


async def test_a_heartbeat_with_many_new_groups_is_written_and_announced_in_parts_of_64(
    broker: Client, name_server: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    persist, register = VersionedTable.persist, RouteTable.register

    def counted_persist(table: Any) -> None:
        done.append(Path(table._path).name)
        persist(table)

    def counted_register(*args: Any, **options: Any) -> BrokerRegistration:
        done.append("registered")
        return register(*args, **options)

    monkeypatch.setattr(VersionedTable, "persist", counted_persist)
    monkeypatch.setattr(RouteTable, "register", counted_register)
    names = [f"G{number}" for number in range(300)]
    everything = [consumer(name, subscription("T")) for name in names]
    assert (await broker.heartbeat("one", *everything)).header.code == 0
    parts = 5  # of 300
    assert done == ["subscriptionGroup.json"] * parts + ["topics.json", "registered"] * parts
    assert [await client_ids(broker, name) for name in names] == [["one"]] * 300
    route = await name_server.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "%RETRY%G299"})
    assert route.header.code == 0
    await broker.heartbeat("one", *everything)
    assert len(done) == 3 * parts


async def test_no_retry_topic_is_created_for_a_group_that_may_not_be_created(broker: Client) -> None:
    await broker.set_config(autoCreateSubscriptionGroup="false")
    assert (await broker.heartbeat("one", consumer("G", subscription("T")))).header.code == 0
    assert b"%RETRY%G" not in bytes((await broker.request(RequestCode.GET_ALL_TOPIC_CONFIG)).body)
    assert await client_ids(broker) == ["one"]


async def test_no_retry_topic_is_created_for_a_group_without_retries(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "subscriptionGroup.json").write_text(
        '{"subscriptionGroupTable":{"G":{"groupName":"G","retryQueueNums":0}}}'
    )
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.heartbeat("one", consumer("G", subscription("T")))
        assert b"%RETRY%G" not in bytes((await client.request(RequestCode.GET_ALL_TOPIC_CONFIG)).body)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b"\xff\xfe", b'{"consumerDataSet":7}'])
@pytest.mark.parametrize(
    "code",
    [
        RequestCode.HEART_BEAT,
        RequestCode.CHECK_CLIENT_CONFIG,
        RequestCode.LOCK_BATCH_MQ,
        RequestCode.UNLOCK_BATCH_MQ,
    ],
)
async def test_a_malformed_body_is_answered(broker: Client, code: int, body: bytes) -> None:
    answer = await broker.request(code, body=body)
    if answer.header.code == 0:  # unknown keys are ignored, and every field has a default
        assert body == b'{"consumerDataSet":7}'
        assert code != RequestCode.HEART_BEAT
    else:
        assert answer.header.code == ResponseCode.SYSTEM_ERROR
        assert answer.header.remark


# --- subscriptions ---


def check(**changes: Any) -> bytes:
    return encode_body(
        CheckClientRequestBody(client_id="one", group="G", subscription_data=subscription("T", **changes))
    )


@pytest.mark.parametrize(
    "body",
    [check(expression="A || B"), check(expression="||"), encode_body(CheckClientRequestBody(client_id="one"))],
)
async def test_a_subscription_with_or_without_tags_is_valid(broker: Client, body: bytes) -> None:
    assert code_and_remark(await broker.request(RequestCode.CHECK_CLIENT_CONFIG, body=body)) == (0, None)


async def test_a_valid_sql_subscription_is_accepted(broker: Client) -> None:
    body = check(expression="a > 5 AND b = 'x'", expression_type="SQL92")
    assert code_and_remark(await broker.request(RequestCode.CHECK_CLIENT_CONFIG, body=body)) == (0, None)


@pytest.mark.parametrize("kind", ["SQL92", "CLASS"])
async def test_filters_by_other_than_tags_can_be_switched_off(broker: Client, kind: str) -> None:
    await broker.set_config(enablePropertyFilter="false")
    answer = await broker.request(RequestCode.CHECK_CLIENT_CONFIG, body=check(expression="a > ", expression_type=kind))
    assert code_and_remark(answer) == (1, f"The broker does not support consumer to filter message by {kind}")


@pytest.mark.parametrize(
    ("body", "code", "remark"),
    [
        (
            check(expression="a = 1 AND\n b >", expression_type="SQL92"),
            23,
            'org.apache.rocketmq.filter.parser.ParseException: Encountered "<EOF>" at line 2, column 4.',
        ),
        (check(expression="a", expression_type="CLASS"), 23, "no filter is of type CLASS"),
    ],
)
async def test_other_subscriptions_are_refused(broker: Client, body: bytes, code: int, remark: str) -> None:
    assert code_and_remark(await broker.request(RequestCode.CHECK_CLIENT_CONFIG, body=body)) == (code, remark)


# --- locks ---


def queues(*ids: int) -> tuple[MessageQueue, ...]:
    return tuple(MessageQueue(topic="T", broker_name="broker-a", queue_id=each) for each in ids)


async def lock(client: Client, client_id: str, *ids: int) -> list[int]:
    body = encode_body(LockBatchRequestBody(client_id=client_id, consumer_group="G", mq_set=queues(*ids)))
    return _held(await client.request(RequestCode.LOCK_BATCH_MQ, body=body))


def _held(answer: Frame) -> list[int]:
    assert answer.header.code == 0
    return [each["queueId"] for each in json.loads(bytes(answer.body))["lockOKMQSet"]]


async def unlock(client: Client, client_id: str, *ids: int) -> None:
    body = encode_body(UnlockBatchRequestBody(client_id=client_id, consumer_group="G", mq_set=queues(*ids)))
    await client.send_oneway(RequestCode.UNLOCK_BATCH_MQ, body=body)
    assert await client.arrived() == []


async def test_a_queue_is_locked_by_one_client_at_a_time(broker: Client) -> None:
    assert await lock(broker, "one", 0, 1) == [0, 1]
    assert await lock(broker, "two", 1, 2) == [2]
    await unlock(broker, "two", 1)
    assert await lock(broker, "two", 1) == []
    await unlock(broker, "one", 1)
    assert await lock(broker, "two", 1) == [1]


async def test_a_lock_that_is_not_renewed_ends_after_60_s(server: Server, broker: Client) -> None:
    await lock(broker, "one", 0, 1)
    await server.pass_time(50)
    await lock(broker, "one", 0)
    await server.pass_time(10.1)
    assert await lock(broker, "two", 0, 1) == [1]


async def test_locks_outlive_their_clients_connection_and_end_with_their_time(server: Server, broker: Client) -> None:
    dying = server.broker()
    await dying.heartbeat("one", consumer("G", subscription("T")))
    await lock(dying, "one", 0, 1)
    dying.close()
    await server.pass_time(59)
    assert await lock(broker, "two", 0, 1) == []
    again = server.broker()
    assert await lock(again, "one", 0) == [0]
    await server.pass_time(1.1)
    assert await lock(broker, "two", 0, 1) == [1]


async def test_unlocking_is_answered_unless_it_is_one_way(broker: Client) -> None:
    body = encode_body(UnlockBatchRequestBody(client_id="one", consumer_group="G", mq_set=queues(0)))
    assert code_and_remark(await broker.request(RequestCode.UNLOCK_BATCH_MQ, body=body)) == (0, None)
