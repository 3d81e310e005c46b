"""Messages of 5.x clients: received, acknowledged, postponed, made dead letters, and returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.properties import decode_stored_properties
from tests.server.grpc.sdk import (
    Sdk,
    code_of,
    consumer_settings,
    create_group,
    message,
    receive_request,
    send_request,
    topic,
)
from tests.server.grpc.test_telemetry import consumers
from tests.server.harness import NOW, Client, Server, records
from tests.wire import golden

SOON = {"grpc-timeout": "8S"}
GROUP = d.Resource(name="G")


def codes(responses: Sequence[Any]) -> list[Code]:
    return [Code(each.status.code) for each in responses if each.HasField("status")]


def refused(responses: Sequence[Any]) -> Code:
    """The code of an answer without messages, which ends with the time of delivery, as with Apache's proxy 5.5.0."""
    first, last = responses
    assert last.WhichOneof("content") == "delivery_timestamp"
    assert last.delivery_timestamp.ToMilliseconds() >= NOW
    return Code(first.status.code)


def messages(responses: Sequence[Any]) -> list[d.Message]:
    return [each.message for each in responses if each.HasField("message")]


async def receive_now(sdk: Sdk, **changes: Any) -> list[d.Message]:
    """Receive; the messages."""
    return messages(await sdk.receive(receive_request(**changes), SOON))


async def receive_in_time(sdk: Sdk, server: Server, seconds: float = 1, **changes: Any) -> list[d.Message]:
    """Receive, in time that passes while the call waits; the messages."""
    stream = await sdk.begin("ReceiveMessage", receive_request(polling=5, **changes), SOON)
    await sdk.rest()
    await server.pass_time(seconds, step=0.5)
    found = await sdk.wait_until_over(stream) if sdk.incoming[stream].over else None
    if found is None:
        await server.pass_time(6, step=0.5)
        found = await sdk.wait_until_over(stream)
    return messages(found.messages(s.ReceiveMessageResponse))


def ack(*received: d.Message, handle: str | None = None) -> s.AckMessageRequest:
    entries = [
        s.AckMessageEntry(
            message_id=each.system_properties.message_id,
            receipt_handle=each.system_properties.receipt_handle if handle is None else handle,
        )
        for each in received
    ]
    return s.AckMessageRequest(group=GROUP, topic=topic(), entries=entries)


def change(received: d.Message, seconds: float, **more: Any) -> s.ChangeInvisibleDurationRequest:
    system = received.system_properties
    request = s.ChangeInvisibleDurationRequest(
        group=GROUP, topic=topic(), receipt_handle=system.receipt_handle, message_id=system.message_id, **more
    )
    request.invisible_duration.FromMilliseconds(round(seconds * 1000))
    return request


async def test_a_message_is_received_as_it_was_sent(sdk: Sdk, broker: Client) -> None:
    sent = message(b"body", "id1", tag="tag", keys=["k1", "k2"])
    sent.user_properties["colour"] = "red"
    await sdk.call("SendMessage", send_request(sent))
    responses = await sdk.receive(receive_request(), SOON)
    assert [each.WhichOneof("content") for each in responses] == ["status", "message", "delivery_timestamp"]
    assert codes(responses) == [Code.OK]
    (received,) = messages(responses)
    system = received.system_properties
    assert (received.topic.name, received.body) == ("T", b"body")
    assert dict(received.user_properties) == {"colour": "red"}
    assert (system.message_id, system.tag, list(system.keys)) == ("id1", "tag", ["k1", "k2"])
    assert (system.delivery_attempt, system.message_type) == (1, d.NORMAL)
    assert (system.queue_id, system.queue_offset) == (0, 0)
    assert system.born_timestamp.ToMilliseconds() == NOW
    assert system.receipt_handle
    assert broker is not None


async def test_the_queue_that_a_client_names_is_ignored(sdk: Sdk, broker: Client) -> None:
    await broker.send("T", b"x", queue_id=1)
    assert [each.body for each in await receive_now(sdk, queue=0)] == [b"x"]


async def test_messages_of_remoting_producers_are_received(sdk: Sdk, broker: Client) -> None:
    sent = await broker.send("T", b"old")
    (received,) = await receive_now(sdk)
    assert received.body == b"old"
    assert sent.header.ext is not None
    assert received.system_properties.message_id == sent.header.ext["msgId"]


async def test_acknowledged_messages_are_not_redelivered(sdk: Sdk, server: Server) -> None:
    for number in range(3):
        await sdk.call("SendMessage", send_request(message(b"%d" % number, f"id{number}")))
    received = sorted(await receive_now(sdk), key=lambda each: each.body)
    assert len(received) == 3
    response = await sdk.call("AckMessage", ack(*received[:2]))
    assert code_of(response) is Code.OK
    assert [entry.message_id for entry in response.entries] == ["id0", "id1"]
    assert code_of(await sdk.call("AckMessage", ack(received[0]))) is Code.OK  # again
    assert await receive_in_time(sdk, server, 29) == []
    (again,) = await receive_in_time(sdk, server, 5)
    assert (again.body, again.system_properties.delivery_attempt) == (b"2", 2)
    assert again.system_properties.message_id == "id2"
    assert again.topic.name == "T"
    assert code_of(await sdk.call("AckMessage", ack(again))) is Code.OK
    assert await receive_in_time(sdk, server, 40) == []


async def test_deliveries_of_one_pop_are_acknowledged_together(sdk: Sdk, server: Server) -> None:
    await sdk.call("SendMessage", send_request(*(message(b"%d" % number, f"id{number}") for number in range(4))))
    received = await receive_now(sdk)
    assert [each.body for each in received] == [b"0", b"1", b"2", b"3"]
    response = await sdk.call("AckMessage", ack(received[0], received[3], received[1]))
    assert [Code(entry.status.code) for entry in response.entries] == [Code.OK] * 3
    assert await receive_in_time(sdk, server, 29) == []
    assert [each.body for each in await receive_in_time(sdk, server, 5)] == [b"2"]


async def test_each_delivery_is_answered_whether_its_queue_has_it(sdk: Sdk) -> None:
    """Offsets of one check point, which are acknowledged together."""
    await sdk.call("SendMessage", send_request(*(message(b"%d" % number, f"id{number}") for number in range(2))))
    received = await receive_now(sdk)
    request = ack(*received)
    *before, offset, place = request.entries[1].receipt_handle.split(" ")
    request.entries[1].receipt_handle = " ".join([*before, str(int(offset) + 5), place])
    response = await sdk.call("AckMessage", request)
    assert code_of(response) is Code.MULTIPLE_RESULTS
    assert [Code(entry.status.code) for entry in response.entries] == [Code.OK, Code.INVALID_RECEIPT_HANDLE]


async def test_handles_are_checked(sdk: Sdk, server: Server) -> None:
    await sdk.call("SendMessage", send_request())
    (received,) = await receive_now(sdk, invisible=10)
    response = await sdk.call("AckMessage", ack(received, handle="nonsense"))
    assert code_of(response) is Code.INVALID_RECEIPT_HANDLE
    good, bad = ack(received), ack(received, handle="nonsense")
    good.entries.extend(bad.entries)
    mixed = await sdk.call("AckMessage", good)
    assert code_of(mixed) is Code.MULTIPLE_RESULTS
    assert [Code(entry.status.code) for entry in mixed.entries] == [Code.OK, Code.INVALID_RECEIPT_HANDLE]
    await server.pass_time(11)
    assert code_of(await sdk.call("AckMessage", ack(received))) is Code.INVALID_RECEIPT_HANDLE
    assert code_of(await sdk.call("ChangeInvisibleDuration", change(received, 5))) is Code.INVALID_RECEIPT_HANDLE
    assert code_of(await sdk.call("AckMessage", s.AckMessageRequest(group=GROUP, topic=topic()))) is Code.BAD_REQUEST


async def test_a_call_is_held_until_a_message_comes(sdk: Sdk, server: Server, broker: Client) -> None:
    stream = await sdk.begin("ReceiveMessage", receive_request(), {"grpc-timeout": "15S"})
    await sdk.rest()
    assert not sdk.incoming[stream].over
    await broker.send("T", b"now")
    found = (await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)
    assert [each.body for each in messages(found)] == [b"now"]
    assert server is not None


async def test_a_held_call_without_messages_is_answered(sdk: Sdk, server: Server) -> None:
    stream = await sdk.begin("ReceiveMessage", receive_request(polling=5), {"grpc-timeout": "8S"})
    await sdk.rest()
    await server.pass_time(4.9, step=0.1)
    assert not sdk.incoming[stream].over
    await server.pass_time(0.3, step=0.1)
    assert refused((await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)) is Code.MESSAGE_NOT_FOUND


async def test_a_call_needs_no_deadline_and_no_settings(sdk: Sdk) -> None:
    await sdk.call("SendMessage", send_request())
    assert len(messages(await sdk.receive(receive_request()))) == 1


async def test_the_filter_of_a_receive_becomes_the_subscription(sdk: Sdk, broker: Client) -> None:
    await sdk.call("SendMessage", send_request(message(tag="a")))
    await receive_now(sdk, expression="a || b")
    assert code_of(await sdk.call("Heartbeat", s.HeartbeatRequest(group=GROUP))) is Code.OK
    found = await consumers(broker)
    assert found is not None
    assert found.subscription_table["T"].sub_string == "a || b"


async def test_a_cancelled_call_takes_nothing(sdk: Sdk, broker: Client, server: Server) -> None:
    stream = await sdk.begin("ReceiveMessage", receive_request())
    await sdk.rest()
    await sdk.cancel(stream)
    await sdk.rest()
    await broker.send("T", b"for another")
    (received,) = await receive_now(sdk)
    assert (received.body, received.system_properties.delivery_attempt) == (b"for another", 1)
    assert server is not None


async def test_messages_popped_for_a_cancelled_call_are_visible_again_at_once(server: Server, broker: Client) -> None:
    await broker.send("T", bytes(100_000))
    with Sdk(server.broker_address, window=0) as sdk, Sdk(server.broker_address, "other") as other:
        stream = await sdk.begin("ReceiveMessage", receive_request())
        await sdk.rest()
        assert not sdk.incoming[stream].over  # its window is used up
        await sdk.cancel(stream)
        await sdk.rest()
        (again,) = await receive_in_time(other, server)
        assert len(again.body) == 100_000


async def test_messages_unread_when_the_client_left_are_visible_again_at_once(server: Server, broker: Client) -> None:
    await broker.send("T", bytes(100_000))
    with Sdk(server.broker_address, window=0) as sdk, Sdk(server.broker_address, "other") as other:
        await sdk.begin("ReceiveMessage", receive_request())
        await sdk.rest()
        sdk.close()
        (again,) = await receive_in_time(other, server)
        assert len(again.body) == 100_000


async def test_a_message_can_be_postponed(sdk: Sdk, server: Server) -> None:
    await sdk.call("SendMessage", send_request())
    (received,) = await receive_now(sdk)
    response = await sdk.call("ChangeInvisibleDuration", change(received, 3))
    assert code_of(response) is Code.OK
    assert response.receipt_handle not in {"", received.system_properties.receipt_handle}
    (again,) = await receive_in_time(sdk, server, 4)
    assert again.system_properties.delivery_attempt == 2
    assert await receive_in_time(sdk, server, 40, invisible=100) == []


async def test_the_new_handle_acknowledges_a_postponed_message(sdk: Sdk, server: Server) -> None:
    await sdk.call("SendMessage", send_request())
    (received,) = await receive_now(sdk)
    response = await sdk.call("ChangeInvisibleDuration", change(received, 50))
    handle = response.receipt_handle
    assert code_of(await sdk.call("AckMessage", ack(received, handle=handle))) is Code.OK
    assert await receive_in_time(sdk, server, 60) == []


@pytest.mark.parametrize("seconds", [-1, 12 * 3600 + 1])
async def test_the_time_of_a_change_is_bounded(sdk: Sdk, seconds: float) -> None:
    await sdk.call("SendMessage", send_request())
    (received,) = await receive_now(sdk)
    assert code_of(await sdk.call("ChangeInvisibleDuration", change(received, seconds))) is Code.ILLEGAL_INVISIBLE_TIME


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (receive_request(to="unknown"), Code.TOPIC_NOT_FOUND),
        (receive_request(to="bad name"), Code.ILLEGAL_TOPIC),
        (receive_request("bad group"), Code.ILLEGAL_CONSUMER_GROUP),
        (receive_request(invisible=9), Code.ILLEGAL_INVISIBLE_TIME),
        (receive_request(invisible=0), Code.ILLEGAL_INVISIBLE_TIME),
        (receive_request(expression="||"), Code.ILLEGAL_FILTER_EXPRESSION),
    ],
)
async def test_invalid_receives_are_refused(sdk: Sdk, request_: s.ReceiveMessageRequest, code: Code) -> None:
    assert refused(await sdk.receive(request_, SOON)) is code


@pytest.mark.parametrize("case", ["empty", "one message", "unknown topic"])
async def test_a_stream_has_the_parts_that_apaches_proxy_sends(sdk: Sdk, server: Server, case: str) -> None:
    of_apache = golden.answers()["receives"][case]
    if case == "one message":
        await sdk.call("SendMessage", send_request())
    request = receive_request(to="Unknown" if case == "unknown topic" else "T", polling=5)
    stream = await sdk.begin("ReceiveMessage", request, SOON)
    await sdk.rest()
    if case == "empty":
        await server.pass_time(5.2, step=0.1)
    found = (await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)
    assert [each.WhichOneof("content") for each in found] == of_apache["parts"]
    if case != "unknown topic":  # Apache's proxy has another error there
        assert Code(found[0].status.code).name == of_apache["code"]
        assert found[0].status.message == of_apache["text"]


async def test_sql_is_evaluated_and_a_wrong_expression_refused(sdk: Sdk) -> None:
    for number in range(3):
        sent = message(b"%d" % number, f"id{number}")
        sent.user_properties["n"] = str(number)
        await sdk.call("SendMessage", send_request(sent))
    request = receive_request()
    request.filter_expression.type = d.SQL
    request.filter_expression.expression = "n > 1"
    assert [each.body for each in messages(await sdk.receive(request, SOON))] == [b"2"]
    request.filter_expression.expression = "n >"
    assert codes(await sdk.receive(request, SOON)) == [Code.ILLEGAL_FILTER_EXPRESSION]


async def test_tags_with_equal_hash_codes_are_distinguished(sdk: Sdk, server: Server) -> None:
    for number, tag in enumerate(("BB", "Aa")):  # the same in Java
        await sdk.call("SendMessage", send_request(message(b"%d" % number, f"id{number}", tag=tag)))
    assert [each.body for each in await receive_now(sdk, expression="Aa")] == [b"1"]
    assert await receive_in_time(sdk, server, 40, expression="BB") == []  # it counts as consumed


async def test_a_deadline_that_comes_too_soon_is_refused(sdk: Sdk) -> None:
    assert refused(await sdk.receive(receive_request(polling=10), {"grpc-timeout": "2S"})) is Code.ILLEGAL_POLLING_TIME


async def test_an_attempt_without_an_answer_is_repeated(sdk: Sdk, server: Server, broker: Client) -> None:
    await create_group(broker, "G", consume_message_orderly=True)
    for body in (b"1", b"2"):
        await broker.send("T", body)
    for _ in range(2):
        received = await receive_now(sdk, attempt_id="a")
        assert [each.body for each in received] == [b"1", b"2"]
    assert await receive_in_time(sdk, server, attempt_id="b") == []
    assert code_of(await sdk.call("AckMessage", ack(*received))) is Code.OK
    assert await receive_in_time(sdk, server, 40, attempt_id="a") == []


async def test_receives_have_the_usual_quotas(sdk: Sdk, broker: Client) -> None:
    await broker.set_config(groupQuotas="G=-/1")
    for body in (b"1", b"2"):
        await broker.send("T", body)
    assert len(await receive_now(sdk)) == 2
    assert refused(await sdk.receive(receive_request(), SOON)) is Code.TOO_MANY_REQUESTS


async def test_no_more_receives_are_held_than_pops_may_be(sdk: Sdk, server: Server, broker: Client) -> None:
    await broker.set_config(popPollingSize="1")
    streams = [await sdk.begin("ReceiveMessage", receive_request(polling=5), SOON) for _ in range(2)]
    await sdk.rest()
    (full,) = [sdk.incoming[each] for each in streams if sdk.incoming[each].over]
    assert codes(full.messages(s.ReceiveMessageResponse)) == [Code.TOO_MANY_REQUESTS]
    await server.pass_time(6, step=0.5)


async def dead_letters(broker: Client) -> list[Any]:
    return records((await broker.pull("%DLQ%G")).body)


async def test_a_message_tried_too_often_becomes_a_dead_letter(sdk: Sdk, server: Server, broker: Client) -> None:
    await create_group(broker, "G", retry_max_times=1)
    await sdk.call("SendMessage", send_request(message(b"poison", "idp")))
    (first,) = await receive_now(sdk)
    assert code_of(await sdk.call("ChangeInvisibleDuration", change(first, 1))) is Code.OK
    (second,) = await receive_in_time(sdk, server, 2)
    assert second.system_properties.delivery_attempt == 2
    assert code_of(await sdk.call("ChangeInvisibleDuration", change(second, 1))) is Code.OK
    assert await receive_in_time(sdk, server, 2) == []
    (dead,) = await dead_letters(broker)
    assert dead.body == b"poison"
    assert await receive_in_time(sdk, server, 60) == []


async def test_a_client_may_make_a_message_a_dead_letter(sdk: Sdk, server: Server, broker: Client) -> None:
    await sdk.call("SendMessage", send_request(message(b"poison", "idp")))
    (received,) = await receive_now(sdk)
    request = s.ForwardMessageToDeadLetterQueueRequest(
        group=GROUP,
        topic=topic(),
        receipt_handle=received.system_properties.receipt_handle,
        message_id="idp",
        delivery_attempt=1,
        max_delivery_attempts=1,
    )
    assert code_of(await sdk.call("ForwardMessageToDeadLetterQueue", request)) is Code.OK
    (dead,) = await dead_letters(broker)
    assert dead.body == b"poison"
    assert await receive_in_time(sdk, server, 40) == []
    properties = decode_stored_properties(dead.properties)
    assert properties["RETRY_TOPIC"] == "T"
    assert properties["UNIQ_KEY"] == "idp"
    assert properties["ORIGIN_MESSAGE_ID"]
    (buried,) = await receive_now(sdk, to="%DLQ%G", group="U")
    system = buried.system_properties
    assert system.message_id == "idp"
    # Apache's proxy reads the origin of a dead letter from properties that neither it nor its broker ever writes.
    assert not system.HasField("dead_letter_queue")


async def test_a_termination_returns_the_messages_of_the_client(sdk: Sdk, server: Server, broker: Client) -> None:
    await sdk.command(await sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
    for number in range(2):
        await sdk.call("SendMessage", send_request(message(b"%d" % number, f"id{number}")))
    held = await receive_now(sdk, auto_renew=True, invisible=0)
    assert len(held) == 2
    assert code_of(await sdk.call("AckMessage", ack(held[0]))) is Code.OK
    await sdk.call("NotifyClientTermination", s.NotifyClientTerminationRequest(group=GROUP))
    with Sdk(server.broker_address, "other") as other:
        (again,) = await receive_in_time(other, server)
        assert again.body == held[1].body
    assert broker is not None


async def test_a_handle_may_be_changed_once(sdk: Sdk, server: Server) -> None:
    await sdk.call("SendMessage", send_request(message(b"x", "id1")))
    (got,) = await receive_now(sdk)
    assert code_of(await sdk.call("ChangeInvisibleDuration", change(got, 10))) is Code.OK
    for _ in range(3):
        assert code_of(await sdk.call("ChangeInvisibleDuration", change(got, 10))) is Code.INVALID_RECEIPT_HANDLE
    assert code_of(await sdk.call("AckMessage", ack(got))) is Code.OK
    await server.pass_time(11, step=1)
    assert [each.body for each in await receive_in_time(sdk, server)] == [b"x"]
    assert await receive_in_time(sdk, server) == []
