"""5.x clients of a proxy before brokers without POP, such as those of 4.9."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from rocketwire.server.remote_calls.pop_emulation.group import CLIENT_PREFIX
from rocketwire.server.remote_calls.pop_emulation.service import PopEmulation
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from rocketwire.wire.headers import encode_ext
from rocketwire.wire.headers.offset import UpdateConsumerOffsetRequestHeader
from rocketwire.wire.headers.send import ConsumerSendMsgBackRequestHeader
from tests.server.grpc.consuming.test_receiving import SOON, ack, change, codes, messages
from tests.server.grpc.sdk import Sdk, code_of, consumer_settings, create_group, message, send_request, topic
from tests.server.grpc.test_telemetry import consumers
from tests.server.harness import NOW, Clock, records
from tests.server.remote_calls import test_two_brokers
from tests.server.remote_calls.proxied import BROKERS, cluster_of_two, proxying
from tests.server.remote_calls.test_two_brokers import ProxiedCluster, from_broker
from tests.server.test_hostile_properties import write_log

OTHERWISE: Final = {
    "test_a_received_message_is_acknowledged_at_its_broker": "a receive takes what has been pulled so far",
}
"""Tests of a proxy before brokers with POP that do not apply here, and why."""

globals().update(
    {name: test for name, test in vars(test_two_brokers).items() if name.startswith("test_") and name not in OTHERWISE}
)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[ProxiedCluster]:
    async with (
        cluster_of_two(tmp_path) as (name_server, brokers),
        proxying(name_server, clock=brokers["a"].clock, pop=False) as proxy,
    ):
        with Sdk(proxy.address) as sdk:
            yield ProxiedCluster(name_server, brokers, proxy, sdk)


async def receive_messages(
    cluster: ProxiedCluster, name: str, sdk: Sdk | None = None, seconds: float = 8, **changes: Any
) -> list[d.Message]:
    """Receive from a broker; the messages of some seconds."""
    sdk = sdk or cluster.sdk
    stream = await sdk.begin("ReceiveMessage", from_broker(name, polling=5, **changes), SOON)
    await sdk.rest()
    while not sdk.incoming[stream].over and seconds > 0:
        await cluster.pass_time(0.5, 0.5)
        await sdk.rest()
        seconds -= 0.5
    return messages((await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse))


def bodies(received: list[d.Message]) -> list[bytes]:
    return sorted(each.body for each in received)


async def test_messages_are_received_and_acknowledged(cluster: ProxiedCluster) -> None:
    await cluster.send(*[b"%d" % number for number in range(8)])
    received = []
    for name in BROKERS:
        while found := await receive_messages(cluster, name):
            received += found
            assert code_of(await cluster.sdk.call("AckMessage", ack(*found))) is Code.OK
    assert bodies(received) == [b"%d" % number for number in range(8)]
    assert {each.system_properties.delivery_attempt for each in received} == {1}
    await cluster.pass_time(60)
    assert [await receive_messages(cluster, name) for name in BROKERS] == [[], []]


async def test_an_unacknowledged_message_is_redelivered(cluster: ProxiedCluster) -> None:
    await cluster.send(b"late")
    (first,) = await receive_messages(cluster, "a", invisible=10)
    assert await receive_messages(cluster, "a") == []
    await cluster.pass_time(5, 1)
    (second,) = await receive_messages(cluster, "a", invisible=10)
    assert second.system_properties.delivery_attempt == 2
    response = await cluster.sdk.call("AckMessage", ack(first))
    assert code_of(response) is Code.INVALID_RECEIPT_HANDLE
    assert code_of(await cluster.sdk.call("AckMessage", ack(second))) is Code.OK
    assert code_of(await cluster.sdk.call("AckMessage", ack(second))) is Code.OK


async def test_a_message_is_visible_at_the_changed_time(cluster: ProxiedCluster) -> None:
    await cluster.send(b"later")
    (first,) = await receive_messages(cluster, "a")
    response = await cluster.sdk.call("ChangeInvisibleDuration", change(first, 2))
    assert code_of(response) is Code.OK
    response = await cluster.sdk.call("ChangeInvisibleDuration", change(first, 2))
    assert code_of(response) is Code.INVALID_RECEIPT_HANDLE
    assert code_of(await cluster.sdk.call("AckMessage", ack(first))) is Code.INVALID_RECEIPT_HANDLE
    (second,) = await receive_messages(cluster, "a")
    assert second.system_properties.delivery_attempt == 2
    response = await cluster.sdk.call("ChangeInvisibleDuration", change(second, 60))
    acknowledged = await cluster.sdk.call("AckMessage", ack(second, handle=response.receipt_handle))
    assert code_of(acknowledged) is Code.OK


async def test_the_next_proxy_continues_below_unacknowledged_messages(cluster: ProxiedCluster) -> None:
    sdk, clock = cluster.sdk, cluster.brokers["a"].clock
    async with proxying(cluster.name_server, clock=clock, pop=False) as first:
        with Sdk(first.address) as one:
            await cluster.send(*[b"%d" % number for number in range(8)])
            received = await receive_messages(cluster, "a", one)
            while len(received) < 4:
                received += await receive_messages(cluster, "a", one)
            of_queues: dict[int, list[d.Message]] = {}
            for each in received:
                of_queues.setdefault(each.system_properties.queue_id, []).append(each)
            for mine in of_queues.values():
                assert code_of(await one.call("AckMessage", ack(mine[0]))) is Code.OK
            await cluster.pass_time(2, 0.5)
    left = [mine[1] for mine in of_queues.values()]
    assert code_of(await sdk.call("AckMessage", ack(left[0]))) is Code.INVALID_RECEIPT_HANDLE
    again = await receive_messages(cluster, "a")
    again += await receive_messages(cluster, "a")
    assert bodies(again) == bodies(left)


async def test_messages_of_a_killed_proxy_are_redelivered_when_its_locks_expire(
    cluster: ProxiedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(_: PopEmulation) -> None: ...

    monkeypatch.setattr(PopEmulation, "_leave", nothing)
    await cluster.send(b"1")
    async with proxying(cluster.name_server, clock=cluster.brokers["a"].clock, pop=False) as first:
        with Sdk(first.address) as one:
            assert bodies(await receive_messages(cluster, "a", one)) == [b"1"]
    assert await receive_messages(cluster, "a") == []
    await cluster.pass_time(60, 5)
    assert bodies(await receive_messages(cluster, "a", seconds=20)) == [b"1"]


async def test_two_proxies_share_the_queues(cluster: ProxiedCluster) -> None:
    async with proxying(cluster.name_server, clock=cluster.brokers["a"].clock, pop=False) as second:
        with Sdk(second.address, "other@1@0@x") as other:
            for _ in range(5):
                for sdk in (cluster.sdk, other):
                    assert await receive_messages(cluster, "a", sdk) == []
            await cluster.send(*[b"%d" % number for number in range(16)])
            found: dict[Sdk, list[d.Message]] = {cluster.sdk: [], other: []}
            for _ in range(3):
                for sdk in found:
                    found[sdk] += await receive_messages(cluster, "a", sdk, invisible=300)
            assert {len(each) for each in found.values()} == {4}
            assert {len({each.system_properties.queue_id for each in mine}) for mine in found.values()} == {1}


async def test_a_group_in_order_gets_the_next_message_when_the_first_is_acknowledged(cluster: ProxiedCluster) -> None:
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("F", 1, attributes="+message.type=FIFO")
        await create_group(broker.broker(), "O", consume_message_orderly=True)
    await cluster.send(b"1", b"2", to="F", message_group="one")
    (name,) = [name for name in BROKERS if await cluster.stored(name, "F", 1)]
    for body in (b"1", b"2"):
        received = await receive_messages(cluster, name, group="O", to="F", most=1)
        assert bodies(received) == [body]
        assert await receive_messages(cluster, name, group="O", to="F", most=1) == []
        request = ack(*received)
        request.group.name, request.topic.name = "O", "F"
        assert code_of(await cluster.sdk.call("AckMessage", request)) is Code.OK


async def test_order_is_kept_for_groups_that_brokers_do_not_know_as_ordered(cluster: ProxiedCluster) -> None:
    """A message that is not acknowledged in time is redelivered before the next, another client gets none of its queue
    meanwhile, and another proxy continues with it."""
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("F", 2, attributes="+message.type=FIFO")

    async def settle_one(sdk: Sdk, each: d.Message) -> None:
        request = ack(each)
        request.group.name, request.topic.name = "O", "F"
        assert code_of(await sdk.call("AckMessage", request)) is Code.OK

    what: dict[str, Any] = {"group": "O", "to": "F", "most": 1}
    clock = cluster.brokers["a"].clock
    async with proxying(cluster.name_server, clock=clock, pop=False, ordered_groups="Other, O") as first:
        with Sdk(first.address) as one, Sdk(first.address) as two:
            for body in (b"1", b"2", b"3"):
                sent = message(body, f"id{body!r}", to="F", message_group="one")
                assert code_of(await one.call("SendMessage", send_request(sent))) is Code.OK
            (name,) = [name for name in BROKERS if await cluster.stored(name, "F")]
            (failed,) = await receive_messages(cluster, name, one, invisible=10, **what)
            assert failed.body == b"1"
            assert await receive_messages(cluster, name, two, **what) == []
            await cluster.pass_time(11, 1)
            (again,) = await receive_messages(cluster, name, two, **what)
            assert (again.body, again.system_properties.delivery_attempt) == (b"1", 2)
            assert await receive_messages(cluster, name, one, **what) == []
            await settle_one(two, again)
            (second,) = await receive_messages(cluster, name, one, **what)
            assert second.body == b"2"
            await settle_one(one, second)
            await cluster.pass_time(2, 0.5)
    async with proxying(cluster.name_server, clock=clock, pop=False, ordered_groups="O") as next_one:
        with Sdk(next_one.address) as sdk:
            (third,) = await receive_messages(cluster, name, sdk, **what)
            assert third.body == b"3"
            await settle_one(sdk, third)


async def test_a_message_that_was_delivered_too_often_becomes_a_dead_letter(cluster: ProxiedCluster) -> None:
    for broker in cluster.brokers.values():
        await create_group(broker.broker(), "G", retry_max_times=1)
    await cluster.send(b"dead")
    for _ in range(2):
        (received,) = await receive_messages(cluster, "a", invisible=10)
        await cluster.pass_time(11, 1)
    assert received.system_properties.delivery_attempt == 2
    assert await receive_messages(cluster, "a", invisible=10) == []
    assert await cluster.stored("a", "%DLQ%G", 1) == [b"dead"]


async def test_a_client_makes_a_message_a_dead_letter(cluster: ProxiedCluster) -> None:
    await cluster.send(b"back")
    (first,) = await receive_messages(cluster, "a")
    request = s.ForwardMessageToDeadLetterQueueRequest(
        group=topic("G"),
        topic=topic(),
        receipt_handle=first.system_properties.receipt_handle,
        message_id=first.system_properties.message_id,
    )
    assert code_of(await cluster.sdk.call("ForwardMessageToDeadLetterQueue", request)) is Code.OK
    assert await cluster.stored("a", "%DLQ%G", 1) == [b"back"]
    await cluster.pass_time(60)
    assert await receive_messages(cluster, "a") == []


async def test_a_message_with_a_delivery_time_is_refused(cluster: ProxiedCluster) -> None:
    timed = message(b"body", "id1")
    timed.system_properties.delivery_timestamp.FromMilliseconds(NOW + 45_000)
    assert code_of(await cluster.sdk.call("SendMessage", send_request(timed))) is Code.ILLEGAL_DELIVERY_TIME
    assert [await cluster.stored(name) for name in BROKERS] == [[], []]


async def test_a_delivery_time_that_a_level_fits_becomes_that_level(cluster: ProxiedCluster) -> None:
    for broker in cluster.brokers.values():
        await broker.broker().create_topic("D", 1, attributes="+message.type=DELAY")
    timed = message(b"later", "id1", to="D", message_type=d.DELAY)
    timed.system_properties.delivery_timestamp.FromMilliseconds(cluster.brokers["a"].clock() + 10_400)
    assert code_of(await cluster.sdk.call("SendMessage", send_request(timed))) is Code.OK
    await cluster.pass_time(8)
    assert [await cluster.stored(name, "D", 1) for name in BROKERS] == [[], []]
    await cluster.pass_time(4)
    assert sorted([await cluster.stored(name, "D", 1) for name in BROKERS]) == [[], [b"later"]]


async def test_messages_sent_back_by_a_4x_client_are_received(cluster: ProxiedCluster) -> None:
    await cluster.send(b"back")
    (first,) = await receive_messages(cluster, "a")
    record = records((await cluster.brokers["a"].broker().pull("T", queue_id=first.system_properties.queue_id)).body)[0]
    header = ConsumerSendMsgBackRequestHeader(
        offset=record.physical_offset, group="G", delay_level=1, origin_topic="T", max_reconsume_times=16
    )
    await cluster.brokers["a"].broker().request(RequestCode.CONSUMER_SEND_MSG_BACK, encode_ext(header))
    assert code_of(await cluster.sdk.call("AckMessage", ack(first))) is Code.OK
    (again,) = await receive_messages(cluster, "a", seconds=20)
    assert (again.body, again.topic.name) == (b"back", "T")
    assert again.system_properties.delivery_attempt == 2
    assert code_of(await cluster.sdk.call("AckMessage", ack(again))) is Code.OK
    await cluster.pass_time(60)
    assert await receive_messages(cluster, "a") == []


async def test_a_group_without_receives_is_released_and_resumed(cluster: ProxiedCluster) -> None:
    await cluster.send(b"1")
    (received,) = await receive_messages(cluster, "a")
    broker = cluster.brokers["a"].broker()
    found = await consumers(broker)
    assert found is not None
    assert any(each.client_id.startswith(CLIENT_PREFIX) for each in found.connection_set)
    assert code_of(await cluster.sdk.call("AckMessage", ack(received))) is Code.OK
    await cluster.pass_time(100, 2)
    assert await consumers(broker) is None
    await cluster.send(b"2", b"3")
    assert len(await receive_messages(cluster, "a")) == 1


async def test_a_receive_from_an_unknown_topic_is_refused(cluster: ProxiedCluster) -> None:
    response = await cluster.sdk.receive(from_broker("a", to="nowhere"), SOON)
    assert codes(response) == [Code.TOPIC_NOT_FOUND]


async def reset(cluster: ProxiedCluster, name: str) -> None:
    """Reset the group to the begin of T at a broker."""
    ext = {"topic": "T", "group": "G", "timestamp": "0", "isForce": "true"}
    answer = await cluster.brokers[name].broker().request(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext)
    assert answer.header.code == 0, answer.header.remark
    await cluster.pass_time(0.5)


@pytest.mark.slow
async def test_a_group_that_is_reset_gets_all_messages_again_once(cluster: ProxiedCluster) -> None:
    """Brokers of 4.9 notify each member, which stores no offsets here."""
    sdk = cluster.sdk
    with Sdk(cluster.proxy.address, "other@1@0@x") as other:
        for member in (sdk, other):
            await member.command(await member.telemetry(consumer_settings()))
        await cluster.send(*[b"%d" % number for number in range(8)])
        received: list[d.Message] = []
        while found := await receive_messages(cluster, "a"):
            received += found
        assert len(received) == 4
        for each in received[:2]:
            assert code_of(await sdk.call("AckMessage", ack(each))) is Code.OK
        await reset(cluster, "a")
        again: list[d.Message] = []
        while found := await receive_messages(cluster, "a"):
            again += found
        assert bodies(again) == bodies(received)
        for each in received[2:]:  # their deliveries have ended
            assert code_of(await sdk.call("AckMessage", ack(each))) is Code.INVALID_RECEIPT_HANDLE
        for each in again:
            assert code_of(await sdk.call("AckMessage", ack(each))) is Code.OK
        await cluster.pass_time(40, 1)
        assert await receive_messages(cluster, "a") == []
        await reset(cluster, "a")  # once more
        again = []
        while found := await receive_messages(cluster, "a"):
            again += found
        assert bodies(again) == bodies(received)


@pytest.mark.parametrize("pop", [False, True])
@pytest.mark.parametrize("ordered", ["", "G"])
async def test_a_handle_in_a_record_of_a_broker_is_ignored(tmp_path: Path, ordered: str, *, pop: bool) -> None:
    """Apache 4.9 stores the POP_CK that a producer sends."""
    texts = [b"POP_CK\x01x", f"POP_CK\x010 {NOW} 60000 0 1 a 0 0".encode()]
    write_log(tmp_path / "a", texts, Clock())
    everything = [b"plain0", b"plain1", b"plain2", b"stored0", b"stored1"]
    async with cluster_of_two(tmp_path) as (name_server, brokers):
        broker = brokers["a"].broker()
        await create_group(broker, "G", consume_message_orderly=bool(ordered))
        fields = UpdateConsumerOffsetRequestHeader(consumer_group="G", topic="T", queue_id=0, commit_offset=0)
        assert (await broker.request(RequestCode.UPDATE_CONSUMER_OFFSET, encode_ext(fields))).header.code == 0
        async with proxying(name_server, clock=brokers["a"].clock, pop=pop, ordered_groups=ordered) as proxy:
            with Sdk(proxy.address) as sdk:
                cluster = ProxiedCluster(name_server, brokers, proxy, sdk)
                found: list[d.Message] = []
                while got := await receive_messages(cluster, "a"):
                    found += got
                    assert code_of(await sdk.call("AckMessage", ack(*got))) is Code.OK
                assert bodies(found) == everything
                await cluster.pass_time(40)
                assert await receive_messages(cluster, "a") == []
