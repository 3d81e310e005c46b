"""Transactions through a whole server, as producers and consumers see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.core.clocks.clock import hour_of_day
from rocketwire.wire.facts.codes import RequestCode, SysFlag
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.transaction import EndTransactionRequestHeader
from rocketwire.wire.properties import decode_properties
from tests.server.harness import (
    BINARY,
    NOW,
    Client,
    Server,
    batch_body,
    code_and_remark,
    properties_text,
    records,
    send_ext,
    serving,
    serving_topic,
    settle,
)

COMMIT, ROLLBACK = SysFlag.TRANSACTION_COMMIT, SysFlag.TRANSACTION_ROLLBACK
FORBIDDEN = "the broker[127.0.0.1] sending transaction message is forbidden"


async def send_half(client: Client, body: bytes = b"half", **changes: Any) -> dict[str, str]:
    named = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "K", **changes.pop("named", {})}
    values = {
        "queue_id": 1,
        "sys_flag": SysFlag.TRANSACTION_PREPARED,
        "properties": properties_text(**named),
        **changes,
    }
    answer = await client.send("T", body, **values)
    assert answer.header.code == 0
    assert answer.header.ext is not None
    return answer.header.ext


def end_ext(sent: dict[str, str], decision: int = COMMIT, **changes: Any) -> dict[str, str]:
    values: dict[str, Any] = {
        "producer_group": "P",
        "tran_state_table_offset": int(sent["queueOffset"]),
        "commit_log_offset": int(sent["msgId"][16:], 16),
        "commit_or_rollback": decision,
        "msg_id": "K",
        **changes,
    }
    return encode_ext(EndTransactionRequestHeader(**values))


async def bodies(client: Client, topic: str = "T", queue_id: int = 1) -> list[bytes]:
    return [message.body for message in records((await client.pull(topic, queue_id=queue_id)).body)]


@pytest.mark.parametrize("serialize_type", [0, BINARY])
async def test_a_half_message_is_answered_with_its_offset_in_the_half_queue(
    broker: Client, serialize_type: int
) -> None:
    for number in range(2):
        sent = await send_half(broker, serialize_type=serialize_type)
        assert (sent["queueId"], sent["queueOffset"]) == ("1", str(number))
        assert sent["transactionId"] == "K"
    assert await bodies(broker) == []


@pytest.mark.parametrize("serialize_type", [0, BINARY])
@pytest.mark.parametrize("key", ['a"b\\', "%s{}", "键"])
async def test_the_transaction_id_is_the_unique_key_whatever_it_is(
    broker: Client, serialize_type: int, key: str
) -> None:
    """Apache's brokers return it since 5.0."""
    sent = await send_half(broker, serialize_type=serialize_type, named={"UNIQ_KEY": key})
    assert sent["transactionId"] == key


async def test_without_a_unique_key_there_is_no_transaction_id(broker: Client) -> None:
    answer = await broker.send("T", properties=properties_text(TRAN_MSG="true", PGROUP="P"), sys_flag=4)
    assert answer.header.ext is not None
    assert "transactionId" not in answer.header.ext


async def test_one_way_and_unknown_decisions_are_handled(broker: Client) -> None:
    sent = [await send_half(broker, b"%d" % number) for number in range(4)]
    await broker.send_oneway(RequestCode.END_TRANSACTION, end_ext(sent[2]))
    await broker.send_oneway(RequestCode.END_TRANSACTION, end_ext(sent[0], ROLLBACK))
    await broker.send_oneway(RequestCode.END_TRANSACTION, end_ext(sent[1], 0))
    answer = await broker.request(RequestCode.END_TRANSACTION, end_ext(sent[1], producer_group="Q"))
    assert code_and_remark(answer) == (1, "The producer group wrong")
    answer = await broker.request(RequestCode.END_TRANSACTION, end_ext(sent[1]))
    assert (answer.header.code, answer.header.ext) == (0, None)
    assert await bodies(broker) == [b"2", b"1"]


async def test_a_commit_wakes_a_held_pull(server: Server, broker: Client) -> None:
    sent = await send_half(broker)
    waiting = server.broker()
    await waiting.hold("T", queue_id=1)
    await broker.send_oneway(RequestCode.END_TRANSACTION, end_ext(sent))
    (answer,) = await waiting.arrived()
    assert [message.body for message in records(answer.body)] == [b"half"]


async def test_a_producer_gets_a_back_check_and_its_answer_counts(server: Server, broker: Client) -> None:
    await send_half(broker, born_timestamp=NOW)
    producer = server.broker()
    await producer.heartbeat("client", producers=["P"])
    await server.pass_time(60, step=1)
    await producer.arrived()
    (check,) = producer.pushes
    assert check.header.code == RequestCode.CHECK_TRANSACTION_STATE
    (half,) = records(check.body)
    assert (half.topic, half.queue_id, half.body) == ("T", 1, b"half")
    ext = check.header.ext
    assert ext is not None
    answer = {"queueOffset": ext["tranStateTableOffset"], "msgId": ext["offsetMsgId"]}
    await producer.send_oneway(RequestCode.END_TRANSACTION, end_ext(answer, from_transaction_check=True))
    await settle()
    assert await bodies(broker) == [b"half"]


async def test_messages_undecided_at_a_stop_are_checked_after_the_start(tmp_path: Path) -> None:
    async with serving_topic(tmp_path / "store", queues=2) as (_, client):
        sent = await send_half(client)
    async with serving(tmp_path / "store", transaction_check_interval=1000) as server:
        producer = server.broker()
        await producer.heartbeat("client", producers=["P"])
        await server.pass_time(7, step=1)
        await producer.arrived()
        assert producer.pushes
        await producer.send_oneway(RequestCode.END_TRANSACTION, end_ext(sent))
        assert await bodies(producer) == [b"half"]


async def test_transactions_may_be_refused(server: Server, broker: Client) -> None:
    await broker.set_config(rejectTransactionMessage="true")
    text = properties_text(TRAN_MSG="true", PGROUP="P")
    assert code_and_remark(await broker.send("T", properties=text)) == (16, FORBIDDEN)
    ext = send_ext("T", properties=text, batch=True)
    answer = await broker.request(RequestCode.SEND_BATCH_MESSAGE, ext, batch_body([b"a"]))
    assert code_and_remark(answer) == (16, FORBIDDEN)
    assert server.config.transactions.reject_transaction_message is False


async def test_a_batch_has_no_transaction(broker: Client) -> None:
    ext = send_ext("T", properties=properties_text(TRAN_MSG="true", PGROUP="P"), batch=True)
    answer = await broker.request(RequestCode.SEND_BATCH_MESSAGE, ext, batch_body([b"a", b"b"]))
    assert code_and_remark(answer) == (13, "property TRAN_MSG: a batch has no transaction")
    ext = send_ext("T", properties="", batch=True)
    answer = await broker.request(
        RequestCode.SEND_BATCH_MESSAGE, ext, batch_body([b"a"], properties_text(TRAN_MSG="true"))
    )
    assert code_and_remark(answer) == (13, "a batch takes no delayed or transactional messages")


@pytest.mark.parametrize(
    "delay",
    [
        {"DELAY": "3"},
        {"TIMER_DELAY_SEC": "3"},
        {"TIMER_DELAY_MS": "3"},
        {"TIMER_DELIVER_MS": str(NOW + 3)},
        {"__STARTDELIVERTIME": str(NOW + 3)},
        {"TIMER_DELIVER_MS": "x", "TIMER_DEL_UNIQKEY": "K", "DELAY": "1", "TIMER_DELAY_SEC": "999999999"},
    ],
)
async def test_the_delay_of_a_transaction_is_cleared(broker: Client, delay: dict[str, str]) -> None:
    """Producers of 4.x drop a delay level themselves."""
    sent = await send_half(broker, named=delay)
    assert "recallHandle" not in sent
    await broker.send_oneway(RequestCode.END_TRANSACTION, end_ext(sent))
    (delivered,) = records((await broker.pull("T", queue_id=1)).body)
    assert delivered.body == b"half"
    assert delay.keys().isdisjoint(decode_properties(delivered.properties.decode()))


async def test_an_undecided_message_outlives_its_file(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "mapped_file_size_commit_log": 16384,
        "file_reserved_time": 1,
        "delete_when": str((hour_of_day(NOW) + 12) % 24),
        "transaction_check_interval": 600_000,
    }
    async with serving_topic(tmp_path / "store", queues=2, **settings) as (server, client):
        await send_half(client, b"undecided", born_timestamp=NOW)
        for _ in range(60):
            await client.send("T", bytes(400))
        await server.pass_time(3600, step=300)
        later = server.broker()
        first = RequestCode.GET_MIN_OFFSET, {"topic": "T", "queueId": "0"}
        assert (await later.request(*first)).header.ext == {"offset": "0"}
        assert (await later.request(RequestCode.DELETE_EXPIRED_COMMITLOG)).header.code == 0
        await server.pass_time(90, step=1)
        assert (await later.request(*first)).header.ext != {"offset": "0"}
        await server.pass_time(600, step=60)
        assert await bodies(server.broker(), "TRANS_CHECK_MAX_TIME_TOPIC", 0) == [b"undecided"]


async def test_a_message_retried_by_a_send_waits_for_its_delay(broker: Client) -> None:
    """A consumer of an older client sends it with all properties that it received."""
    answer = await broker.send("T", b"again", reconsume_times=1, properties=properties_text(TRAN_MSG="true", DELAY="3"))
    assert answer.header.code == 0
    (waiting,) = records((await broker.pull("SCHEDULE_TOPIC_XXXX", queue_id=2)).body)
    assert waiting.body == b"again"


async def test_properties_that_grow_too_long_are_refused(broker: Client) -> None:
    text = properties_text(TRAN_MSG="true", PGROUP="P", x="x" * 32720)
    answer = await broker.send("T", properties=text)
    assert answer.header.code == 13


async def test_a_reader_of_the_half_topic_sees_half_messages(server: Server, broker: Client) -> None:
    """As on Apache's broker, after its first round has created the topic."""
    await send_half(broker)
    assert (await broker.pull("RMQ_SYS_TRANS_HALF_TOPIC")).header.code == 17
    await server.pass_time(60, step=10)
    assert await bodies(broker, "RMQ_SYS_TRANS_HALF_TOPIC", 0) == [b"half"] * 2
    assert (await broker.pull("RMQ_SYS_TRANS_OP_HALF_TOPIC")).header.code == 17
    answer = await broker.send("RMQ_SYS_TRANS_HALF_TOPIC")
    assert code_and_remark(answer) == (16, "Sending message to topic[RMQ_SYS_TRANS_HALF_TOPIC] is forbidden.")
