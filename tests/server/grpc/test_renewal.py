"""Messages that the server renews for a client while it is connected (`auto_renew`), over restarts, too."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.consuming.test_receiving import SOON, ack, change, messages
from tests.server.grpc.sdk import CLIENT, Sdk, code_of, consumer_settings, create_group, receive_request
from tests.server.harness import Client, Clock, Server, serving

pytestmark = pytest.mark.slow
HEARTBEAT = s.HeartbeatRequest(group=d.Resource(name="G"), client_type=d.PUSH_CONSUMER)


async def receive_long(sdk: Sdk, **changes: Any) -> list[d.Message]:
    """Receive as a push consumer."""
    await sdk.command(await sdk.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
    return messages(await sdk.receive(receive_request(auto_renew=True, invisible=0, **changes), SOON))


async def stay_busy(sdk: Sdk, server: Server, seconds: float) -> None:
    """Let time pass while the client is busy, but sends heartbeats."""
    for _ in range(round(seconds / 10)):
        await server.pass_time(10, step=1)
        assert code_of(await sdk.call("Heartbeat", HEARTBEAT)) is Code.OK


async def bodies_for_others(server: Server, **changes: Any) -> list[bytes]:
    """The messages that another member of the group would receive now."""
    with Sdk(server.broker_address, "other@1@0@x") as other:
        stream = await other.begin("ReceiveMessage", receive_request(polling=5, **changes), SOON)
        await server.pass_time(6, step=0.5)
        found = await other.wait_until_over(stream)
        return [each.body for each in messages(found.messages(s.ReceiveMessageResponse))]


async def test_a_busy_clients_messages_are_delivered_to_no_other(server: Server, broker: Client) -> None:
    for body in (b"long", b"short"):
        await broker.send("T", body)
    with Sdk(server.broker_address) as sdk:
        received = {each.body: each for each in await receive_long(sdk)}
        assert code_of(await sdk.call("AckMessage", ack(received[b"short"]))) is Code.OK
        for _ in range(3):
            await stay_busy(sdk, server, 60)
            assert await bodies_for_others(server) == []
        assert code_of(await sdk.call("AckMessage", ack(received[b"long"]))) is Code.OK  # by its first handle
        await stay_busy(sdk, server, 120)
        assert await bodies_for_others(server) == []


async def test_a_client_may_postpone_it_nevertheless(server: Server, broker: Client) -> None:
    await broker.send("T", b"long")
    with Sdk(server.broker_address) as sdk:
        (received,) = await receive_long(sdk)
        await stay_busy(sdk, server, 90)
        assert code_of(await sdk.call("ChangeInvisibleDuration", change(received, 2))) is Code.OK
        assert await bodies_for_others(server) == [b"long"]


async def test_a_message_returned_by_a_leaving_client_is_redelivered_once(server: Server, broker: Client) -> None:
    await broker.send("T", b"long")
    with Sdk(server.broker_address) as sdk:
        await receive_long(sdk)
        await stay_busy(sdk, server, 90)  # it was renewed meanwhile
        assert code_of(await sdk.call("NotifyClientTermination", s.NotifyClientTerminationRequest())) is Code.OK
    with Sdk(server.broker_address, "other@1@0@x") as other:
        stream = await other.begin("ReceiveMessage", receive_request(polling=5), SOON)
        await server.pass_time(6, step=0.5)
        (again,) = messages((await other.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
        assert code_of(await other.call("AckMessage", ack(again))) is Code.OK
    await server.pass_time(120, step=1)
    assert await bodies_for_others(server) == []


@pytest.mark.parametrize("again", [False, True])
async def test_messages_of_a_client_that_left_are_redelivered(server: Server, broker: Client, again: bool) -> None:
    await broker.send("T", b"long")
    with Sdk(server.broker_address) as sdk:
        await receive_long(sdk)
        await stay_busy(sdk, server, 70)
    if again:  # it only lost its connection
        with Sdk(server.broker_address) as sdk:
            await stay_busy(sdk, server, 70)
            assert await bodies_for_others(server) == []
    await server.pass_time(70, step=1)
    assert await bodies_for_others(server) == [b"long"]


async def test_it_is_redelivered_in_the_end(server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pop.renewals", "grpc.consuming.handles"):
        monkeypatch.setattr(f"rocketwire.server.{module}.MOST_MS", 240_000)  # not hours
    await broker.send("T", b"long")
    with Sdk(server.broker_address) as sdk:
        (received,) = await receive_long(sdk)
        await stay_busy(sdk, server, 250)
        assert code_of(await sdk.call("AckMessage", ack(received))) is Code.INVALID_RECEIPT_HANDLE
        assert await bodies_for_others(server) == [b"long"]


async def ready(server: Server, *, ordered: bool) -> Client:
    """A connection to a broker with a topic and a group."""
    broker = server.broker()
    await broker.create_topic("T", 1)
    await create_group(broker, "G", consume_message_orderly=ordered)
    return broker


async def stopped(server: Server, store: Path) -> Path:
    """The store after a clean stop."""
    del server
    return store


async def killed(server: Server, store: Path) -> Path:
    """The store as after a kill."""
    del server
    copy = store.with_name("copy")
    shutil.copytree(store, copy)
    return copy


@pytest.mark.parametrize("ends", [stopped, killed])
@pytest.mark.parametrize("before", [20, 130])
@pytest.mark.parametrize("ordered", [False, True])
async def test_a_restart_changes_nothing(
    tmp_path: Path, ends: Callable[[Server, Path], Awaitable[Path]], before: float, ordered: bool
) -> None:
    clock = Clock()
    store = tmp_path / "store"
    queue: dict[str, Any] = {"queue": 0} if ordered else {}
    async with serving(store, clock=clock) as server:
        broker = await ready(server, ordered=ordered)
        await broker.create_topic("Other", 1)
        for body in (b"first", b"second"):
            await broker.send("T", body)
        with Sdk(server.broker_address) as sdk:
            received = await receive_long(sdk, **queue)
            assert [each.body for each in received] == [b"first", b"second"]
            await stay_busy(sdk, server, before)
            assert code_of(await sdk.call("AckMessage", ack(received[0]))) is Code.OK
            await server.pass_time(10, step=1)  # offsets are saved every 5 s
            await server.broker().send("Other", b"a sign of life")
            store = await ends(server, store)
    async with serving(store, clock=clock) as server:
        await server.pass_time(20, step=1)  # the client has not returned yet
        with Sdk(server.broker_address, CLIENT) as sdk:
            await stay_busy(sdk, server, 150)
            assert await bodies_for_others(server, **queue) == []
            assert code_of(await sdk.call("AckMessage", ack(received[1]))) is Code.OK
            await stay_busy(sdk, server, 150)
            assert await bodies_for_others(server, **queue) == []
            await server.broker().send("T", b"third")
            assert await bodies_for_others(server, **queue) == [b"third"]


@pytest.mark.parametrize("ends", [stopped, killed])
@pytest.mark.parametrize("ordered", [False, True])
async def test_messages_delivered_just_before_a_restart_are_redelivered(
    tmp_path: Path, ends: Callable[[Server, Path], Awaitable[Path]], ordered: bool
) -> None:
    """Its client, which is connected, may not have received it: it must not be renewed for that client for hours."""
    clock = Clock()
    store = tmp_path / "store"
    queue: dict[str, Any] = {"queue": 0} if ordered else {}
    async with serving(store, clock=clock) as server:
        broker = await ready(server, ordered=ordered)
        await broker.send("T", b"lost")
        with Sdk(server.broker_address) as sdk:
            assert len(await receive_long(sdk, **queue)) == 1
            store = await ends(server, store)
    clock.now += 1
    async with serving(store, clock=clock) as server:
        with Sdk(server.broker_address, CLIENT) as sdk:
            await stay_busy(sdk, server, 50)
            assert await bodies_for_others(server, **queue) == []
            await stay_busy(sdk, server, 10)
            assert await bodies_for_others(server, **queue) == [b"lost"]


async def test_messages_delivered_just_before_a_connection_broke_are_redelivered(
    server: Server, broker: Client
) -> None:
    for body in (b"1", b"2"):
        await broker.send("T", body)
    with Sdk(server.broker_address) as sdk:
        assert len(await receive_long(sdk, most=1)) == 1
        await stay_busy(sdk, server, 20)
        assert len(await receive_long(sdk, most=1)) == 1
    with Sdk(server.broker_address, CLIENT) as sdk:
        await stay_busy(sdk, server, 50)
        assert await bodies_for_others(server) == []
        await stay_busy(sdk, server, 60)
        assert await bodies_for_others(server) == [b"2"]


async def test_messages_delivered_on_a_silent_connection_are_redelivered(server: Server, broker: Client) -> None:
    """The client lost its connection silently, and is back over another one before it is forgotten."""
    for body in (b"1", b"2"):
        await broker.send("T", body)
    with Sdk(server.broker_address) as silent:
        assert len(await receive_long(silent, most=1)) == 1
        await server.pass_time(125, step=1)  # after 120 s it is forgotten
        with Sdk(server.broker_address, CLIENT) as sdk:
            assert len(await receive_long(sdk, most=1)) == 1
            await stay_busy(sdk, server, 70)
            assert await bodies_for_others(server) == [b"1"]


@pytest.mark.parametrize("ordered", [False, True])
async def test_a_client_that_does_not_return_after_a_restart_loses_its_messages(tmp_path: Path, ordered: bool) -> None:
    clock = Clock()
    queue: dict[str, Any] = {"queue": 0} if ordered else {}
    async with serving(tmp_path / "store", clock=clock) as server:
        broker = await ready(server, ordered=ordered)
        await broker.send("T", b"long")
        with Sdk(server.broker_address) as sdk:
            assert len(await receive_long(sdk, **queue)) == 1
            await server.pass_time(30, step=1)
    async with serving(tmp_path / "store", clock=clock) as server:
        await server.pass_time(130, step=1)
        assert await bodies_for_others(server, **queue) == [b"long"]


async def test_an_ordered_message_that_is_renewed_blocks_its_queue(tmp_path: Path) -> None:
    async with serving(tmp_path / "store") as server:
        broker = await ready(server, ordered=True)
        for body in (b"1", b"2"):
            await broker.send("T", body)
        with Sdk(server.broker_address) as sdk:
            (received,) = await receive_long(sdk, queue=0, most=1)
            await stay_busy(sdk, server, 150)
            assert await bodies_for_others(server, queue=0) == []
            assert code_of(await sdk.call("AckMessage", ack(received))) is Code.OK
            assert await bodies_for_others(server, queue=0) == [b"2"]
