"""A client of the proxy that does not read: messages that its receives got meanwhile are returned."""

from __future__ import annotations

import gc

import pytest

from rocketwire.server.grpc.transport.connection import GrpcConnection
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.consuming.test_receiving import receive_in_time
from tests.server.grpc.sdk import Sdk, receive_request
from tests.server.harness import Client, Server, settle
from tests.server.remote_calls.proxied import Proxy

KIB = 1 << 10
MESSAGES = 40


@pytest.mark.slow
async def test_messages_for_a_client_that_does_not_read_are_returned(
    proxy: Proxy, server: Server, broker: Client
) -> None:
    for number in range(MESSAGES):
        await broker.send("T", number.to_bytes(1) * (230 * KIB))
    with Sdk(proxy.address, window=0) as sdk, Sdk(proxy.address, "other") as other:
        streams = [await sdk.begin("ReceiveMessage", receive_request(most=1, invisible=3600)) for _ in range(MESSAGES)]
        await sdk.rest()
        connections = [each for each in gc.get_objects() if isinstance(each, GrpcConnection) and not each.closed]
        connection = max(connections, key=lambda each: each.http2.waiting)
        assert HIGH_WATER < connection.http2.waiting < HIGH_WATER + 1024 * KIB
        again: set[int] = set()
        for _ in range(4):
            again |= {each.body[0] for each in await receive_in_time(other, server)}
        assert len(again) >= 4
        sdk.http2.update_settings({4: 1 << 24})
        sdk.http2.increment_flow_control_window(1 << 28)
        await sdk.send_out()
        refused, delivered = 0, set[int]()
        for stream in streams:
            found = (await sdk.wait_until_over(stream)).messages(s.ReceiveMessageResponse)
            refused += any(each.status.code == Code.TOO_MANY_REQUESTS for each in found)
            delivered |= {each.message.body[0] for each in found if each.message.body}
        await settle()
    assert refused > 10
    assert len(delivered) + refused == MESSAGES
    assert not delivered & again
