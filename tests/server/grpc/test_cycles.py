"""Answered calls are freed at once: those that only the collector finds keep their messages for thousands of calls."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.grpc.calls import Call
from rocketwire.server.grpc.tables.directories import OwnGroups
from rocketwire.server.grpc.transport import connection
from rocketwire.server.grpc.transport.streams import MessageStream
from rocketwire.wire.grpc import service_pb2 as s
from tests.server.grpc.consuming.test_receiving import ack, receive_now
from tests.server.grpc.sdk import SERVICE, Sdk, consumer_settings, message, send_request
from tests.server.harness import Client, Server, settle


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Switch the collector off."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def calls() -> int:
    """How many calls there are in this process, answered ones among them."""
    return sum(isinstance(each, Call) for each in gc.get_objects())


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.usefixtures("no_collector")
async def test_an_answered_call_is_freed_without_the_collector(
    sdk: Sdk, broker: Client, monkeypatch: pytest.MonkeyPatch, *, plain: bool
) -> None:
    if not plain:
        monkeypatch.setattr(connection, "serve_on_fast_path", lambda events, *_: events)
    before = calls()
    for number in range(20):
        await sdk.call("SendMessage", send_request(message(b"x", f"id{number}")))
        (received,) = await receive_now(sdk)
        await sdk.call("AckMessage", ack(received))
    assert calls() - before <= 2  # those of the last read
    assert broker is not None


async def test_settings_that_wait_when_the_connection_closes_are_freed(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OwnGroups, "needs_request", lambda *_: True)
    monkeypatch.setattr(FrameDispatcher, "serve_requests", lambda _self, _caller, requests: len(requests))
    gc.collect()
    before = calls()
    for number in range(5):
        with Sdk(server.broker_address) as sdk:
            stream = sdk.open(f"{SERVICE}Telemetry", {"x-mq-client-id": f"client{number}"})
            for _ in range(4):
                sdk.put(stream, s.TelemetryCommand(settings=consumer_settings()), end=False)
            await sdk.send_out()
            await settle()
        await settle()
    gc.collect()
    assert calls() == before  # requests are not tracked: the collector finds no cycle that has one
    assert broker is not None


@pytest.mark.usefixtures("no_collector")
async def test_a_telemetry_stream_that_has_ended_is_freed_without_the_collector(server: Server, broker: Client) -> None:
    for ends in (True, False):
        for number in range(5):
            with Sdk(server.broker_address, f"client{number}") as sdk:
                stream = await sdk.telemetry(consumer_settings())
                await sdk.command(stream)
                if ends:
                    sdk.http2.end_stream(stream)
                    await sdk.send_out()
                    await sdk.wait_until_over(stream)
            await settle()
        assert sum(isinstance(each, MessageStream) for each in gc.get_objects()) <= 1
    assert broker is not None
