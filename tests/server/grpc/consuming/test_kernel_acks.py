"""Acknowledgements of one read that are stored together, with the result of the general path."""

from __future__ import annotations

from typing import Any

import pytest

from rocketwire import native
from rocketwire.server.grpc.consuming.kernel_acks import KernelAcks
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.store.append.drafts import Draft
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.consuming.test_receiving import ack, messages, receive_in_time, receive_now
from tests.server.grpc.sdk import (
    SERVICE,
    Sdk,
    code_of,
    counted_serves,
    create_group,
    message,
    receive_request,
    send_request,
)
from tests.server.harness import Client, Server

pytestmark = pytest.mark.skipif(native.kernel is None, reason="there is no kernel")


@pytest.fixture
def served_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calls of each read were served together."""
    return counted_serves(monkeypatch, KernelAcks)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[Draft]:
    """The stored records of acknowledgements."""
    found: list[Draft] = []
    append = MessageWriter.append

    def noted(self: MessageWriter, drafts: Any) -> Any:
        found.extend(each for each in drafts if str(each.properties, "utf-8").startswith(("TAGS\1ack", "TAGS\1bAck")))
        return append(self, drafts)

    monkeypatch.setattr(MessageWriter, "append", noted)
    return found


async def ack_all(sdk: Sdk, *requests: s.AckMessageRequest) -> list[s.AckMessageResponse]:
    """Acknowledge in one read, by one call each; the responses."""
    return [response for (response,) in await sdk.call_each("AckMessage", *requests)]


async def received(sdk: Sdk, count: int = 4, **changes: Any) -> list[d.Message]:
    for number in range(count):
        await sdk.call("SendMessage", send_request(message(b"%d" % number, f"id{number}")))
    found = messages(await sdk.receive(receive_request(**changes), {"grpc-timeout": "8S"}))
    assert len(found) == count
    return found


@pytest.mark.parametrize("kept", [{}, {"auto_renew": True, "invisible": 0}])
async def test_records_and_responses_equal_those_of_the_general_path(
    sdk: Sdk,
    broker: Client,
    monkeypatch: pytest.MonkeyPatch,
    served_calls: list[int],
    stored: list[Draft],
    kept: dict[str, Any],
) -> None:
    assert broker is not None
    found = await received(sdk, **kept)
    calls = [ack(found[0]), ack(found[1]), ack(found[2], found[3]), ack(*found), ack(found[0], found[0])]
    responses = await ack_all(sdk, *calls)
    assert served_calls[-1] == 5
    together = list(stored)
    stored.clear()
    monkeypatch.setattr(KernelAcks, "serve", lambda *_: 0)
    assert await ack_all(sdk, *calls) == responses
    assert stored == together
    assert {code_of(each) for each in responses} == {Code.OK}


async def test_acknowledged_messages_are_not_redelivered(sdk: Sdk, server: Server, served_calls: list[int]) -> None:
    found = await received(sdk)
    await ack_all(sdk, *map(ack, found[1:]))
    assert served_calls[-1] == 3
    assert await receive_in_time(sdk, server, 29) == []
    assert [each.body for each in await receive_in_time(sdk, server, 5)] == [found[0].body]


async def test_the_general_path_refuses_calls(sdk: Sdk, server: Server, served_calls: list[int]) -> None:
    found = await received(sdk)
    wrong = found[1].system_properties.receipt_handle.rsplit(" ", 2)[0] + " 999"
    responses = await ack_all(sdk, ack(found[0]), ack(found[1], handle=wrong), ack(found[2]))
    assert served_calls[-1] == 1
    assert [code_of(each) for each in responses] == [Code.OK, Code.INVALID_RECEIPT_HANDLE, Code.OK]
    await server.pass_time(31, step=1)
    (late,) = await ack_all(sdk, ack(found[3]))
    assert served_calls[-1] == 0
    assert code_of(late) is Code.INVALID_RECEIPT_HANDLE


async def test_a_refusal_of_the_store_is_answered(
    sdk: Sdk, server: Server, monkeypatch: pytest.MonkeyPatch, served_calls: list[int]
) -> None:
    found = await received(sdk)
    append = MessageWriter.append

    def refusing(self: MessageWriter, drafts: Any) -> Any:
        appended, _ = append(self, drafts)
        return appended, {1: OSError("the disk is full")}

    assert server is not None
    monkeypatch.setattr(MessageWriter, "append", refusing)
    responses = await ack_all(sdk, ack(found[0]), ack(found[1]), ack(found[2]))
    assert served_calls[-1] == 3
    assert [code_of(each) is Code.OK for each in responses] == [True, False, True]
    (entry,) = responses[1].entries
    assert (entry.message_id, entry.status.message) == (found[1].system_properties.message_id, "the disk is full")


async def test_ordered_messages_are_not_acknowledged_together(
    sdk: Sdk, broker: Client, served_calls: list[int]
) -> None:
    await create_group(broker, "G", consume_message_orderly=True)
    await sdk.call("SendMessage", send_request(message()))
    (found,) = await receive_now(sdk)
    (response,) = await ack_all(sdk, ack(found))
    assert served_calls[-1] == 0
    assert code_of(response) is Code.OK


async def test_other_calls_of_the_read_do_not_delay_them(sdk: Sdk, server: Server, served_calls: list[int]) -> None:
    assert server is not None
    found = await received(sdk)
    streams = [sdk.open(f"{SERVICE}{name}") for name in ("AckMessage", "ReceiveMessage", "AckMessage", "SendMessage")]
    for stream, request in zip(
        streams, (ack(found[0]), receive_request(polling=5), ack(found[1]), send_request(message())), strict=True
    ):
        sdk.put(stream, request)
    await sdk.send_out()
    for stream, kind in zip(
        streams,
        (s.AckMessageResponse, s.ReceiveMessageResponse, s.AckMessageResponse, s.SendMessageResponse),
        strict=True,
    ):
        first, *_ = (await sdk.wait_until_over(stream)).messages(kind)
        assert code_of(first) is Code.OK
    assert served_calls[-2:] == [1, 1]
