"""Offset resets of groups that pop and have invisible messages: all are redelivered once, or skipped."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.grpc import definition_pb2 as d
from rocketwire.wire.grpc import service_pb2 as s
from tests.server.clients.test_online_handlers import RESET_OF_CLIENT, join, pushed
from tests.server.grpc.consuming.test_receiving import SOON, messages
from tests.server.grpc.sdk import Sdk, consumer_settings, create_group, receive_request
from tests.server.harness import Client, Server, serving, serving_topic
from tests.server.pop.requests import ack, ack_all, change, hold, pop, popped

RESET = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
ALL = [b"m%d" % number for number in range(4)]


@pytest.fixture
async def filled(broker: Client) -> Client:
    """T has one queue with four messages."""
    await broker.create_topic("T", 1)
    for body in ALL:
        await broker.send("T", body)
    return broker


async def reset(client: Client, timestamp: int = 0, **changes: str) -> int:
    """Set G to a time in T, as a 4.x tool does; the code of the answer."""
    ext = {"topic": "T", "group": "G", "timestamp": str(timestamp), "isForce": "true", **changes}
    return (await client.request(RESET, ext)).header.code


async def to_offset(client: Client, offset: int) -> int:
    """Set G to an offset of the queue, as a 5.x tool does."""
    return await reset(client, queueId="0", offset=str(offset))


async def commit(client: Client, offset: int) -> None:
    """Commit an offset of G in the queue, as pulling members and old tools do."""
    ext = {"consumerGroup": "G", "topic": "T", "queueId": "0", "commitOffset": str(offset)}
    assert (await client.request(RequestCode.UPDATE_CONSUMER_OFFSET, ext)).header.code == 0


async def consumed(client: Client) -> str | None:
    ext = {"consumerGroup": "G", "topic": "T", "queueId": "0", "setZeroIfNotFound": "false"}
    return ((await client.request(RequestCode.QUERY_CONSUMER_OFFSET, ext)).header.ext or {}).get("offset")


async def until_nothing_comes(server: Server, client: Client, **changes: Any) -> list[bytes]:
    """The messages that a group receives and acknowledges until none has come for long."""
    found: list[bytes] = []
    for _ in range(40):
        got = await pop(client, **changes)
        found += got.bodies
        for each in got.messages:
            assert (await ack(client, each)).header.code == 0
        await server.pass_time(1, step=0.5)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("out", [0, 2, 4])
async def test_invisible_messages_are_redelivered_once(filled: Client, server: Server, out: int) -> None:
    """Some of the messages are acknowledged, the others invisible, when the group is reset."""
    got = await pop(filled)
    for each in got.messages[out:]:
        assert (await ack(filled, each)).header.code == 0
    await server.pass_time(1)
    assert await to_offset(filled, 0) == 0
    assert sorted(await until_nothing_comes(server, filled)) == ALL


@pytest.mark.slow
async def test_handles_from_before_the_reset_move_and_lose_nothing(filled: Client, server: Server) -> None:
    got = await pop(filled)
    await server.pass_time(1)
    assert await to_offset(filled, 1) == 0
    assert (await ack(filled, got.messages[1])).header.code == 0
    changed, _ = await change(filled, got.messages[2], 1000)
    assert changed.header.code == 0
    assert (await ack_all(filled, got.messages[3])).header.code == 0
    assert await consumed(filled) == "1"
    # The first one is invisible as before: the group was not reset to it.
    assert sorted(await until_nothing_comes(server, filled)) == ALL


@pytest.mark.slow
async def test_skipped_messages_are_not_delivered_but_invisible_ones_may_fail(filled: Client, server: Server) -> None:
    assert (await pop(filled, max_msg_nums=1)).bodies == [b"m0"]
    await server.pass_time(1)
    assert await reset(filled, -1, queueId="-1", offset="-1") == 0
    assert await consumed(filled) == "4"
    assert await until_nothing_comes(server, filled) == [b"m0"]


async def test_a_queue_in_order_is_released_at_once(filled: Client, server: Server) -> None:
    got = await pop(filled, order=True, max_msg_nums=2)
    assert (await ack(filled, got.messages[0])).header.code == 0
    assert (await pop(filled, order=True)).bodies == []
    await server.pass_time(1)
    other = server.broker()
    await hold(other, order=True, max_msg_nums=2)
    assert await to_offset(filled, 0) == 0
    (answer,) = await other.arrived()
    again = popped(answer)
    assert again.bodies == [b"m0", b"m1"]
    for each in got.messages:  # from before
        assert (await ack(filled, each)).header.code == 0
    assert await consumed(filled) == "0"
    assert (await pop(filled, order=True)).bodies == []
    for each in again.messages:
        assert (await ack(filled, each)).header.code == 0
    assert await consumed(filled) == "2"


async def test_a_commit_that_sets_a_queue_in_order_back_releases_it(filled: Client) -> None:
    """As tools do that reset a group without members: they commit (15)."""
    got = await pop(filled, order=True, max_msg_nums=3)
    assert (await ack(filled, got.messages[0])).header.code == 0
    assert (await pop(filled, order=True)).bodies == []
    await commit(filled, 0)
    assert (await pop(filled, order=True)).bodies == ALL
    await commit(filled, 4)
    assert (await pop(filled, order=True)).bodies == []
    await filled.send("T", b"new")
    assert (await pop(filled, order=True)).bodies == [b"new"]


async def test_handles_from_before_a_commit_of_another_offset_move_nothing(filled: Client, server: Server) -> None:
    got = await pop(filled, order=True, max_msg_nums=3)
    for each in got.messages[:2]:
        assert (await ack(filled, each)).header.code == 0
    await server.pass_time(1)
    await commit(filled, 0)
    for each in got.messages:
        assert (await ack(filled, each)).header.code == 0
    changed, _ = await change(filled, got.messages[2], 1000)
    assert changed.header.code == 0
    assert await consumed(filled) == "0"
    assert (await pop(filled, order=True)).bodies == ALL


async def test_a_tool_of_4x_resets_a_queue_in_order_after_a_restart(tmp_path: Path) -> None:
    async with serving_topic(tmp_path / "store") as (_, client):
        for body in ALL:
            await client.send("T", body)
        assert (await pop(client, order=True)).bodies == ALL
    async with serving(tmp_path / "store") as server:
        client = server.broker()
        assert await reset(client) == 0
        assert (await pop(client, order=True)).bodies == ALL


async def test_an_old_handle_in_order_moves_no_offset_before_the_queue_is_popped_again(
    filled: Client, server: Server
) -> None:
    got = await pop(filled, order=True, max_msg_nums=2)
    await server.pass_time(1)
    assert await to_offset(filled, 0) == 0
    for each in got.messages:
        assert (await ack(filled, each)).header.code == 0
    assert await consumed(filled) == "0"
    assert (await pop(filled, order=True)).bodies == ALL


async def test_without_members_a_4x_tool_is_refused_and_a_5x_tool_is_not(filled: Client) -> None:
    await commit(filled, 2)
    assert await reset(filled) == ResponseCode.CONSUMER_NOT_ONLINE
    assert await reset(filled, queueId="-1", offset="-1") == 0
    await pop(filled)
    assert await reset(filled) == 0  # the broker has the offsets of clients that pop


@pytest.mark.slow
async def test_a_group_of_5x_is_reset_with_the_messages_of_its_clients(filled: Client, server: Server) -> None:
    await create_group(filled, "G")
    with Sdk(server.broker_address) as push, Sdk(server.broker_address, "simple@1@0@x") as simple:
        await push.command(await push.telemetry(consumer_settings(kind=d.PUSH_CONSUMER)))
        held = messages(await push.receive(receive_request(auto_renew=True, invisible=0), SOON))
        assert [each.body for each in held] == ALL
        await server.pass_time(1)
        stream = await simple.begin("ReceiveMessage", receive_request(polling=5), SOON)  # it waits
        await simple.rest()
        assert await reset(filled) == 0
        again = messages((await simple.wait_until_over(stream)).messages(s.ReceiveMessageResponse))
        assert [each.body for each in again] == ALL
        entries = [
            s.AckMessageEntry(
                message_id=each.system_properties.message_id, receipt_handle=each.system_properties.receipt_handle
            )
            for each in again
        ]
        request = s.AckMessageRequest(group=d.Resource(name="G"), topic=d.Resource(name="T"), entries=entries)
        await simple.call("AckMessage", request)
        for _ in range(20):  # the other client is connected throughout, and nothing is renewed for it
            await server.pass_time(10, step=1)
            await push.call("Heartbeat", s.HeartbeatRequest(group=d.Resource(name="G"), client_type=d.PUSH_CONSUMER))
            await simple.call("Heartbeat", s.HeartbeatRequest(client_type=d.SIMPLE_CONSUMER))
        stream = await simple.begin("ReceiveMessage", receive_request(polling=5), SOON)
        await server.pass_time(6, step=0.5)
        assert messages((await simple.wait_until_over(stream)).messages(s.ReceiveMessageResponse)) == []


async def test_a_mixed_group_is_notified_and_reset(filled: Client, server: Server) -> None:
    puller = server.broker()
    await join(puller, "puller")
    await pop(filled)
    assert await reset(filled) == 0
    (push,) = await pushed(puller, RESET_OF_CLIENT)
    assert push.header.ext == {"topic": "T", "group": "G", "timestamp": "0", "isForce": "false"}
    assert await consumed(filled) == "0"


async def test_a_client_of_5x_that_has_received_nothing_yet_is_reset(filled: Client, server: Server) -> None:
    for each in (await pop(filled)).messages:
        await ack(filled, each)
    server.broker()
    await create_group(filled, "G")
    with Sdk(server.broker_address) as sdk:
        await sdk.command(await sdk.telemetry(consumer_settings()))
        assert await reset(filled) == 0
    assert await consumed(filled) == "0"


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [False, True])
async def test_a_reset_survives_a_kill(tmp_path: Path, ordered: bool) -> None:
    """Neither the table of offsets nor earlier pops undo it."""
    async with serving_topic(tmp_path / "store") as (server, client):
        for body in ALL:
            await client.send("T", body)
        assert (await pop(client, order=ordered)).bodies == ALL
        await server.pass_time(1, step=1)
        assert await to_offset(client, 0) == 0
        shutil.copytree(tmp_path / "store", tmp_path / "killed", ignore=shutil.ignore_patterns("lock"))
        now = server.clock.now
    async with serving(tmp_path / "killed") as server:
        server.clock.now = now
        client = server.broker()
        assert await consumed(client) == "0"
        found = await until_nothing_comes(server, client, order=ordered)
        assert sorted(found) == ALL
