"""5.x clients of a proxy before a cluster of two brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rocketwire.wire.addresses import Address
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.consuming.test_receiving import SOON, ack, codes, messages
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
    topic,
)
from tests.server.grpc.test_routing import route
from tests.server.grpc.test_telemetry import consumers, ending
from tests.server.harness import Server, records, settle
from tests.server.remote_calls.proxied import BROKERS, Proxy, cluster_of_two, proxying


class ProxiedCluster(NamedTuple):
    """A cluster with its proxy, and a client."""

    name_server: Address
    brokers: dict[str, Server]
    proxy: Proxy
    sdk: Sdk

    async def pass_time(self, seconds: float, step: float = 1.0) -> None:
        """Let time pass."""
        await self.brokers["a"].pass_time(seconds, step)

    async def stored(self, name: str, to: str = "T", queues: int = 2) -> list[bytes]:
        """The bodies that one broker has."""
        broker = self.brokers[name].broker()
        found = []
        for queue in range(queues):
            found += [each.body for each in records((await broker.pull(to, queue_id=queue)).body)]
        return found

    async def send(self, *bodies: bytes, **system: Any) -> None:
        """Send messages, one after the other."""
        for number, body in enumerate(bodies):
            response = await self.sdk.call("SendMessage", send_request(message(body, f"id{number}{body!r}", **system)))
            assert code_of(response) is Code.OK


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[ProxiedCluster]:
    async with (
        cluster_of_two(tmp_path) as (name_server, brokers),
        proxying(name_server, clock=brokers["a"].clock) as proxy,
    ):
        with Sdk(proxy.address) as sdk:
            yield ProxiedCluster(name_server, brokers, proxy, sdk)


def from_broker(name: str, queue: int = -1, **changes: Any) -> s.ReceiveMessageRequest:
    request = receive_request(queue=queue, **changes)
    request.message_queue.broker.name = name
    return request


async def receive_messages(sdk: Sdk, name: str, **changes: Any) -> list[d.Message]:
    """Receive from a broker; the messages."""
    return messages(await sdk.receive(from_broker(name, **changes), SOON))


async def test_a_route_has_the_queues_of_all_brokers_at_the_address_that_was_dialled(cluster: ProxiedCluster) -> None:
    response = await cluster.sdk.call("QueryRoute", route())
    queues = [(each.broker.name, each.id) for each in response.message_queues]
    assert queues == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert {each.broker.endpoints.addresses[0].host for each in response.message_queues} == {"dialled.example"}
    request = s.QueryAssignmentRequest(topic=topic(), group=topic("G"), endpoints=route().endpoints)
    response = await cluster.sdk.call("QueryAssignment", request)
    assert [(each.message_queue.broker.name, each.message_queue.id) for each in response.assignments] == [
        ("a", -1),
        ("b", -1),
    ]


async def test_sends_are_distributed_over_all_queues_and_a_group_has_one(cluster: ProxiedCluster) -> None:
    await cluster.send(*[b"%d" % number for number in range(8)])
    assert [len(await cluster.stored(name)) for name in BROKERS] == [4, 4]
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("F", 2, attributes="+message.type=FIFO")
    for group in ("one", "two", "three"):
        await cluster.send(b"1", b"2", to="F", message_group=group)
    for name in BROKERS:
        assert len(await cluster.stored(name, "F")) % 2 == 0


async def test_a_received_message_is_acknowledged_at_its_broker(cluster: ProxiedCluster) -> None:
    await cluster.send(*[b"%d" % number for number in range(4)])
    received = [each for name in BROKERS for each in await receive_messages(cluster.sdk, name)]
    assert len(received) == 4
    response = await cluster.sdk.call("AckMessage", ack(*received))
    assert {entry.status.code for entry in response.entries} == {Code.OK}
    await cluster.pass_time(60)
    with Sdk(cluster.proxy.address, "other@1@0@x") as other:
        for name in BROKERS:
            stream = await other.begin("ReceiveMessage", from_broker(name), SOON)
            await cluster.pass_time(8)
            assert codes((await other.wait_until_over(stream)).messages(s.ReceiveMessageResponse)) == [
                Code.MESSAGE_NOT_FOUND
            ]


async def test_sends_continue_when_a_broker_stops(cluster: ProxiedCluster) -> None:
    await cluster.send(*[b"%d" % number for number in range(4)])
    cluster.brokers["b"].stop()
    await settle()
    await cluster.send(*[b"%d" % number for number in range(4, 12)])
    assert len(await cluster.stored("a")) == 2 + 8
    response = await cluster.sdk.receive(from_broker("b"), SOON)
    assert codes(response) == [Code.INTERNAL_SERVER_ERROR]
    await cluster.pass_time(5)
    response = await cluster.sdk.call("QueryRoute", route())
    assert {each.broker.name for each in response.message_queues} == {"a"}


async def test_an_unknown_topic_is_refused(cluster: ProxiedCluster) -> None:
    response = await cluster.sdk.call("SendMessage", send_request(message(to="nowhere")))
    assert code_of(response) is Code.TOPIC_NOT_FOUND
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("nowhere", 1)
    await cluster.pass_time(3)
    await cluster.send(b"now", to="nowhere")


async def test_messages_popped_for_a_cancelled_call_are_returned(cluster: ProxiedCluster) -> None:
    stream = await cluster.sdk.begin("ReceiveMessage", from_broker("a", polling=20))
    await cluster.sdk.rest()
    await cluster.sdk.cancel(stream)
    await cluster.sdk.rest()
    await cluster.send(b"1", b"2")  # one for each broker
    await settle()
    stream = await cluster.sdk.begin("ReceiveMessage", from_broker("a"), SOON)
    await cluster.sdk.rest()
    await cluster.pass_time(2, 0.5)
    (received,) = messages((await cluster.sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
    assert received.system_properties.delivery_attempt == 1


async def test_brokers_know_the_members_of_groups_and_forget_those_that_leave(cluster: ProxiedCluster) -> None:
    with Sdk(cluster.proxy.address, "other@1@0@x") as other:
        for each in (cluster.sdk, other):
            await each.command(await each.telemetry(consumer_settings()))
        await settle()
        for broker in cluster.brokers.values():
            found = await consumers(broker.broker())
            assert found is not None
            assert {each.client_id for each in found.connection_set} == {CLIENT, "other@1@0@x"}
    await settle()
    for broker in cluster.brokers.values():
        found = await consumers(broker.broker())
        assert found is not None
        assert {each.client_id for each in found.connection_set} == {CLIENT}


async def test_an_orphaned_transaction_is_recovered_through_another_proxy(cluster: ProxiedCluster) -> None:
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("trans", 1, attributes="+message.type=TRANSACTION")
        await broker.broker().set_config(transactionTimeOut="1000", transactionCheckInterval="1000")
    halves = [message(b"half", f"id{number}", to="trans", message_type=d.TRANSACTION) for number in range(2)]
    for half in halves:
        assert code_of(await cluster.sdk.call("SendMessage", send_request(half))) is Code.OK
    async with proxying(cluster.name_server, clock=cluster.brokers["a"].clock) as proxy:
        with Sdk(proxy.address) as sdk:
            assert code_of(await sdk.call("EndTransaction", ending("id0"))) is Code.INVALID_TRANSACTION_ID
            stream = await sdk.telemetry(producer_settings("trans"))
            await sdk.command(stream)
            await cluster.pass_time(70, 10)
            found: set[str] = set()
            while len(found) < 2:
                command = (await sdk.command(stream)).recover_orphaned_transaction_command
                found.add(command.transaction_id)
            assert found == {"id0", "id1"}
            for each in sorted(found):
                assert code_of(await sdk.call("EndTransaction", ending(each))) is Code.OK
    for name in BROKERS:
        assert await cluster.stored(name, "trans", 1) == [b"half"]


async def test_a_group_in_order_gets_the_next_message_when_the_first_is_acknowledged(cluster: ProxiedCluster) -> None:
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("F", 1, attributes="+message.type=FIFO")
        await create_group(broker.broker(), "O", consume_message_orderly=True)
    await cluster.send(b"1", b"2", to="F", message_group="one")
    (name,) = [name for name in BROKERS if await cluster.stored(name, "F", 1)]
    first = await receive_messages(cluster.sdk, name, group="O", to="F", queue=0, most=1)
    assert [each.body for each in first] == [b"1"]
    stream = await cluster.sdk.begin("ReceiveMessage", from_broker(name, group="O", to="F", queue=0, most=1), SOON)
    await cluster.sdk.rest()
    assert not cluster.sdk.incoming[stream].over
    request = ack(*first)
    request.group.name, request.topic.name = "O", "F"
    assert code_of(await cluster.sdk.call("AckMessage", request)) is Code.OK
    found = messages((await cluster.sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
    assert [each.body for each in found] == [b"2"]


async def test_the_messages_of_a_push_consumer_are_renewed_until_it_leaves(cluster: ProxiedCluster) -> None:
    await cluster.send(b"long")
    await cluster.sdk.command(await cluster.sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
    (received,) = await receive_messages(cluster.sdk, "a", auto_renew=True, invisible=0)
    beat = s.HeartbeatRequest(group=topic("G"), client_type=d.PUSH_CONSUMER)
    for _ in range(20):
        await cluster.pass_time(10)
        assert code_of(await cluster.sdk.call("Heartbeat", beat)) is Code.OK
    with Sdk(cluster.proxy.address, "other@1@0@x") as other:
        stream = await other.begin("ReceiveMessage", from_broker("a"), SOON)
        await cluster.pass_time(8)
        assert codes((await other.wait_until_over(stream)).messages(s.ReceiveMessageResponse)) == [
            Code.MESSAGE_NOT_FOUND
        ]
        request = s.NotifyClientTerminationRequest(group=topic("G"))
        assert code_of(await cluster.sdk.call("NotifyClientTermination", request)) is Code.OK
        stream = await other.begin("ReceiveMessage", from_broker("a"), SOON)
        await other.rest()
        await cluster.pass_time(2, 0.5)
        (again,) = messages((await other.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
        assert again.body == received.body


async def test_a_renewed_message_is_acknowledged_by_its_first_handle(cluster: ProxiedCluster) -> None:
    await cluster.send(b"long")
    await cluster.sdk.command(await cluster.sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
    received = await receive_messages(cluster.sdk, "a", auto_renew=True, invisible=0)
    beat = s.HeartbeatRequest(group=topic("G"), client_type=d.PUSH_CONSUMER)
    for _ in range(10):
        await cluster.pass_time(10)
        assert code_of(await cluster.sdk.call("Heartbeat", beat)) is Code.OK
    assert code_of(await cluster.sdk.call("AckMessage", ack(*received))) is Code.OK
    await cluster.pass_time(120, 10)
    assert code_of(await cluster.sdk.call("Heartbeat", beat)) is Code.OK
    stream = await cluster.sdk.begin("ReceiveMessage", from_broker("a"), SOON)
    await cluster.pass_time(8)
    assert codes((await cluster.sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)) == [
        Code.MESSAGE_NOT_FOUND
    ]
