"""Connections of gRPC calls: their ports, what ends them, and their bounds."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from h2.errors import ErrorCodes

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.grpc.consuming import kernel_receives
from rocketwire.server.grpc.transport import answer_output
from rocketwire.server.grpc.transport.connection import GrpcConnection
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.grpc import health_pb2
from rocketwire.wire.grpc import service_pb2 as s
from rocketwire.wire.grpc.codes import Code, GrpcStatus
from tests.server.grpc.sdk import (
    SERVICE,
    Sdk,
    code_of,
    message,
    producer_settings,
    receive_request,
    send_request,
)
from tests.server.grpc.test_routing import route
from tests.server.harness import Client, Server, mock_clock, send_ext, serving, serving_topic, settle
from tests.server.net.tls.support import secured, trusting_any_certificate

pytestmark = pytest.mark.usefixtures("driver")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


async def test_both_protocols_are_served_on_both_ports(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", grpc_listen="127.0.0.1:0") as server:
        assert server.grpc is not None
        await server.broker().create_topic("T", 1)
        remoting = server.to(server.grpc)
        assert (await remoting.send("T")).header.code == 0
        for address in (server.grpc, server.broker_address):
            with Sdk(address) as sdk:
                assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK


async def test_tls_agrees_on_http2(server: Server, broker: Client) -> None:
    context = trusting_any_certificate()
    context.set_alpn_protocols(["h2"])
    with Sdk(server.broker_address, tls=context) as sdk:
        await sdk.shake_hands()
        assert sdk.tls is not None
        assert sdk.tls.selected_alpn_protocol() == "h2"
        assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK
    remoting = secured(server)  # announces no protocol
    assert (await remoting.send("T")).header.code == 0
    assert broker is not None


async def test_the_preface_may_come_in_pieces(server: Server, broker: Client) -> None:
    with Sdk(server.broker_address) as sdk:
        data = sdk.http2.data_to_send()
        assert data.startswith(PREFACE)
        for piece in (data[:1], data[1:10], data[10:]):
            assert sdk.sock.send(piece) == len(piece)
            await settle()
        assert code_of(await sdk.call("QueryRoute", route())) is Code.OK
    assert broker is not None


async def test_the_name_server_serves_no_calls(server: Server) -> None:
    client = server.name_server()
    await client.write(PREFACE)
    assert await client.ended()


async def test_http2_begins_with_the_first_bytes_or_never(server: Server, broker: Client) -> None:
    await broker.write(PREFACE)
    assert await broker.ended()
    assert await server.broker().is_open()


async def test_a_broken_preface_ends_the_connection(server: Server) -> None:
    client = server.broker()
    await client.write(b"POST / HTTP/1.1\r\n\r\n")
    client._received = lambda: client.sock.recv(1 << 20) and b""  # type: ignore[method-assign]  # a GOAWAY
    assert await client.ended()


async def test_an_unknown_method_is_unimplemented(sdk: Sdk) -> None:
    for name in ("PullMessage", "GetOffset", "UpdateOffset", "QueryOffset", "Nonsense"):
        stream = sdk.open(SERVICE + name)
        sdk.put(stream, b"")
        await sdk.send_out()
        assert (await sdk.wait_until_over(stream)).status == GrpcStatus.UNIMPLEMENTED


async def test_a_request_that_cannot_be_parsed_is_an_internal_error(sdk: Sdk) -> None:
    stream = sdk.open(f"{SERVICE}SendMessage")
    sdk.put(stream, b"\xff\xff")
    await sdk.send_out()
    assert (await sdk.wait_until_over(stream)).status == GrpcStatus.INTERNAL
    assert code_of(await sdk.call("SendMessage", send_request())) is Code.OK


async def test_a_bug_in_a_method_is_logged_and_ends_its_call_alone(
    sdk: Sdk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("rocketwire.server.grpc.sending.read_send", broken)
    response = await sdk.call("SendMessage", send_request())
    assert code_of(response) is Code.INTERNAL_SERVER_ERROR
    assert "oops" in response.status.message
    assert "a call of a 5.x client" in caplog.text
    assert code_of(await sdk.call("QueryRoute", route())) is Code.OK


async def test_a_stop_sends_goaway(tmp_path: Path) -> None:
    """Clients are requested to reconnect, on their telemetry stream, and the connection is announced to end."""
    async with serving(tmp_path / "store") as server:
        sdk = Sdk(server.broker_address)
        await sdk.call("/grpc.health.v1.Health/Check", health_pb2.HealthCheckRequest())
        stream = await sdk.telemetry(producer_settings())
        assert (await sdk.command(stream)).HasField("settings")
    while not sdk.ended:
        await trio.lowlevel.wait_readable(sdk.sock)
        sdk.read_waiting()
    (command,) = sdk.incoming[stream].messages(s.TelemetryCommand)
    assert command.HasField("reconnect_endpoints_command")
    assert sdk.goaway == 0
    sdk.close()


async def test_an_idle_connection_is_closed(sdk: Sdk, server: Server, broker: Client) -> None:
    await sdk.call("QueryRoute", route())
    for _ in range(4):
        await server.pass_time(20)
        sdk.http2.ping(bytes(8))
        await sdk.send_out()
        await sdk.rest()
        await broker.heartbeat("other")
    assert sdk.goaway is None
    await server.pass_time(140)
    while not sdk.ended:
        await sdk.read()


async def test_many_pings_are_allowed(sdk: Sdk) -> None:
    await sdk.telemetry(producer_settings())
    for _ in range(200):
        sdk.http2.ping(bytes(8))
        await sdk.send_out()
        await sdk.rest()
    assert sdk.goaway is None
    assert code_of(await sdk.call("QueryRoute", route())) is Code.OK


async def test_a_client_that_does_not_read_is_not_served_further(server: Server, broker: Client) -> None:
    """Calls whose answers find no window are answered later; meanwhile their memory is bounded."""
    await broker.create_topic("wide", 1000)
    with Sdk(server.broker_address, window=0) as sdk:
        streams = [await sdk.begin("QueryRoute", route("wide")) for _ in range(200)]
        await sdk.rest()
        (connection,) = [each for each in gc.get_objects() if isinstance(each, GrpcConnection) and not each.closed]
        assert connection.http2.waiting > 4 << 20
        held = connection.held
        assert held < 10 << 20
        sdk.http2.update_settings({4: 1 << 24})
        sdk.http2.increment_flow_control_window(1 << 28)
        await sdk.send_out()
        for stream in streams:
            (response,) = (await sdk.wait_until_over(stream)).messages(s.QueryRouteResponse)
            assert len(response.message_queues) == 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "general"])
async def test_a_client_that_does_not_read_receives_no_further_messages(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages become visible again when it leaves, and their memory is released."""
    if kind == "general":
        monkeypatch.setattr(kernel_receives.KernelReceives, "serve", lambda *_: 0)
    async with serving(tmp_path / "store") as server:
        await server.broker().create_topic("T", 1)
        for number in range(60):
            await server.broker().send("T", number.to_bytes(1) * (230 << 10))
        with Sdk(server.broker_address, window=0) as sdk:
            for _ in range(60):
                await sdk.begin("ReceiveMessage", receive_request(invisible=3600, polling=10))
            await sdk.rest()
            (connection,) = [each for each in gc.get_objects() if isinstance(each, GrpcConnection) and not each.closed]
            assert HIGH_WATER < connection.http2.waiting < HIGH_WATER + (2 << 20)
            assert connection.held > 2 * connection.http2.waiting  # with the records that would be returned
            assert connection.congested
            assert not connection.stalled
        await settle()
        assert connection.http2.waiting == 0
        assert connection.in_flight.counted == 0
        with Sdk(server.broker_address) as sdk:
            bodies: set[int] = set()
            while len(bodies) < 60:
                await server.pass_time(2.0)
                bodies |= {each.message.body[0] for each in await sdk.receive(receive_request()) if each.message.body}


async def test_progress_counts_by_answers_while_some_wait(server: Server, broker: Client) -> None:
    """A client that sends, and does not read, is refused before others."""
    with Sdk(server.broker_address, window=0) as sdk:
        began = trio.current_time()
        await sdk.begin("QueryRoute", route())
        await sdk.rest()
        (connection,) = [each for each in gc.get_objects() if isinstance(each, GrpcConnection) and not each.closed]
        assert connection.last_sign_of_life == began
        mock_clock().jump(5.0)
        sdk.http2.ping(bytes(8))
        await sdk.send_out()
        await sdk.rest()
        assert connection.silent_since == began + 5.0
        assert connection.last_sign_of_life == began
        sdk.http2.update_settings({4: 10})  # it reads a little
        await sdk.send_out()
        await settle()
        assert connection.last_sign_of_life == began + 5.0
        assert connection.http2.waiting > 0
        mock_clock().jump(5.0)
        sdk.http2.update_settings({4: 1 << 20})
        await sdk.send_out()
        await sdk.rest()
        assert connection.http2.waiting == 0
        assert connection.last_sign_of_life == began + 10.0


async def test_messages_of_a_stream_wait_while_its_answers_are_not_read(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_output, "HIGH_WATER", 2000)
    with Sdk(server.broker_address, window=0) as sdk:
        stream = await sdk.telemetry(producer_settings())
        for _ in range(100):
            sdk.put(stream, s.TelemetryCommand(settings=producer_settings()), end=False)
        await sdk.send_out()
        await sdk.rest()
        (connection,) = [each for each in gc.get_objects() if isinstance(each, GrpcConnection) and not each.closed]
        assert 2000 < connection.http2.waiting < 3000
        assert connection.held > 30 * 256  # an event has its own size
        sdk.http2.update_settings({4: 1 << 20})
        await sdk.send_out()
        for _ in range(101):
            assert (await sdk.command(stream)).WhichOneof("command") == "settings"


async def test_answers_without_room_end_the_connection(tmp_path: Path) -> None:
    async with serving(tmp_path / "store", max_in_flight_bytes_per_connection=64 << 10) as server:
        broker = server.broker()
        await broker.create_topic("wide", 2000)
        with Sdk(server.broker_address, window=0) as sdk:
            await sdk.begin("QueryRoute", route("wide"))
            await sdk.rest()
            assert sdk.ended
        assert (await broker.send("wide")).header.code == 0


async def test_unfinished_requests_count_as_calls(sdk: Sdk) -> None:
    for _ in range(100):
        sdk.open(f"{SERVICE}SendMessage")
    await sdk.send_out()
    await sdk.rest()
    (connection,) = [each for each in gc.get_objects() if isinstance(each, GrpcConnection) and not each.closed]
    assert connection.held - connection.http2.heads >= 100 * 512
    sdk.close()
    await settle()
    assert connection.in_flight.counted == 0


async def test_a_cancelled_call_is_forgotten(sdk: Sdk, server: Server) -> None:
    stream = sdk.open(f"{SERVICE}SendMessage")
    sdk.put(stream, send_request())
    sdk.http2.reset_stream(stream)
    await sdk.send_out()
    assert code_of(await sdk.call("SendMessage", send_request(message(message_id="next")))) is Code.OK
    assert server is not None


async def test_a_long_request_delays_no_other_call(sdk: Sdk) -> None:
    topics = [f"topic-{number:04}" for number in range(1000)]
    command = await sdk.command(await sdk.telemetry(producer_settings(*topics)))
    assert command.status.code == Code.OK
    stream = await sdk.begin("Heartbeat", s.HeartbeatRequest())
    assert code_of(await sdk.call("QueryRoute", route())) is Code.OK
    (response,) = (await sdk.wait_until_over(stream)).messages(s.HeartbeatResponse)
    assert code_of(response) is Code.OK


async def test_a_refused_heartbeat_is_counted(sdk: Sdk) -> None:
    topics = [f"topic-{number:04}" for number in range(2000)]  # more groups than a heartbeat may have
    found = await sdk.wait_until_over(await sdk.telemetry(producer_settings(*topics)))
    assert found.status == GrpcStatus.INVALID_ARGUMENT
    assert "heartbeatGroups" in found.headers["grpc-message"]


async def test_the_clients_of_a_connection_are_bounded(
    sdk: Sdk, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setattr("rocketwire.server.grpc.clients._MOST_OF_CONNECTION", 2)
    codes = [
        code_of(await sdk.call("Heartbeat", s.HeartbeatRequest(), {"x-mq-client-id": client}))
        for client in ("a", "b", "a", "c")
    ]
    assert codes == [Code.OK, Code.OK, Code.OK, Code.TOO_MANY_REQUESTS]
    with Sdk(server.broker_address, "c") as other:
        assert code_of(await other.call("Heartbeat", s.HeartbeatRequest())) is Code.OK


async def test_answers_wait_for_the_disk(tmp_path: Path) -> None:
    async with serving_topic(tmp_path / "store", flush_disk_type="SYNC_FLUSH") as (server, _):
        with Sdk(server.broker_address) as sdk:
            streams = [await sdk.begin("SendMessage", send_request(message(message_id=f"id{n}"))) for n in range(5)]
            for stream in streams:
                (response,) = (await sdk.wait_until_over(stream)).messages(s.SendMessageResponse)
                assert code_of(response) is Code.OK
                assert len(response.entries) == 1
            received = await sdk.receive(receive_request(), {"grpc-timeout": "8S"})
            assert len(received) == 7


async def test_messages_delayed_by_a_flush_for_a_cancelled_call_are_visible_again(tmp_path: Path) -> None:
    flushes = trio.Event()

    async def run_sync(sync_fn: Callable[..., Any], *args: Any) -> Any:
        await flushes.wait()
        return sync_fn(*args)

    async with serving_topic(tmp_path / "store", flush_disk_type="SYNC_FLUSH", run_sync=run_sync) as (server, broker):
        await broker.write(broker.frame(RequestCode.SEND_MESSAGE_V2, send_ext("T"), b"x"))
        await settle()
        with Sdk(server.broker_address) as sdk, Sdk(server.broker_address, "other") as other:
            stream = await sdk.begin("ReceiveMessage", receive_request())
            await sdk.rest()
            await sdk.cancel(stream)
            await sdk.rest()
            flushes.set()
            await server.pass_time(1, step=0.1)
            received = await other.receive(receive_request(), {"grpc-timeout": "8S"})
            assert [each.message.body for each in received if each.HasField("message")] == [b"x"]


async def test_calls_are_counted_as_requests(sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Metrics] = []

    def stored(self: Metrics, *_: object) -> None:
        counted.append(self)

    monkeypatch.setattr(Metrics, "stored", stored)
    await sdk.call("SendMessage", send_request())
    (metrics,) = counted
    assert metrics.requests[RequestCode.SEND_MESSAGE_V2] == 1


def test_without_such_clients_nothing_of_grpc_is_imported() -> None:
    import subprocess

    code = (
        "import sys\n"
        "import rocketwire.server.run, rocketwire.cli.serve\n"
        "found = [name for name in sys.modules if name.split('.')[0] in {'google', 'h2'}]\n"
        "found += [name for name in sys.modules if name.startswith('rocketwire.wire.grpc')]\n"
        "print(found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


async def test_a_protocol_error_is_reported_and_ends_the_connection(sdk: Sdk) -> None:
    """After other reads, too: another code path serves the first one."""
    await sdk.call("QueryRoute", route())
    sdk.sock.send(bytes.fromhex("000001 01 05 000000FF 40"))  # a header block that ends within its first field
    while not sdk.ended:
        await trio.lowlevel.wait_readable(sdk.sock)
        sdk.read_waiting()
    assert sdk.goaway in {ErrorCodes.COMPRESSION_ERROR, ErrorCodes.PROTOCOL_ERROR}  # h2 reports the second


async def test_a_client_that_leaves_causes_no_warning(sdk: Sdk, caplog: pytest.LogCaptureFixture) -> None:
    await sdk.call("QueryRoute", route())
    sdk.http2.close_connection()
    await sdk.send_out()
    await sdk.rest()
    assert sdk.ended
    assert [each.getMessage() for each in caplog.records if each.levelno > logging.INFO] == []
