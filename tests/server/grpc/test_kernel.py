"""Sends of 5.x clients in the kernel: with the result of the general path, and only while a plan allows it."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire import native
from rocketwire.server.grpc.kernel import KernelSendCalls
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, counted_serves, message, send_request
from tests.server.grpc.test_sending import stored
from tests.server.harness import NOW, Client, Server

pytestmark = pytest.mark.skipif(native.kernel is None, reason="there is no kernel")


@pytest.fixture
def served_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls of each read the kernel served."""
    return counted_serves(monkeypatch, KernelSendCalls)


async def send_all(sdk: Sdk, *sent: d.Message) -> list[Any]:
    """Send messages in one read, each in a separate call; the responses."""
    return [response for (response,) in await sdk.call_each("SendMessage", *map(send_request, sent))]


async def fill(sdk: Sdk, name: str = "T", queues: int = 2, **fields: Any) -> None:
    """Put a message into each queue: before that the kernel serves no sends."""
    for _ in range(queues):
        assert code_of(await sdk.call("SendMessage", send_request(message(to=name, **fields)))) is Code.OK


async def test_a_send_is_stored_as_by_the_general_path(sdk: Sdk, broker: Client, served_calls: list[int]) -> None:
    await fill(sdk)
    served_calls.clear()
    sent = [message(b"body", f"id{each}", tag="tag", keys=["k1", "k2"]) for each in range(4)]
    for each in sent:
        each.user_properties["colour"] = "red"
    responses = await send_all(sdk, *sent)
    assert served_calls == [4]
    mixed = await send_all(sdk, message(), *sent[:2], message(b""))
    assert served_calls[1] == 3
    assert [code_of(each) for each in mixed] == [Code.OK, Code.OK, Code.OK, Code.MESSAGE_BODY_EMPTY]
    assert [code_of(each) for each in responses] == [Code.OK] * 4
    assert [each.entries[0].message_id for each in responses] == ["id0", "id1", "id2", "id3"]
    assert sorted(each.entries[0].offset for each in responses) == [1, 1, 2, 2]
    found = await stored(broker)
    assert all(each.born_timestamp == NOW for each in found)
    texts = {each.properties for each in found if b"UNIQ_KEY\x01id0\x02" in each.properties}
    assert len(texts) == 1


async def test_calls_behind_one_that_the_kernel_does_not_serve_are_not_served_either(
    sdk: Sdk, broker: Client, served_calls: list[int]
) -> None:
    assert broker is not None
    await fill(sdk)
    served_calls.clear()
    responses = await send_all(sdk, message(b"1"), message(b"2"), message(b""), message(b"3"))
    assert served_calls == [2]
    assert [code_of(each) for each in responses] == [Code.OK, Code.OK, Code.MESSAGE_BODY_EMPTY, Code.OK]


async def test_types_are_those_of_the_topic(sdk: Sdk, broker: Client, served_calls: list[int]) -> None:
    await broker.create_topic("fifo", 2, attributes="+message.type=FIFO")
    fifo: Any = {"to": "fifo", "message_type": d.FIFO, "message_group": "g"}
    assert code_of(await sdk.call("SendMessage", send_request(message(**fifo)))) is Code.OK
    served_calls.clear()
    responses = await send_all(sdk, message(**fifo), message(**fifo), message(to="fifo"))
    assert served_calls == [2]
    codes = [code_of(each) for each in responses]
    assert codes == [Code.OK, Code.OK, Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE]
    assert [each.entries[0].offset for each in responses[:2]] == [1, 2]


async def test_a_plan_is_made_again_after_a_change(sdk: Sdk, broker: Client, served_calls: list[int]) -> None:
    await fill(sdk)
    served_calls.clear()
    await broker.create_topic("T", 2, perm=4)
    assert code_of(await sdk.call("SendMessage", send_request(message()))) is Code.FORBIDDEN
    await broker.create_topic("T", 2)
    assert code_of(await sdk.call("SendMessage", send_request(message()))) is Code.OK
    assert served_calls == [0, 1]


async def test_a_new_topic_is_served_by_the_kernel(sdk: Sdk, broker: Client, served_calls: list[int]) -> None:
    assert code_of(await sdk.call("SendMessage", send_request(message(to="new")))) is Code.TOPIC_NOT_FOUND
    await broker.create_topic("new", 1)
    await fill(sdk, "new", 1)
    assert code_of(await sdk.call("SendMessage", send_request(message(to="new")))) is Code.OK
    assert served_calls[-1] == 1


async def test_a_timer_message_has_a_recall_handle(sdk: Sdk, broker: Client, served_calls: list[int]) -> None:
    await broker.create_topic("delay", 1, attributes="+message.type=DELAY")
    timed = message(to="delay", message_type=d.DELAY)
    timed.system_properties.delivery_timestamp.seconds = NOW // 1000 + 3600
    first = await sdk.call("SendMessage", send_request(timed))
    second = await sdk.call("SendMessage", send_request(timed))
    assert served_calls[-1] == 1
    assert code_of(second) is Code.OK
    assert second.entries[0].recall_handle == first.entries[0].recall_handle != ""


async def test_a_client_without_an_id_is_refused(server: Server, sdk: Sdk, served_calls: list[int]) -> None:
    await fill(sdk)
    with Sdk(server.broker_address, client_id=" ") as other:
        assert code_of(await other.call("SendMessage", send_request(message()))) is Code.CLIENT_ID_REQUIRED
    assert served_calls[-1] == 0
