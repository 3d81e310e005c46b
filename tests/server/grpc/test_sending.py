"""Sends of 5.x clients: messages of all types, batches, refusals, quotas, and recalls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.grpc.queue_choice import queue_of_group
from rocketwire.wire.properties import decode_stored_properties
from tests.server.grpc.sdk import Sdk, code_of, message, send_request, topic
from tests.server.harness import NOW, Client, Server, records, serving

DAY = 86_400_000


def timestamp(ms: int) -> Any:
    found = d.SystemProperties()
    found.delivery_timestamp.FromMilliseconds(ms)
    return found.delivery_timestamp


async def stored(broker: Client, name: str = "T", queues: int = 2) -> list[Any]:
    found = []
    for queue in range(queues):
        answer = await broker.pull(name, queue_id=queue)
        found += records(answer.body)
    return found


async def test_a_message_is_stored_with_its_properties(sdk: Sdk, broker: Client) -> None:
    sent = message(b"body", "01AB", tag="tag", keys=["k1", "k2"])
    sent.user_properties["colour"] = "red"
    response = await sdk.call("SendMessage", send_request(sent))
    assert code_of(response) is Code.OK
    (entry,) = response.entries
    assert (entry.message_id, entry.offset, entry.transaction_id) == ("01AB", 0, "")
    assert entry.status.code == Code.OK
    (record,) = await stored(broker)
    properties = decode_stored_properties(record.properties)
    assert (record.body, record.born_timestamp) == (b"body", NOW)
    assert properties["TAGS"] == "tag"
    assert properties["KEYS"] == "k1 k2"
    assert (properties["UNIQ_KEY"], properties["colour"], properties["PGROUP"]) == ("01AB", "red", "T")


async def test_calls_of_one_read_are_one_group(sdk: Sdk, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketwire.server.messages.message_writer import MessageWriter

    groups: list[int] = []
    append = MessageWriter.append

    def counted(self: MessageWriter, drafts: Any) -> Any:
        groups.append(len(drafts))
        return append(self, drafts)

    monkeypatch.setattr(MessageWriter, "append", counted)
    found = await sdk.call_each("SendMessage", *[send_request(message(message_id=f"id{at}")) for at in range(5)])
    assert [code_of(response) for (response,) in found] == [Code.OK] * 5
    assert groups == [5]


async def test_a_batch_goes_to_one_queue(sdk: Sdk, broker: Client) -> None:
    response = await sdk.call("SendMessage", send_request(message(b"a", "ida"), message(b"b", "idb", tag="t")))
    assert code_of(response) is Code.OK
    assert [(entry.message_id, entry.offset) for entry in response.entries] == [("ida", 0), ("idb", 1)]
    found = await stored(broker)
    assert [record.body for record in found] == [b"a", b"b"]
    assert [decode_stored_properties(record.properties)["UNIQ_KEY"] for record in found] == ["ida", "idb"]


@pytest.mark.parametrize("size", [1, 3])
async def test_the_messages_of_a_message_group_are_in_order_in_one_queue(sdk: Sdk, broker: Client, size: int) -> None:
    await broker.create_topic("fifo", 4, attributes="+message.type=FIFO")
    fifo: Any = {"to": "fifo", "message_type": d.FIFO, "message_group": "order-7"}
    for start in range(0, 6, size):
        numbers = range(start, start + size)
        batch = [message(b"%d" % number, f"id{number}", **fifo) for number in numbers]
        response = await sdk.call("SendMessage", send_request(*batch))
        assert code_of(response) is Code.OK
        assert [(entry.message_id, entry.offset) for entry in response.entries] == [(f"id{at}", at) for at in numbers]
    found = records((await broker.pull("fifo", queue_id=queue_of_group("order-7", 4))).body)
    assert [record.body for record in found] == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert {decode_stored_properties(record.properties)["__SHARDINGKEY"] for record in found} == {"order-7"}


@pytest.mark.parametrize("other", [{"message_type": d.FIFO, "message_group": "h"}, {}])
async def test_a_batch_of_several_message_groups_is_refused(sdk: Sdk, broker: Client, other: dict[str, Any]) -> None:
    await broker.create_topic("mixed", 4, attributes="+message.type=MIXED")
    batch = [message(to="mixed", message_type=d.FIFO, message_group="g"), message(to="mixed", **other)]
    for messages in (batch, batch[::-1]):
        response = await sdk.call("SendMessage", send_request(*messages))
        assert (code_of(response), response.status.message) == (
            Code.BAD_REQUEST,
            "the messages of a batch must have the same message group, or none",
        )
    assert await stored(broker, "mixed", 4) == []


async def test_a_batch_of_one_message_group_needs_a_topic_of_that_type(sdk: Sdk, broker: Client) -> None:
    batch = [message(message_type=d.FIFO, message_group="g") for _ in range(2)]
    response = await sdk.call("SendMessage", send_request(*batch))
    assert code_of(response) is Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    assert await stored(broker) == []


async def test_the_type_must_be_the_topics(sdk: Sdk, broker: Client) -> None:
    await broker.create_topic("mixed", 1, attributes="+message.type=MIXED")
    await broker.create_topic("fifo", 1, attributes="+message.type=FIFO")
    fifo: Any = {"message_type": d.FIFO, "message_group": "g"}
    codes = [
        code_of(await sdk.call("SendMessage", send_request(each)))
        for each in (
            message(**fifo),
            message(to="mixed", **fifo),
            message(to="fifo"),
            message(to="fifo", **fifo),
        )
    ]
    conflict = Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    assert codes == [conflict, Code.OK, conflict, Code.OK]


async def test_types_are_not_checked_if_that_is_switched_off(sdk: Sdk, broker: Client) -> None:
    await broker.set_config(enableTopicMessageTypeCheck="false")
    sent = message(message_type=d.FIFO, message_group="g")
    assert code_of(await sdk.call("SendMessage", send_request(sent))) is Code.OK


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ([], Code.MESSAGE_CORRUPTED),
        ([message(to="unknown")], Code.TOPIC_NOT_FOUND),
        ([message(to="bad name")], Code.ILLEGAL_TOPIC),
        ([message(b"")], Code.MESSAGE_BODY_EMPTY),
        ([message(message_id="")], Code.ILLEGAL_MESSAGE_ID),
        ([message(tag="a|b")], Code.ILLEGAL_MESSAGE_TAG),
        ([message(), message(to="U")], Code.MESSAGE_CORRUPTED),
    ],
)
async def test_invalid_sends_are_refused(sdk: Sdk, broker: Client, sent: list[d.Message], code: Code) -> None:
    response = await sdk.call("SendMessage", s.SendMessageRequest(messages=sent))
    assert code_of(response) is code
    assert not response.entries
    assert await stored(broker) == []


async def test_a_read_only_topic_is_forbidden(sdk: Sdk, broker: Client) -> None:
    await broker.create_topic("R", 1, perm=4)
    assert code_of(await sdk.call("SendMessage", send_request(message(to="R")))) is Code.FORBIDDEN


async def test_a_body_may_be_as_long_as_with_remoting(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", max_message_size=100) as server:
        await server.broker().create_topic("T", 1)
        with Sdk(server.broker_address) as sdk:
            codes = [code_of(await sdk.call("SendMessage", send_request(message(bytes(n))))) for n in (100, 101)]
    assert codes == [Code.OK, Code.MESSAGE_BODY_TOO_LARGE]


async def test_sends_have_the_usual_quotas(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", topic_quotas="*=1/1") as server:
        await server.broker().create_topic("T", 1)
        with Sdk(server.broker_address) as sdk:
            codes = [code_of(await sdk.call("SendMessage", send_request())) for _ in range(3)]
    assert codes[0] is Code.OK
    assert codes[-1] is Code.TOO_MANY_REQUESTS


async def test_a_timer_message_can_be_recalled(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", recall_message_enable=True) as server:
        await server.broker().create_topic("later", 1, attributes="+message.type=DELAY")
        with Sdk(server.broker_address) as sdk:
            sent = message(
                message_id="idl", to="later", message_type=d.DELAY, delivery_timestamp=timestamp(NOW + 60_000)
            )
            response = await sdk.call("SendMessage", send_request(sent))
            (entry,) = response.entries
            assert entry.recall_handle
            request = s.RecallMessageRequest(topic=topic("later"), recall_handle=entry.recall_handle)
            recalled = await sdk.call("RecallMessage", request)
            assert (code_of(recalled), recalled.message_id) == (Code.OK, "idl")


@pytest.mark.parametrize(("more", "code"), [(0, Code.OK), (1, Code.ILLEGAL_DELIVERY_TIME)])
async def test_a_delivery_time_is_forty_days_ahead_at_most(sdk: Sdk, broker: Client, more: int, code: Code) -> None:
    await broker.create_topic("later", 1, attributes="+message.type=DELAY")
    sent = message(to="later", message_type=d.DELAY, delivery_timestamp=timestamp(NOW + 40 * DAY + more))
    response = await sdk.call("SendMessage", send_request(sent))
    assert code_of(response) is code
    assert [bool(entry.recall_handle) for entry in response.entries] == [True] * (code is Code.OK)


async def test_the_delay_of_a_transaction_is_cleared(sdk: Sdk, broker: Client) -> None:
    await broker.create_topic("X", 1, attributes="+message.type=TRANSACTION")
    sent = message(to="X", message_type=d.TRANSACTION, delivery_timestamp=timestamp(NOW + 50 * DAY))
    (entry,) = (await sdk.call("SendMessage", send_request(sent))).entries
    end = s.EndTransactionRequest(
        topic=topic("X"), message_id=entry.message_id, transaction_id=entry.transaction_id, resolution=d.COMMIT
    )
    assert code_of(await sdk.call("EndTransaction", end)) is Code.OK
    (record,) = await stored(broker, "X", 1)
    assert not [name for name in decode_stored_properties(record.properties) if name.startswith("TIMER_")]


async def test_invalid_and_forbidden_recalls_are_refused(sdk: Sdk, broker: Client) -> None:
    request = s.RecallMessageRequest(topic=topic(), recall_handle="x")
    assert code_of(await sdk.call("RecallMessage", request)) is Code.BAD_REQUEST
    await broker.set_config(recallMessageEnable="false")
    assert code_of(await sdk.call("RecallMessage", request)) is Code.FORBIDDEN
