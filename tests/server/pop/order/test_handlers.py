"""Pops in order as clients see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketwire.store.tables.pop.order_info import OrderInfoTable
from rocketwire.wire.facts.codes import PopResponseCode, RequestCode, ResponseCode
from rocketwire.wire.headers import decode_ext
from rocketwire.wire.headers.pop import NotificationResponseHeader
from tests.server.harness import NOW, Client, Server, serving, serving_topic, settle
from tests.server.pop.requests import ack, ack_all, change, hold, notification_ext, pop, popped


@pytest.fixture
async def filled(broker: Client) -> Client:
    """T has one queue with six messages."""
    await broker.create_topic("T", 1)
    for number in range(6):
        await broker.send("T", b"m%d" % number)
    return broker


async def consumed(client: Client) -> str | None:
    ext = {"consumerGroup": "G", "topic": "T", "queueId": "0", "setZeroIfNotFound": "false"}
    answer = await client.request(RequestCode.QUERY_CONSUMER_OFFSET, ext)
    return (answer.header.ext or {}).get("offset")


async def test_a_queue_gives_no_message_until_all_are_acknowledged(filled: Client) -> None:
    first = await pop(filled, order=True, max_msg_nums=2)
    assert first.bodies == [b"m0", b"m1"]
    assert first.frame.header.ext == {
        "popTime": str(NOW),
        "invisibleTime": "10000",
        "reviveQid": "999",
        "restNum": "4",
        "startOffsetInfo": "0 0 0",
        "msgOffsetInfo": "0 0 0,1",
        "orderCountInfo": "0 0 0",
    }
    for offset, got in enumerate(first.messages):
        assert await consumed(filled) == str(offset)
        blocked = await pop(filled, order=True)
        assert (blocked.frame.header.code, blocked.fields.rest_num) == (PopResponseCode.POLLING_TIMEOUT, 0)
        assert (await ack(filled, got)).header.code == 0
    assert (await pop(filled, order=True)).bodies == [b"m2", b"m3", b"m4", b"m5"]


async def test_the_same_attempt_gets_the_batch_again(filled: Client) -> None:
    for _ in range(2):
        found = await pop(filled, order=True, max_msg_nums=2, attempt_id="a")
        assert found.bodies == [b"m0", b"m1"]
        assert found.fields.order_count_info == "0 0 0"


async def test_other_clients_wait_for_the_last_acknowledgement(filled: Client, server: Server) -> None:
    first = await pop(filled, order=True, max_msg_nums=2)
    other = server.broker()
    await hold(other, order=True)
    assert (await ack_all(filled, first.messages[0])).header.code == 0
    assert await other.arrived() == []
    assert (await ack_all(filled, first.messages[1])).header.code == 0
    (answer,) = await other.arrived()
    assert popped(answer).bodies == [b"m2", b"m3", b"m4", b"m5"]


async def test_other_clients_wait_until_the_invisible_time_is_over(filled: Client, server: Server) -> None:
    first = await pop(filled, order=True, max_msg_nums=2, invisible_time=5000)
    await ack(filled, first.messages[0])
    other = server.broker()
    await hold(other, order=True, queue_id=0)
    await server.pass_time(4.9)
    assert await other.arrived() == []
    await server.pass_time(0.1)
    (answer,) = await other.arrived()
    again = popped(answer)
    assert again.bodies == [b"m1", b"m2", b"m3", b"m4", b"m5"]
    assert again.fields.order_count_info == "0 qo0%1 1;0 0 0"
    # The former client acknowledges too late.
    assert (await ack(filled, first.messages[1])).header.code == 0
    assert await consumed(filled) == "1"


async def test_a_messages_invisible_time_may_be_prolonged_or_ended(filled: Client, server: Server) -> None:
    first = await pop(filled, order=True, max_msg_nums=1)
    frame, got = await change(filled, first.messages[0], 60_000)
    assert frame.header.ext == {"popTime": str(NOW), "invisibleTime": "60000", "reviveQid": "999"}
    await server.pass_time(30)
    assert (await pop(filled, order=True)).bodies == []
    other = server.broker()
    await hold(other, order=True)
    await change(filled, got, 0)
    (answer,) = await other.arrived()
    again = popped(answer)
    assert again.bodies[0] == b"m0"
    await ack(filled, again.messages[0])
    frame, _ = await change(filled, again.messages[0], 1000)
    assert frame.header.ext == {"popTime": "0", "invisibleTime": "0", "reviveQid": "0"}


async def test_a_message_that_was_not_popped_is_not_acknowledged(filled: Client) -> None:
    first = await pop(filled, order=True, max_msg_nums=1)
    wrong = first.messages[0]._replace(handle=first.messages[0].handle._replace(offset=3))
    answer = await ack(filled, wrong)
    assert answer.header.code == ResponseCode.MESSAGE_ILLEGAL
    assert answer.header.remark == "offset is illegal, key:T@G@0, old:0, commit:3, next:-1"


async def test_no_client_is_notified_of_a_blocked_queue(filled: Client) -> None:
    async def has_message(attempt: str | None) -> bool:
        ext = notification_ext(order=True, attempt_id=attempt)
        answer = await filled.request(RequestCode.NOTIFICATION, ext)
        return decode_ext(NotificationResponseHeader, answer.header.ext).has_msg

    assert await has_message(None)
    await pop(filled, order=True, attempt_id="a")
    assert not await has_message("b")


async def test_invisible_messages_are_known_after_a_restart(tmp_path: Path) -> None:
    async with serving_topic(tmp_path / "store") as (_, client):
        for number in range(3):
            await client.send("T", b"m%d" % number)
        first = await pop(client, order=True, max_msg_nums=2)
        await ack(client, first.messages[0])
    info = OrderInfoTable.open(tmp_path / "store" / "config" / "consumerOrderInfo.json").get("T", "G", 0)
    assert info is not None
    assert info.commit_offset_bit == 1
    async with serving(tmp_path / "store") as server:
        client = server.broker()
        assert (await pop(client, order=True)).bodies == []
        await ack(client, first.messages[1])
        assert (await pop(client, order=True)).bodies == [b"m2"]


async def test_a_new_topic_of_the_same_name_gives_messages(filled: Client, server: Server) -> None:
    await pop(filled, order=True)
    await filled.request(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "T"})
    await settle()
    await filled.create_topic("T", 1)
    await filled.send("T", b"new")
    assert (await pop(filled, order=True)).bodies == [b"new"]
