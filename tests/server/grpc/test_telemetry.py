"""Settings of clients, the server's answers, and requests of the broker to clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rocketwire.server.clients.groups import CLIENT_EXPIRY_SECONDS
from rocketwire.server.core.request import Reply
from rocketwire.server.grpc.calls import ServeRequests
from rocketwire.server.grpc.consuming.handles import read_handle
from rocketwire.server.grpc.tables.declarations import NO_DECLARATION
from rocketwire.server.grpc.telemetry import terminate
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import (
    ConsumeMessageDirectlyResult,
    ConsumerConnection,
    ConsumeResult,
    ConsumerRunningInfo,
    ProducerConnection,
)
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code, GrpcStatus
from tests.server.grpc.sdk import (
    CLIENT,
    SERVICE,
    Sdk,
    code_of,
    consumer_settings,
    create_group,
    message,
    producer_settings,
    receive_request,
    send_request,
)
from tests.server.grpc.transport.bounding import Case, LongestStep, outcome_of
from tests.server.grpc.transport.test_request_bounds import MOST_SECONDS
from tests.server.harness import NOW, Client, Server, code_and_remark, settle
from tests.slowness import within


async def consumers(broker: Client, group: str = "G") -> ConsumerConnection | None:
    answer = await broker.request(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
    return decode_body(ConsumerConnection, answer.body) if not answer.header.code else None


async def producers(broker: Client, group: str = "T") -> list[str]:
    answer = await broker.request(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": group})
    if answer.header.code:
        return []
    return [each.client_id for each in decode_body(ProducerConnection, answer.body).connection_set]


async def test_a_producer_gets_its_settings(sdk: Sdk, broker: Client) -> None:
    command = await sdk.command(await sdk.telemetry(producer_settings("T", "U")))
    assert command.status.code == Code.OK
    settings = command.settings
    assert settings.client_type == d.PRODUCER
    assert [each.name for each in settings.publishing.topics] == ["T", "U"]
    assert settings.publishing.max_body_size == 4 << 20
    assert settings.publishing.validate_message_type
    assert settings.backoff_policy.max_attempts == 3
    back_off = settings.backoff_policy.exponential_backoff
    assert (back_off.initial.nanos, back_off.max.seconds, back_off.multiplier) == (10_000_000, 1, 2)
    assert not settings.metric.on
    assert await producers(broker, "T") == await producers(broker, "U") == [CLIENT]


async def test_a_consumer_gets_its_groups_settings(sdk: Sdk, broker: Client) -> None:
    settings = (await sdk.command(await sdk.telemetry(consumer_settings(expression="a || b")))).settings
    assert settings.subscription.group.name == "G"
    assert not settings.subscription.fifo
    assert settings.subscription.receive_batch_size == 32
    assert settings.subscription.long_polling_timeout.seconds == 20
    assert settings.backoff_policy.max_attempts == 17
    steps = [each.seconds for each in settings.backoff_policy.customized_backoff.next]
    assert (len(steps), steps[:5], steps[-2:]) == (18, [1, 5, 10, 30, 60], [3600, 7200])
    found = await consumers(broker)
    assert found is not None
    (member,) = found.connection_set
    assert (member.client_id, member.language) == (CLIENT, "JAVA")
    assert found.consume_type == "CONSUME_ACTIVELY"
    assert found.subscription_table["T"].sub_string == "a || b"
    assert found.subscription_table["T"].tags_set == {"a", "b"}


@pytest.mark.parametrize(
    ("policy", "field", "first"),
    [
        (
            {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 2000, "max": 9000, "multiplier": 3}},
            "exponential_backoff",
            2,
        ),
        ({"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [7000, 8000]}}, "customized_backoff", 7),
    ],
)
async def test_a_group_may_have_its_retry_policy(
    sdk: Sdk, broker: Client, policy: dict[str, Any], field: str, first: int
) -> None:
    await create_group(broker, "G", group_retry_policy=policy, retry_max_times=3, consume_message_orderly=True)
    settings = (await sdk.command(await sdk.telemetry(consumer_settings()))).settings
    assert settings.subscription.fifo
    assert settings.backoff_policy.max_attempts == 4
    assert settings.backoff_policy.WhichOneof("strategy") == field
    back_off = getattr(settings.backoff_policy, field)
    assert (back_off.initial if first == 2 else back_off.next[0]).seconds == first


async def test_settings_may_be_sent_again(sdk: Sdk, broker: Client) -> None:
    stream = await sdk.telemetry(consumer_settings())
    await sdk.command(stream)
    sdk.put(stream, s.TelemetryCommand(settings=consumer_settings(expression="new")), end=False)
    await sdk.send_out()
    assert (await sdk.command(stream)).status.code == Code.OK
    found = await consumers(broker)
    assert found is not None
    assert found.subscription_table["T"].sub_string == "new"


async def test_without_a_client_id_the_stream_ends(sdk: Sdk) -> None:
    sdk.client_id = ""
    found = await sdk.wait_until_over(await sdk.telemetry(producer_settings()))
    assert found.status == GrpcStatus.INVALID_ARGUMENT


async def test_an_unknown_command_ends_the_stream(sdk: Sdk) -> None:
    stream = await sdk.telemetry(producer_settings())
    await sdk.command(stream)
    sdk.put(stream, b"\xff", end=False)
    await sdk.send_out()
    assert (await sdk.wait_until_over(stream)).status == GrpcStatus.INTERNAL


async def test_a_client_may_end_its_stream(sdk: Sdk) -> None:
    stream = await sdk.telemetry(producer_settings())
    await sdk.command(stream)
    sdk.http2.end_stream(stream)
    await sdk.send_out()
    assert (await sdk.wait_until_over(stream)).status == 0


def heartbeat(kind: d.ClientType = d.SIMPLE_CONSUMER, group: str = "G") -> s.HeartbeatRequest:
    return s.HeartbeatRequest(client_type=kind, group=d.Resource(name=group) if group else None)


async def test_members_stay_as_long_as_they_send_heartbeats(sdk: Sdk, server: Server, broker: Client) -> None:
    await sdk.command(await sdk.telemetry(consumer_settings()))
    for _ in range(3):
        await server.pass_time(CLIENT_EXPIRY_SECONDS / 2)
        assert code_of(await sdk.call("Heartbeat", heartbeat())) is Code.OK
        await broker.heartbeat("other")
    assert await consumers(broker) is not None
    for _ in range(3):
        await server.pass_time(CLIENT_EXPIRY_SECONDS / 2)
        await broker.heartbeat("other")
    assert await consumers(broker) is None


async def test_a_heartbeat_needs_no_settings(sdk: Sdk, broker: Client) -> None:
    assert code_of(await sdk.call("Heartbeat", heartbeat())) is Code.OK
    assert await consumers(broker) is not None
    assert code_of(await sdk.call("Heartbeat", heartbeat(d.PRODUCER, ""), {"x-mq-client-id": "other"})) is Code.OK


async def test_a_call_needs_a_client_id(sdk: Sdk) -> None:
    sdk.client_id = ""
    assert code_of(await sdk.call("Heartbeat", heartbeat())) is Code.CLIENT_ID_REQUIRED


async def test_members_leave_with_their_last_connection(sdk: Sdk, server: Server, broker: Client) -> None:
    await sdk.command(await sdk.telemetry(consumer_settings()))
    other = Sdk(server.broker_address)
    await other.call("Heartbeat", heartbeat())
    sdk.close()
    await settle()
    assert await consumers(broker) is not None
    other.close()
    await settle()
    assert await consumers(broker) is None


async def test_a_member_that_terminates_leaves_at_once(sdk: Sdk, broker: Client) -> None:
    await sdk.command(await sdk.telemetry(consumer_settings()))
    request = s.NotifyClientTerminationRequest(group=d.Resource(name="G"))
    assert code_of(await sdk.call("NotifyClientTermination", request)) is Code.OK
    assert await consumers(broker) is None
    assert code_of(await sdk.call("NotifyClientTermination", request)) is Code.OK


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (d.Code.OK, ConsumeResult.CR_SUCCESS),
        (d.Code.FAILED_TO_CONSUME_MESSAGE, ConsumeResult.CR_LATER),
        (12345, None),  # of a newer SDK
    ],
)
async def test_a_message_can_be_verified(sdk: Sdk, broker: Client, code: d.Code, verdict: ConsumeResult | None) -> None:
    stream = await sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER))
    await sdk.command(stream)
    sent = await broker.send("T", b"look")
    assert sent.header.ext is not None
    ext = {"consumerGroup": "G", "clientId": CLIENT, "msgId": sent.header.ext["msgId"], "brokerName": "broker-a"}
    opaque = 77
    await broker.write(broker.frame(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext, opaque=opaque))
    command = (await sdk.command(stream)).verify_message_command
    assert command.message.body == b"look"
    result = s.VerifyMessageResult(nonce=command.nonce)
    answer = s.TelemetryCommand(status=d.Status(code=code), verify_message_result=result)
    sdk.put(stream, answer, end=False)
    await sdk.send_out()
    found = decode_body(ConsumeMessageDirectlyResult, (await broker.receive()).body)
    assert found.consume_result is verdict


async def test_a_stream_that_was_cancelled_at_once_gets_no_request(sdk: Sdk, broker: Client) -> None:
    stream = await sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER))
    await sdk.command(stream)
    closed_stream = sdk.open(SERVICE + "Telemetry")
    sdk.put(closed_stream, s.TelemetryCommand(settings=consumer_settings(kind=d.PUSH_CONSUMER)), end=False)
    sdk.http2.reset_stream(closed_stream)
    await sdk.send_out()
    await sdk.call("Heartbeat", heartbeat())
    ext = {"consumerGroup": "G", "clientId": CLIENT, "jstackEnable": "true"}
    await broker.write(broker.frame(RequestCode.GET_CONSUMER_RUNNING_INFO, ext))
    assert (await sdk.command(stream)).print_thread_stack_trace_command.nonce


async def test_threads_can_be_printed(sdk: Sdk, broker: Client) -> None:
    stream = await sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER))
    await sdk.command(stream)
    ext = {"consumerGroup": "G", "clientId": CLIENT, "jstackEnable": "true"}
    await broker.write(broker.frame(RequestCode.GET_CONSUMER_RUNNING_INFO, ext))
    command = (await sdk.command(stream)).print_thread_stack_trace_command
    trace = s.ThreadStackTrace(nonce=command.nonce, thread_stack_trace="at Main")
    sdk.put(stream, s.TelemetryCommand(status=d.Status(code=d.Code.OK), thread_stack_trace=trace), end=False)
    await sdk.send_out()
    assert decode_body(ConsumerRunningInfo, (await broker.receive()).body).jstack == "at Main"


async def test_a_request_to_a_client_without_a_stream_is_refused(sdk: Sdk, broker: Client) -> None:
    await sdk.call("Heartbeat", heartbeat())
    ext = {"consumerGroup": "G", "clientId": CLIENT, "jstackEnable": "true"}
    answer = await broker.request(RequestCode.GET_CONSUMER_RUNNING_INFO, ext)
    assert answer.header.code == ResponseCode.SYSTEM_ERROR


async def half(sdk: Sdk, broker: Client, message_id: str = "idt") -> Any:
    await broker.create_topic("trans", 1, attributes="+message.type=TRANSACTION")
    sent = message(b"half", message_id, to="trans", message_type=d.TRANSACTION)
    response = await sdk.call("SendMessage", send_request(sent))
    assert code_of(response) is Code.OK
    return response.entries[0]


def ending(transaction_id: str, resolution: d.TransactionResolution = d.COMMIT) -> s.EndTransactionRequest:
    return s.EndTransactionRequest(
        topic=d.Resource(name="trans"),
        message_id=transaction_id,
        transaction_id=transaction_id,
        resolution=resolution,
        source=d.SOURCE_CLIENT,
    )


@pytest.mark.parametrize(("resolution", "there"), [(d.COMMIT, 1), (d.ROLLBACK, 0)])
async def test_a_transaction_is_ended_by_its_id(
    sdk: Sdk, broker: Client, resolution: d.TransactionResolution, there: int
) -> None:
    entry = await half(sdk, broker)
    assert entry.transaction_id == "idt"
    assert code_of(await sdk.call("EndTransaction", ending("idt", resolution))) is Code.OK
    answer = await broker.pull("trans")
    assert (answer.header.code == 0) == bool(there)


async def test_an_unknown_transaction_is_refused(sdk: Sdk, broker: Client) -> None:
    await half(sdk, broker)
    codes = [code_of(await sdk.call("EndTransaction", ending(each))) for each in ("", "other")]
    assert codes == [Code.INVALID_TRANSACTION_ID] * 2


async def test_an_orphaned_transaction_is_recovered_by_any_producer_of_its_topic(
    sdk: Sdk, server: Server, broker: Client
) -> None:
    await half(sdk, broker)
    await broker.set_config(transactionTimeOut="1000", transactionCheckInterval="1000")
    with Sdk(server.broker_address, "other@1@0@x") as other:
        stream = await other.telemetry(producer_settings("trans"))
        await other.command(stream)
        await server.pass_time(70)
        command = (await other.command(stream)).recover_orphaned_transaction_command
        assert command.transaction_id == "idt"
        assert (command.message.body, command.message.topic.name) == (b"half", "trans")
        assert command.message.system_properties.message_id == "idt"
        assert code_of(await other.call("EndTransaction", ending("idt"))) is Code.OK
    assert code_and_remark(await broker.pull("trans"))[0] == 0


async def test_lite_topics_are_not_supported(sdk: Sdk) -> None:
    assert code_of(await sdk.call("SyncLiteSubscription", s.SyncLiteSubscriptionRequest())) is Code.NOT_IMPLEMENTED


@pytest.mark.parametrize("nonce", ["9" * 5000, "9" * 900_000, "\u0663", "x", ""])
async def test_an_answer_without_a_pending_request_changes_nothing(
    sdk: Sdk, nonce: str, caplog: pytest.LogCaptureFixture
) -> None:
    payload = s.TelemetryCommand(verify_message_result=s.VerifyMessageResult(nonce=nonce)).SerializeToString()
    found = await outcome_of(sdk, Case(f"{SERVICE}Telemetry", "", payload, len(payload), refused=False))
    assert found.status == 0
    assert caplog.messages == []


async def test_a_heartbeat_is_short_after_receives_with_long_filters(sdk: Sdk, broker: Client) -> None:
    tags = "||".join(f"{number:04}" for number in range(8000))
    await sdk.call("Heartbeat", heartbeat())  # the server's windows are known then
    for number in range(12):
        await broker.create_topic(f"T{number}")
        await sdk.begin("ReceiveMessage", receive_request(expression=tags, to=f"T{number}", polling=5))
    await settle()
    with LongestStep() as longest:
        assert code_of(await sdk.call("Heartbeat", heartbeat())) is Code.OK
    assert within(longest.seconds, MOST_SECONDS)


def test_messages_of_a_closed_client_are_returned_in_parts() -> None:
    held = [("T", "G", read_handle(f"0 {NOW} 60000 0 0 broker-a 0 {number} 0", NOW)) for number in range(1000)]
    made: list[object] = []
    client = SimpleNamespace(client_id="c", declaration=NO_DECLARATION)
    services: Any = SimpleNamespace(
        clients=SimpleNamespace(
            find_spoken_for=lambda *_: client,
            leave=lambda *_, **__: made.append("leaves"),
        ),
        held=SimpleNamespace(take_out=lambda *_: iter(held)),
        clock=lambda: NOW,
    )

    def request(_code: int, header: object, **_: object) -> object:
        made.append(header)
        return header

    call: Any = SimpleNamespace(client_id="c", connection=None, account="", request=request)
    steps = terminate(services, call, s.NotifyClientTerminationRequest())
    step, served = next(steps), 0
    try:
        while True:
            assert isinstance(step, ServeRequests)
            assert len(made) - served <= 65
            served = len(made)
            step = steps.send([Reply()] * len(step.requests))
    except StopIteration as end:
        assert end.value.status.code == Code.OK
    assert len(made) == 1002
