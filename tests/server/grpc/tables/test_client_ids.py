"""Client ids belong to the first user: an account, or without accounts the address of the open telemetry stream."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rocketwire.server.faults.grammar import parse_rule
from rocketwire.server.faults.keys import FaultKeys
from rocketwire.server.grpc.tables.client_ids import ALIVE_SECONDS
from rocketwire.server.grpc.transport.connection import GrpcConnection
from rocketwire.server.remote_calls.pop_emulation import service
from rocketwire.server.remote_calls.pop_emulation.group import CLIENT_PREFIX
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.client import LockBatchRequestBody, UnlockBatchRequestBody
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code, GrpcStatus
from rocketwire.wire.names import MAX_CLIENT_ID_LENGTH
from rocketwire.wire.signature import ACCESS_KEY, SIGNATURE, SecretKey, signed_content
from tests.server import harness as remoting
from tests.server.grpc.consuming.test_receiving import SOON, messages
from tests.server.grpc.sdk import (
    CLIENT,
    Sdk,
    code_of,
    consumer_settings,
    create_group,
    message,
    producer_settings,
    receive_request,
    send_request,
)
from tests.server.grpc.test_access import signed
from tests.server.grpc.test_telemetry import consumers, heartbeat
from tests.server.harness import Client, Server, serving, topic_ext
from tests.server.proxy.proxied import pair, proxying

SECRET = "very-secret-key"
ACCOUNTS = f"""\
accounts:
- accessKey: admin-account
  secretKey: {SECRET}
  admin: true
- accessKey: owner-account
  secretKey: {SECRET}
  topicPerms: [T=PUB|SUB]
  groupPerms: [G=SUB]
- accessKey: member-account
  secretKey: {SECRET}
  topicPerms: [T=PUB|SUB]
  groupPerms: [G=SUB]
- accessKey: other-account
  secretKey: {SECRET}
"""
OWNER, MEMBER, OTHER = signed("owner-account"), signed("member-account"), signed("other-account")
TERMINATION = s.NotifyClientTerminationRequest()


def as_admin(ext: Mapping[str, str]) -> dict[str, str]:
    """The fields of a request without a body, signed by the administrator."""
    signed_ext = {**ext, ACCESS_KEY: "admin-account"}
    return {**signed_ext, SIGNATURE: SecretKey(SECRET).sign(signed_content(signed_ext)).decode()}


@contextlib.asynccontextmanager
async def guarded(folder: Path, **settings: Any) -> AsyncIterator[Server]:
    """A broker with accounts and a topic T for transactions."""
    file = folder / "plain_acl.yml"
    file.write_text(ACCOUNTS)
    async with serving(folder / "store", acl_enable=True, acl_file=str(file), **settings) as server:
        topic = as_admin(topic_ext("T", attributes="+message.type=MIXED"))
        made = await server.broker().request(RequestCode.UPDATE_AND_CREATE_TOPIC, topic)
        assert made.header.code == 0
        yield server


async def ended(sdk: Sdk, settings: d.Settings, headers: Mapping[str, str]) -> tuple[int, str]:
    """How the server ends a telemetry stream."""
    found = await sdk.wait_until_over(await sdk.telemetry(settings, headers))
    return found.status, found.headers["grpc-message"]


async def test_another_account_gets_nothing_under_an_owners_client_id(tmp_path: Path) -> None:
    """Not even the owner's back-checks, which contain the message's body."""
    async with guarded(tmp_path, transaction_check_interval=1000, transaction_time_out=1000) as server:
        with Sdk(server.broker_address, headers=OWNER) as owner, Sdk(server.broker_address, headers=OTHER) as other:
            stream = await owner.telemetry(producer_settings())
            await owner.command(stream)
            taken = f"client id {CLIENT} belongs to another account"
            assert await ended(other, producer_settings(), OTHER) == (GrpcStatus.INVALID_ARGUMENT, taken)
            for rpc, request in (("Heartbeat", heartbeat(d.PRODUCER)), ("NotifyClientTermination", TERMINATION)):
                refused = await other.call(rpc, request)
                assert (code_of(refused), refused.status.message) == (Code.UNAUTHORIZED, taken)
            refused, *_ = await other.receive(receive_request(polling=5), SOON)
            assert code_of(refused) is Code.UNAUTHORIZED
            half = message(b"half", message_type=d.TRANSACTION)
            assert code_of(await owner.call("SendMessage", send_request(half))) is Code.OK
            await server.pass_time(70)
            assert (await owner.command(stream)).recover_orphaned_transaction_command.message.body == b"half"


async def test_an_owner_may_use_several_connections_and_return(tmp_path: Path) -> None:
    async with guarded(tmp_path) as server:
        with Sdk(server.broker_address, headers=OWNER) as first, Sdk(server.broker_address, headers=OWNER) as second:
            oldest = await first.telemetry(consumer_settings())
            await first.command(oldest)
            newest = await second.telemetry(consumer_settings())
            await second.command(newest)
            await second.cancel(newest)  # the older stream is the client's again
            await second.rest()
            admin = server.broker()
            query = as_admin({"consumerGroup": "G", "clientId": CLIENT, "jstackEnable": "true"})
            await admin.write(admin.frame(RequestCode.GET_CONSUMER_RUNNING_INFO, query))
            assert (await first.command(oldest)).HasField("print_thread_stack_trace_command")
            first.close()
            await server.pass_time(1)
            assert code_of(await second.call("Heartbeat", heartbeat())) is Code.OK
            await second.command(await second.telemetry(consumer_settings()))
        await server.pass_time(1)  # now the id is free
        with Sdk(server.broker_address, headers=MEMBER) as member:
            await member.command(await member.telemetry(consumer_settings()))


@contextlib.asynccontextmanager
async def guarded_ports(folder: Path, *, through_proxy: bool) -> AsyncIterator[tuple[Server, Address, Client]]:
    """Where 5.x clients connect, and a client of the remoting protocol: at a broker with accounts, or at a proxy."""
    async with guarded(folder) as server:
        if not through_proxy:
            yield server, server.broker_address, server.broker()
            return
        edge = folder / "edge.yml"
        edge.write_text(ACCOUNTS)
        own: dict[str, Any] = {"upstream_access_key": "admin-account", "upstream_secret_key": SECRET}
        own |= {"acl_enable": True, "acl_file": str(edge)}
        async with proxying(folder / "p", server.name_server_address, **own) as proxy:
            yield server, proxy.standing.listened, proxy.broker()


async def remoting_heartbeat(client: Client, account: str) -> str | None:
    """The remark that refuses a heartbeat of the remoting protocol under the client id."""
    ext, body = {ACCESS_KEY: account}, remoting.heartbeat(CLIENT, remoting.consumer("G", remoting.subscription("T")))
    ext[SIGNATURE] = SecretKey(SECRET).sign(signed_content(ext), body).decode()
    answer = await client.request(RequestCode.HEART_BEAT, ext, body)
    return answer.header.remark


async def receive(server: Server, sdk: Sdk) -> Code:
    """The code of a receive that finds no message."""
    stream = await sdk.begin("ReceiveMessage", receive_request(polling=5), SOON)
    await sdk.rest()
    await server.pass_time(6, step=0.5)
    response, *_ = (await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)
    return code_of(response)


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_an_id_of_a_remoting_client_is_its_accounts_by_grpc_too(tmp_path: Path, *, through_proxy: bool) -> None:
    async with guarded_ports(tmp_path, through_proxy=through_proxy) as (server, address, remote):
        assert await remoting_heartbeat(remote, "owner-account") is None
        with Sdk(address, headers=MEMBER) as member, Sdk(address, headers=OWNER) as owner:
            assert await receive(server, member) is Code.UNAUTHORIZED
            assert code_of(await member.call("Heartbeat", heartbeat())) is Code.UNAUTHORIZED
            assert (await ended(member, consumer_settings(), MEMBER))[0] == GrpcStatus.INVALID_ARGUMENT
            await owner.command(await owner.telemetry(consumer_settings()))


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_a_grpc_consumer_has_its_id_in_the_remoting_protocol_too(tmp_path: Path, *, through_proxy: bool) -> None:
    async with guarded_ports(tmp_path, through_proxy=through_proxy) as (server, address, remote):
        with Sdk(address, headers=OWNER) as owner:
            assert await receive(server, owner) is Code.MESSAGE_NOT_FOUND
            refusal = await remoting_heartbeat(remote, "member-account")
            assert f"client id {CLIENT} belongs to another account" in str(refusal)
            assert await remoting_heartbeat(remote, "owner-account") is None
            await owner.command(await owner.telemetry(consumer_settings()))


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_a_pending_receive_does_not_get_an_id_that_a_remoting_client_has_got(
    tmp_path: Path, *, through_proxy: bool
) -> None:
    """Otherwise both accounts have it: the receiver can get the owner's replies, and unlock its queues."""
    async with guarded_ports(tmp_path, through_proxy=through_proxy) as (server, address, remote):
        with Sdk(address, headers=MEMBER) as member:
            waits = await member.begin("ReceiveMessage", receive_request(polling=5), SOON)
            await member.rest()
            await server.pass_time(1, step=0.5)
            assert await remoting_heartbeat(remote, "owner-account") is None
            await server.pass_time(5, step=0.5)
            response, *_ = (await member.wait_until_over(waits)).messages(s.ReceiveMessageResponse)
            assert code_of(response) is Code.MESSAGE_NOT_FOUND
            assert code_of(await member.call("Heartbeat", heartbeat())) is Code.UNAUTHORIZED
            assert await receive(server, member) is Code.UNAUTHORIZED
            assert await remoting_heartbeat(remote, "owner-account") is None


async def test_no_client_uses_the_client_id_of_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under it the proxy locks queues of brokers without POP, and brokers show it to all members of a group."""
    monkeypatch.setattr(service, "token_hex", lambda _: "1234")
    own = f"{CLIENT_PREFIX}1234"
    async with guarded_ports(tmp_path, through_proxy=True) as (_, address, remote):
        for code, body in (
            (RequestCode.HEART_BEAT, remoting.heartbeat(own)),
            (RequestCode.LOCK_BATCH_MQ, encode_body(LockBatchRequestBody(consumer_group="G", client_id=own))),
            (RequestCode.UNLOCK_BATCH_MQ, encode_body(UnlockBatchRequestBody(consumer_group="G", client_id=own))),
        ):
            ext = {ACCESS_KEY: "member-account"}
            ext[SIGNATURE] = SecretKey(SECRET).sign(signed_content(ext), body).decode()
            refusal = (await remote.request(code, ext, body)).header.remark
            assert f"client id {own} belongs to another account" in str(refusal)
        with Sdk(address, own, headers=MEMBER) as member:
            assert (await ended(member, consumer_settings(), MEMBER))[0] == GrpcStatus.INVALID_ARGUMENT


@pytest.mark.slow
@pytest.mark.parametrize("says_so", [True, False])
async def test_messages_of_a_dead_owner_are_not_renewed_for_the_next_user_of_its_id(
    tmp_path: Path, says_so: bool
) -> None:
    async with guarded(tmp_path) as server:
        with Sdk(server.broker_address, headers=OWNER) as owner:
            await owner.command(await owner.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
            assert code_of(await owner.call("SendMessage", send_request())) is Code.OK
            received = messages(await owner.receive(receive_request(auto_renew=True, invisible=0), SOON))
            assert len(received) == 1
            if says_so:
                assert code_of(await owner.call("NotifyClientTermination", TERMINATION)) is Code.OK
        await server.pass_time(1)
        with Sdk(server.broker_address, headers=MEMBER) as member:
            await member.command(await member.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
            if not says_so:
                for _ in range(8):  # it is alive throughout
                    await server.pass_time(10, step=1)
                    assert code_of(await member.call("Heartbeat", heartbeat())) is Code.OK
            stream = await member.begin("ReceiveMessage", receive_request(polling=5), SOON)
            await server.pass_time(6, step=0.5)
            found = messages((await member.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
            assert [each.body for each in found] == [b"hello"]


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """The addresses of connections, by their ports; others are on this machine."""
    found: dict[int, str] = {}
    monkeypatch.setattr(GrpcConnection, "place", property(lambda self: found.get(self.remote[1], "")))
    return found


async def test_without_accounts_an_id_is_held_at_its_address_while_its_client_lives(
    server: Server, broker: Client, places: dict[int, str]
) -> None:
    with Sdk(server.broker_address) as first, Sdk(server.broker_address) as other:
        places[other.sock.getsockname()[1]] = "192.0.2.7"
        await create_group(broker, "H")
        stream = await first.telemetry(consumer_settings())
        await first.command(stream)
        taken = f"client id {CLIENT} is in use at another address"
        assert await ended(other, consumer_settings("H"), {}) == (GrpcStatus.INVALID_ARGUMENT, taken)
        for rpc, request in (("Heartbeat", heartbeat()), ("NotifyClientTermination", TERMINATION)):
            assert code_of(await other.call(rpc, request)) is Code.FORBIDDEN
        await broker.send("T", b"for any client")
        received = messages(await other.receive(receive_request("H"), SOON))
        assert [each.body for each in received] == [b"for any client"]
        assert code_of(await first.call("Heartbeat", heartbeat())) is Code.OK
        assert await consumers(broker, "H") is None  # that contained no settings of the client
        assert await consumers(broker) is not None
        for _ in range(3):
            await server.pass_time(10, step=1)
            assert code_of(await first.call("Heartbeat", heartbeat())) is Code.OK
        assert code_of(await other.call("Heartbeat", heartbeat())) is Code.FORBIDDEN
        await server.pass_time(ALIVE_SECONDS + 1, step=1)  # its network has changed: no bytes come from there any more
        await other.command(await other.telemetry(consumer_settings()))
        assert code_of(await first.call("Heartbeat", heartbeat())) is Code.FORBIDDEN


async def test_without_accounts_a_closed_stream_frees_the_id(
    server: Server, broker: Client, places: dict[int, str]
) -> None:
    assert broker is not None
    with Sdk(server.broker_address) as first, Sdk(server.broker_address) as other:
        places[other.sock.getsockname()[1]] = "192.0.2.7"
        stream = await first.telemetry(consumer_settings())
        await first.command(stream)
        await first.cancel(stream)  # as a load balancer does that sends its client's next stream from elsewhere
        await first.rest()
        await other.command(await other.telemetry(consumer_settings()))


async def test_without_accounts_connections_of_one_address_are_one_clients(server: Server, broker: Client) -> None:
    with Sdk(server.broker_address) as first, Sdk(server.broker_address) as second:
        for sdk in (first, second, first):
            await sdk.command(await sdk.telemetry(consumer_settings()))
            assert code_of(await sdk.call("Heartbeat", heartbeat())) is Code.OK
        assert code_of(await second.call("NotifyClientTermination", TERMINATION)) is Code.OK
        assert await consumers(broker) is None


async def test_an_unverified_account_gives_no_id(tmp_path: Path, places: dict[int, str]) -> None:
    """A proxy with quotas reads all requests, and has no accounts: any caller may name any account."""
    named = {"authorization": "MQv2-HMAC-SHA1 Credential=owner-account, SignedHeaders=x-mq-date-time, Signature=00"}
    async with pair(tmp_path, topic_quotas="T=1000/1000") as (_, proxy):
        address = proxy.standing.listened
        with Sdk(address, headers=OWNER) as owner, Sdk(address, headers=named) as other, Sdk(address) as same:
            places[other.sock.getsockname()[1]] = "192.0.2.7"
            await owner.command(await owner.telemetry(producer_settings()))
            taken = f"client id {CLIENT} is in use at another address"
            assert await ended(other, producer_settings(), named) == (GrpcStatus.INVALID_ARGUMENT, taken)
            assert code_of(await other.call("NotifyClientTermination", TERMINATION)) is Code.FORBIDDEN
            await same.command(await same.telemetry(producer_settings()))


async def test_without_accounts_one_of_two_addresses_that_open_a_stream_at_once_gets_the_id(
    tmp_path: Path, places: dict[int, str]
) -> None:
    """A proxy accepts both before a broker has answered the heartbeat of one."""
    async with pair(tmp_path) as (_, proxy):
        with Sdk(proxy.standing.listened) as first, Sdk(proxy.standing.listened) as second:
            places[first.sock.getsockname()[1]] = "192.0.2.7"
            streams = [await sdk.telemetry(producer_settings()) for sdk in (first, second)]
            codes = []
            for sdk, stream in zip((first, second), streams, strict=True):
                while not sdk.incoming[stream].data and not sdk.incoming[stream].over:
                    await sdk.read()
                alive = code_of(await sdk.call("Heartbeat", heartbeat(d.PRODUCER)))
                codes.append((sdk.incoming[stream].over, alive))
            assert sorted(codes) == [(False, Code.OK), (True, Code.FORBIDDEN)]


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
@pytest.mark.parametrize("here", [False, True], ids=["unknown", "known"])
async def test_without_accounts_a_receive_that_waits_elsewhere_changes_no_settings(
    tmp_path: Path, places: dict[int, str], *, through_proxy: bool, here: bool
) -> None:
    async with pair(tmp_path) as (server, proxy):
        address, broker = proxy.standing.listened if through_proxy else server.broker_address, server.broker()
        with Sdk(address) as owner, Sdk(address) as other:
            places[other.sock.getsockname()[1]] = "192.0.2.7"
            if here:
                assert code_of(await other.call("Heartbeat", s.HeartbeatRequest())) is Code.OK
            request = receive_request("H", polling=20)
            waits = await other.begin("ReceiveMessage", request, {"grpc-timeout": "30S"})
            await other.rest()
            await server.pass_time(1, step=0.5)
            await owner.command(await owner.telemetry(consumer_settings()))
            await broker.send("T", b"for H")
            await server.pass_time(5, step=0.5)
            got = messages((await other.wait_until_over(waits)).messages(s.ReceiveMessageResponse))
            assert [each.body for each in got] == [b"for H"]
            assert code_of(await owner.call("Heartbeat", heartbeat())) is Code.OK
            assert await consumers(broker) is not None
            assert await consumers(broker, "H") is None


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_without_accounts_messages_of_a_disconnected_receiver_at_another_address_are_redelivered(
    tmp_path: Path, places: dict[int, str], *, through_proxy: bool
) -> None:
    """The client whose id it named stays connected, but does not have the messages."""
    async with pair(tmp_path) as (server, proxy):
        address, broker = proxy.standing.listened if through_proxy else server.broker_address, server.broker()
        await server.pass_time(100)  # for a minute after a start all clients count as connected
        with Sdk(address) as owner, Sdk(address) as other:
            places[other.sock.getsockname()[1]] = "192.0.2.7"
            await owner.command(await owner.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
            await broker.send("T", b"hello")
            assert len(messages(await other.receive(receive_request(auto_renew=True, invisible=0), SOON))) == 1
            other.close()
            for _ in range(9):
                await server.pass_time(10, step=1)
                assert code_of(await owner.call("Heartbeat", heartbeat())) is Code.OK
            stream = await owner.begin("ReceiveMessage", receive_request(polling=5), SOON)
            await server.pass_time(6, step=0.5)
            found = messages((await owner.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
            assert [each.body for each in found] == [b"hello"]


@pytest.mark.parametrize("through_proxy", [False, True], ids=["serve", "proxy"])
async def test_without_accounts_a_pending_termination_does_not_end_a_client_at_another_address(
    tmp_path: Path, places: dict[int, str], *, through_proxy: bool
) -> None:
    """Otherwise its stream stays open, but gets no commands."""
    slow = FaultKeys(rules=(parse_rule(f"delay:3000:answer,code={int(RequestCode.UNREGISTER_CLIENT)}"),))
    async with (
        serving(tmp_path / "s", faults=slow) as server,
        proxying(tmp_path / "p", server.name_server_address) as p,
    ):
        address, broker = p.standing.listened if through_proxy else server.broker_address, server.broker()
        await broker.create_topic("T", 1)
        with Sdk(address) as owner, Sdk(address) as other:
            places[other.sock.getsockname()[1]] = "192.0.2.7"
            assert code_of(await other.call("Heartbeat", heartbeat())) is Code.OK
            waits = await other.begin("NotifyClientTermination", TERMINATION)
            await other.rest()
            await server.pass_time(1, step=0.5)
            stream = await owner.telemetry(consumer_settings())
            await owner.command(stream)
            await server.pass_time(4, step=0.5)
            (response,) = (await other.wait_until_over(waits)).messages(s.NotifyClientTerminationResponse)
            assert code_of(response) is Code.FORBIDDEN
            await broker.write(
                broker.frame(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G", "clientId": CLIENT})
            )
            assert (await owner.command(stream)).HasField("print_thread_stack_trace_command")


async def test_without_accounts_streams_at_a_former_address_end(
    server: Server, broker: Client, places: dict[int, str]
) -> None:
    """Otherwise the broker would send requests for the client there between two of its streams."""
    assert broker is not None
    with Sdk(server.broker_address) as former, Sdk(server.broker_address) as newer:
        places[former.sock.getsockname()[1]] = "192.0.2.7"
        stream = await former.telemetry(consumer_settings())
        await former.command(stream)
        await server.pass_time(ALIVE_SECONDS + 1, step=1)
        await newer.command(await newer.telemetry(consumer_settings()))
        over = await former.wait_until_over(stream)
        taken = f"client id {CLIENT} is in use at another address"
        assert (over.status, over.headers["grpc-message"]) == (GrpcStatus.INVALID_ARGUMENT, taken)


async def test_the_length_of_a_client_id_is_bounded(server: Server) -> None:
    """The server keeps the ids of a thousand clients of each connection."""
    with Sdk(server.broker_address) as sdk:
        for length, code in ((MAX_CLIENT_ID_LENGTH, Code.OK), (MAX_CLIENT_ID_LENGTH + 1, Code.BAD_REQUEST)):
            named = {"x-mq-client-id": "i" * length}
            assert code_of(await sdk.call("Heartbeat", s.HeartbeatRequest(), named)) is code
        found = await ended(sdk, producer_settings(), named)
        assert found == (GrpcStatus.INVALID_ARGUMENT, f"client id exceeds the max length {MAX_CLIENT_ID_LENGTH}")
