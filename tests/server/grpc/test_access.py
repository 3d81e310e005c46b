"""Access control of 5.x clients: the same accounts and permissions, and a signature of the time."""

from __future__ import annotations

import base64
import hmac
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code, GrpcStatus
from tests.server.grpc.sdk import (
    DIALLED,
    Sdk,
    code_of,
    consumer_settings,
    message,
    producer_settings,
    receive_request,
    send_request,
    topic,
)
from tests.server.grpc.test_routing import route
from tests.server.harness import Server, serving, topic_ext

SECRET = "very-secret-key"
TIME = "20260102T030405Z"
ACCOUNTS = f"""\
accounts:
- accessKey: admin-account
  secretKey: {SECRET}
  admin: true
- accessKey: producer-account
  secretKey: {SECRET}
  topicPerms: [T=PUB]
- accessKey: consumer-account
  secretKey: {SECRET}
  topicPerms: [T=SUB]
  groupPerms: [G=SUB]
- accessKey: other-account
  secretKey: {SECRET}
  topicPerms: [Other=PUB|SUB]
  groupPerms: [Other=SUB]
"""


def signed(account: str, secret: str = SECRET, *, upper: bool = True) -> dict[str, str]:
    """The headers of a call as SDKs sign it; Java in upper case, Python in lower case."""
    digits = hmac.new(secret.encode(), TIME.encode(), "sha1").hexdigest()
    text = f"Credential={account}, SignedHeaders=x-mq-date-time, Signature={digits.upper() if upper else digits}"
    return {"x-mq-date-time": TIME, "authorization": f"MQv2-HMAC-SHA1 {text}"}


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Server]:
    file = tmp_path / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    async with serving(tmp_path / "store", acl_enable=True, acl_file=str(file)) as server:
        ext = topic_ext("T", 1) | {"AccessKey": "admin-account"}
        data = "".join(ext[name] for name in sorted(ext)).encode()
        signature = base64.b64encode(hmac.new(SECRET.encode(), data, "sha1").digest()).decode()
        answer = await server.broker().request(17, ext | {"Signature": signature})
        assert answer.header.code == 0
        yield server


async def test_a_signed_send_is_stored(guarded: Server) -> None:
    with Sdk(guarded.broker_address) as sdk:
        for headers in (signed("producer-account"), signed("producer-account", upper=False), signed("admin-account")):
            response = await sdk.call("SendMessage", send_request(), headers)
            assert code_of(response) is Code.OK


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "No accessKey is configured"),
        (signed("", ""), "No accessKey is configured"),
        ({"authorization": "Bearer x"}, "No accessKey is configured"),
        (signed("stranger"), "No acl config for stranger"),
        (signed("producer-account", "wrong"), "Check signature failed for accessKey=producer-account"),
        (signed("producer-account") | {"x-mq-date-time": "20260102T030406Z"}, "Check signature failed"),
        ({"authorization": "MQv2-HMAC-SHA1 Credential=producer-account, Signature=zz"}, "Check signature failed"),
        (signed("consumer-account"), "No default permission for topic:T"),
    ],
)
async def test_other_accounts_are_refused(guarded: Server, headers: dict[str, str], words: str) -> None:
    with Sdk(guarded.broker_address) as sdk:
        response = await sdk.call("SendMessage", send_request(), headers)
        assert code_of(response) is Code.UNAUTHORIZED
        assert words in response.status.message


async def test_a_batch_needs_the_permission_too(guarded: Server) -> None:
    with Sdk(guarded.broker_address) as sdk:
        request = send_request(message(message_id="a"), message(message_id="b"))
        assert code_of(await sdk.call("SendMessage", request, signed("consumer-account"))) is Code.UNAUTHORIZED
        assert code_of(await sdk.call("SendMessage", request, signed("producer-account"))) is Code.OK


async def test_a_route_needs_an_account(guarded: Server) -> None:
    with Sdk(guarded.broker_address) as sdk:
        assert code_of(await sdk.call("QueryRoute", route())) is Code.UNAUTHORIZED
        assert code_of(await sdk.call("QueryRoute", route(), signed("producer-account"))) is Code.OK


async def test_settings_need_the_permissions_of_heartbeats(guarded: Server) -> None:
    with Sdk(guarded.broker_address) as sdk:
        ended = await sdk.wait_until_over(await sdk.telemetry(consumer_settings(), signed("producer-account")))
        assert ended.status == GrpcStatus.INVALID_ARGUMENT
        for settings, account in (
            (consumer_settings(), "consumer-account"),
            (producer_settings(), "producer-account"),
        ):
            command = await sdk.command(await sdk.telemetry(settings, signed(account) | {"x-mq-client-id": account}))
            assert command.status.code == Code.OK


async def test_refused_calls_count_no_client(guarded: Server) -> None:
    """More refused clients than a connection may have, with each call that names one."""
    with Sdk(guarded.broker_address) as sdk:
        for number in range(400):
            other = {"x-mq-client-id": f"c{number}"}
            request = s.HeartbeatRequest(group=d.Resource(name="G"))
            assert code_of(await sdk.call("Heartbeat", request, other)) is Code.UNAUTHORIZED
            other = {"x-mq-client-id": f"d{number}"}
            assert code_of(await sdk.call("Heartbeat", s.HeartbeatRequest(), other)) is Code.UNAUTHORIZED
            other = {"x-mq-client-id": f"e{number}"}
            response, _ = await sdk.receive(receive_request(polling=5), {"grpc-timeout": "8S"} | other)
            assert code_of(response) is Code.UNAUTHORIZED
        assert code_of(await sdk.call("Heartbeat", s.HeartbeatRequest(), signed("consumer-account"))) is Code.OK


async def test_settings_without_a_group_need_an_account_too(guarded: Server) -> None:
    with Sdk(guarded.broker_address) as sdk:
        nothing = d.Settings(client_type=d.PRODUCER)
        ended = await sdk.wait_until_over(await sdk.telemetry(nothing))
        assert ended.status == GrpcStatus.INVALID_ARGUMENT
        command = await sdk.command(await sdk.telemetry(nothing, signed("producer-account")))
        assert command.status.code == Code.OK


@pytest.mark.slow
async def test_refused_heartbeats_renew_nothing_for_a_client_that_left(guarded: Server) -> None:
    account = signed("consumer-account")
    with Sdk(guarded.broker_address) as sender:
        assert code_of(await sender.call("SendMessage", send_request(), signed("admin-account"))) is Code.OK
    with Sdk(guarded.broker_address) as sdk:
        await sdk.command(await sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER), account))
        request = receive_request(auto_renew=True, invisible=0)
        assert len(await sdk.receive(request, account | {"grpc-timeout": "8S"})) == 3
    with Sdk(guarded.broker_address) as sdk:  # under the id of the client that left
        for _ in range(8):
            await guarded.pass_time(10, step=1)
            assert code_of(await sdk.call("Heartbeat", s.HeartbeatRequest())) is Code.UNAUTHORIZED
    with Sdk(guarded.broker_address, "other@1@0@x") as other:
        again = await other.receive(receive_request(polling=5), account | {"grpc-timeout": "8S"})
        assert [each.message.body for each in again if each.HasField("message")] == [b"hello"]


@pytest.mark.parametrize("name", ["T", "Unknown"])
async def test_permission_is_decided_before_existence(guarded: Server, name: str) -> None:
    """An account without permission gets the same answer whether the topic exists or not."""
    ack = s.AckMessageRequest(topic=topic(name), group=topic("G"), entries=[s.AckMessageEntry(receipt_handle="x")])
    change = s.ChangeInvisibleDurationRequest(topic=topic(name), group=topic("G"), receipt_handle="x")
    change.invisible_duration.seconds = 30
    dead = s.ForwardMessageToDeadLetterQueueRequest(topic=topic(name), group=topic("G"), receipt_handle="x")
    end = s.EndTransactionRequest(topic=topic(name), message_id="id", transaction_id="id", resolution=d.COMMIT)
    assignment = s.QueryAssignmentRequest(topic=topic(name), group=topic("G"), endpoints=DIALLED)
    fifo = send_request(message(to=name, message_type=d.FIFO, message_group="g"))
    with Sdk(guarded.broker_address) as sdk:
        for rpc, request in (
            ("QueryRoute", route(name)),
            ("QueryAssignment", assignment),
            ("SendMessage", send_request(message(to=name))),
            ("SendMessage", fifo),
            ("EndTransaction", end),
            ("AckMessage", ack),  # of handles that name no delivery
            ("ChangeInvisibleDuration", change),
            ("ForwardMessageToDeadLetterQueue", dead),
        ):
            response = await sdk.call(rpc, request, signed("other-account"))
            assert (code_of(response), response.status.message) == (
                Code.UNAUTHORIZED,
                f"org.apache.rocketmq.acl.common.AclException: No default permission for topic:{name}",
            ), rpc
        refused, *_ = await sdk.receive(receive_request(to=name), signed("other-account"))
        assert code_of(refused) is Code.UNAUTHORIZED
    if name == "T":
        with Sdk(guarded.broker_address) as sdk:
            for rpc, request in (("AckMessage", ack), ("ChangeInvisibleDuration", change)):
                answer = await sdk.call(rpc, request, signed("consumer-account"))
                assert code_of(answer) is Code.INVALID_RECEIPT_HANDLE


async def test_assignments_need_the_permission_to_subscribe(guarded: Server) -> None:
    request = s.QueryAssignmentRequest(topic=topic(), group=topic("G"), endpoints=DIALLED)
    others = s.QueryAssignmentRequest(topic=topic(), group=topic("H"), endpoints=DIALLED)
    with Sdk(guarded.broker_address) as sdk:
        assert code_of(await sdk.call("QueryAssignment", request, signed("consumer-account"))) is Code.OK
        assert code_of(await sdk.call("QueryAssignment", request, signed("producer-account"))) is Code.UNAUTHORIZED
        assert code_of(await sdk.call("QueryAssignment", others, signed("consumer-account"))) is Code.UNAUTHORIZED
