"""Receives whose client cancels them, or leaves, after the broker has popped messages for them."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rocketwire.wire.grpc.codes import Code
from tests.server.faults.test_calls import faulty
from tests.server.grpc.consuming.test_receiving import ack, change, dead_letters, receive_in_time, receive_now
from tests.server.grpc.sdk import Sdk, code_of, create_group, message, receive_request, send_request
from tests.server.harness import Client, Server, settle


async def test_unsent_messages_are_visible_again_at_once(server: Server, broker: Client) -> None:
    """The client's windows allow all of it, so HTTP/2 has passed it to the socket; but the client does not read."""
    for first in (b"1", b"2"):  # the kernel accepts no more than one of them
        await broker.send("T", first + bytes(3_900_000))
    with (
        Sdk(server.broker_address, window=1 << 24) as sdk,
        Sdk(server.broker_address, "other", window=1 << 24) as other,
    ):
        sdk.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        sdk.http2.increment_flow_control_window((1 << 24) - 1)
        for _ in range(2):
            await sdk.begin("ReceiveMessage", receive_request(most=1))
            await settle()
        sdk.close()
        await settle()
        (again,) = await receive_in_time(other, server)
        assert again.body[:1] == b"2"
        assert again.system_properties.delivery_attempt == 1


@pytest.mark.parametrize(
    "rule", ["delay:500:request,code=36", "delay:500:answer,code=36", "delay:500,code=200051,count=1"]
)
async def test_a_call_that_is_cancelled_among_dead_letters_keeps_them_there(tmp_path: Path, rule: str) -> None:
    async with faulty(tmp_path, rule) as (server, broker, sdk):
        other = Sdk(server.broker_address, "other")
        await create_group(broker, "G", retry_max_times=0)
        await sdk.call("SendMessage", send_request(message(b"poison", "idp")))
        (first,) = await receive_now(sdk)
        assert code_of(await sdk.call("ChangeInvisibleDuration", change(first, 1))) is Code.OK
        await server.pass_time(2, step=0.5)
        await sdk.call("SendMessage", send_request(message(b"good", "idg")))
        stream = await sdk.begin("ReceiveMessage", receive_request())
        await sdk.rest()
        assert not sdk.incoming[stream].over
        await sdk.cancel(stream)
        await sdk.rest()
        await server.pass_time(1, step=0.5)
        (again,) = await receive_in_time(other, server)
        assert again.body == b"good"
        assert code_of(await other.call("AckMessage", ack(again))) is Code.OK
        assert await receive_in_time(other, server, 60) == []
        other.close()
        assert [each.body for each in await dead_letters(broker)] == [b"poison"]
