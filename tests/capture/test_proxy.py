"""The proxy with sockets: a real server behind it, half closes, slow readers, and an endpoint that is not there."""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
import threading
import time
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme

from rocketwire.capture.contents.frames import RecordedFrame, decoded
from rocketwire.capture.errors import CannotListen, RecordingUnwritable
from rocketwire.capture.file.events import (
    ConnectionOpened,
    RecordingStarted,
    RecordingStopped,
    Role,
    StreamEnded,
    StreamSource,
)
from rocketwire.capture.file.reader import load
from rocketwire.capture.file.writer import RecordingWriter
from rocketwire.capture.record.proxy import RecordingProxy, Upstream
from rocketwire.capture.record.relay import RecordingOptions
from rocketwire.capture.record.routes import broker_addresses, listen, listen_for_broker, port_of
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.wire.addresses import Address, parse_address
from rocketwire.wire.facts.codes import RequestCode
from tests.capture.support import LOCAL, Peer, recording, request
from tests.cli.endpoint import real_endpoint
from tests.server.proxy.process import ProxyProcess


def frames_of(path: Path) -> list[RecordedFrame]:
    return [each for each in decoded(load(str(path), lambda _: None)) if isinstance(each, RecordedFrame)]


def test_clients_reach_name_server_and_broker_through_it(tmp_path: Path) -> None:
    path = tmp_path / "session"
    with real_endpoint(tmp_path / "store") as endpoint, recording(path, str(endpoint.name_server)) as running:
        cluster = BlockingCluster(str(running.address))
        (connection,) = cluster.all_brokers().values()
        assert connection.address[1] != endpoint.broker.port
        connection.ask(RequestCode.GET_BROKER_CONFIG)
        cluster.close()
    events = running.events()
    assert isinstance(events[0], RecordingStarted)
    assert isinstance(events[-1], RecordingStopped)
    opened = [each for each in events if isinstance(each, ConnectionOpened)]
    assert [(each.role, each.server) for each in opened] == [
        (Role.NAME_SERVER, str(endpoint.name_server)),
        (Role.BROKER, str(endpoint.broker)),
    ]
    frames = frames_of(path)
    assert [each.code_name for each in frames if each.header.is_response] == [
        "GET_BROKER_CLUSTER_INFO",
        "GET_BROKER_CONFIG",
    ]
    assert all(each.latency > 0 for each in frames if each.latency is not None)
    assert running.warnings == []


def test_it_records_what_passes_to_rocketwires_proxy(tmp_path: Path) -> None:
    with real_endpoint(tmp_path / "store") as endpoint:
        behind = ProxyProcess(str(endpoint.name_server))
        try:
            with (
                recording(tmp_path / "session", behind.names) as running,
                BlockingCluster(str(running.address)) as cluster,
            ):
                (connection,) = cluster.all_brokers().values()
                assert connection.address[1] != parse_address(behind.broker).port
                connection.ask(RequestCode.GET_BROKER_CONFIG)
        finally:
            behind.stop()
    opened = [(each.role, each.server) for each in running.events() if isinstance(each, ConnectionOpened)]
    assert opened == [(Role.NAME_SERVER, behind.names), (Role.BROKER, behind.broker)]
    assert [each.code_name for each in frames_of(tmp_path / "session") if each.header.is_response] == [
        "GET_BROKER_CLUSTER_INFO",
        "GET_BROKER_CONFIG",
    ]


def test_the_vip_port_leads_to_the_brokers(tmp_path: Path) -> None:
    main, vip = listen_for_broker("127.0.0.1")
    broker = f"127.0.0.1:{port_of(main)}"

    def serve(sock: socket.socket) -> None:
        opaque = Peer(sock).frame().header.opaque
        body = b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:"%s"}}}}' % broker.encode()
        sock.sendall(request(0, None, body, opaque=opaque, flag=1))
        sock.recv(1)

    address, thread = accepting(serve)
    with main, vip, recording(tmp_path / "session", address) as running:
        client = Peer.to(running.address)
        (reported,) = broker_addresses(bytes(client.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body))
        assert reported != broker
        port = parse_address(reported).port
        with socket.create_connection(("127.0.0.1", port - 2), 60):
            vip.settimeout(60)
            accepted, _ = vip.accept()
            accepted.close()
        client.close()
        thread.join(60)
        vip_address = f"127.0.0.1:{port_of(vip)}"
    opened = [each for each in running.events() if isinstance(each, ConnectionOpened)]
    assert [(each.role, each.server) for each in opened[1:]] == [(Role.BROKER, vip_address)]


def accepting(run: object, context: ssl.SSLContext | None = None) -> tuple[str, threading.Thread]:
    """A server that serves one connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        sock, _ = listener.accept()
        sock.settimeout(60)
        if context is not None:
            sock = context.wrap_socket(sock, server_side=True)
        with sock, listener:
            run(sock)  # type: ignore[operator]

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return f"127.0.0.1:{listener.getsockname()[1]}", thread


def test_each_side_can_end_while_the_other_sends(tmp_path: Path) -> None:
    def serve(sock: socket.socket) -> None:
        peer = Peer(sock)
        assert peer.frame().header.code == 105
        assert sock.recv(1) == b""
        sock.sendall(request(0, None, b"late", flag=1))

    address, thread = accepting(serve)
    with recording(tmp_path / "session", address) as running:
        client = Peer.to(running.address)
        client.sock.sendall(request(105))
        client.sock.shutdown(socket.SHUT_WR)
        assert client.frame().body == b"late"
        assert client.sock.recv(1) == b""
        client.close()
        thread.join(60)
    ends = [each for each in running.events() if isinstance(each, StreamEnded)]
    assert [(each.source, each.reason) for each in ends] == [(StreamSource.CLIENT, ""), (StreamSource.SERVER, "")]


def test_a_reader_that_does_not_read_stops_the_sender(tmp_path: Path) -> None:
    go_on = threading.Event()
    chunk = request(10, None, bytes(1 << 20))
    received = 0

    def serve(sock: socket.socket) -> None:
        nonlocal received
        assert go_on.wait(60)
        while data := sock.recv(1 << 20):
            received += len(data)

    address, thread = accepting(serve)
    with recording(tmp_path / "session", address) as running:
        client = Peer.to(running.address)
        client.sock.settimeout(1)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < len(chunk) * 100:
                sent += client.sock.send(memoryview(chunk)[sent % len(chunk) :])
        assert sent < len(chunk) * 100  # else the proxy would have taken all
        go_on.set()
        client.close()
        thread.join(60)
    assert received == sent


def test_connections_to_the_endpoint_can_be_encrypted(tmp_path: Path) -> None:
    authority = trustme.CA()
    server, client = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)

    def serve(sock: socket.socket) -> None:
        Peer(sock).frame()
        sock.sendall(request(0, None, b"over TLS", flag=1))
        sock.recv(1)

    address, thread = accepting(serve, server)
    with recording(tmp_path / "session", address, tls=client) as running:
        peer = Peer.to(running.address)
        assert peer.ask(105).body == b"over TLS"
        peer.close()
        thread.join(60)
    assert len(frames_of(running.path)) == 2


def test_a_missing_server_ends_the_connection(tmp_path: Path) -> None:
    with listen(LOCAL) as closed:
        port = port_of(closed)
    with recording(tmp_path / "session", f"127.0.0.1:{port}") as running:
        client = Peer.to(running.address)
        assert client.sock.recv(1) == b""
        client.close()
    (end,) = [each for each in running.events() if isinstance(each, StreamEnded)]
    assert end.source is StreamSource.SERVER
    assert "refused" in end.reason


def test_a_client_that_resets_its_connection_ends_it(tmp_path: Path) -> None:
    ended = threading.Event()

    def serve(sock: socket.socket) -> None:
        Peer(sock).frame()
        assert sock.recv(1) == b""
        ended.set()

    address, _ = accepting(serve)
    with recording(tmp_path / "session", address) as running:
        client = Peer.to(running.address)
        client.sock.sendall(request(105))
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        while len(frames_of_growing(running.path)) < 1:
            time.sleep(0.05)
        client.close()
        assert ended.wait(60)
    ends = [each for each in running.events() if isinstance(each, StreamEnded)]
    assert ends[0].source is StreamSource.CLIENT
    assert "reset" in ends[0].reason


def frames_of_growing(path: Path) -> list[RecordedFrame]:
    try:
        return frames_of(path)
    except Exception:  # noqa: BLE001 - nothing is flushed yet
        return []


def test_the_file_grows_while_it_is_recorded(tmp_path: Path) -> None:
    def serve(sock: socket.socket) -> None:
        Peer(sock).frame()
        sock.sendall(request(0, flag=1))
        sock.recv(1)

    address, _ = accepting(serve)
    with recording(tmp_path / "session", address) as running:
        client = Peer.to(running.address)
        client.ask(105)
        end = time.monotonic() + 60
        while len(frames_of_growing(running.path)) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        client.close()


def test_an_address_in_use_is_an_error(tmp_path: Path) -> None:
    with listen(LOCAL) as taken, pytest.raises(CannotListen, match="in use"):
        listen(Address(host="127.0.0.1", port=port_of(taken)))
    with pytest.raises(CannotListen):
        listen(Address(host="no.such.host.invalid", port=1))


def test_a_full_disk_ends_the_recording_with_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RecordingWriter(str(tmp_path / "session"))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rocketwire.capture.file.writer.os.write", full)
    proxy = RecordingProxy(
        Upstream(name_servers=(LOCAL,)), writer, options=RecordingOptions(), now=lambda: 1, warn=print
    )
    with pytest.raises(RecordingUnwritable, match="No space left"):
        trio.run(partial(proxy.run, listen(LOCAL), host="127.0.0.1", wall=0, program="", ready=lambda _: None))
    with pytest.raises(RecordingUnwritable):
        writer.close()


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_clients_get_the_address_by_which_they_reach_the_proxy(wildcard: str, tmp_path: Path) -> None:
    listened = Address(host=wildcard, port=0)
    with (
        real_endpoint(tmp_path / "store") as endpoint,
        recording(tmp_path / "session", str(endpoint.name_server), listen=listened) as running,
    ):
        client = Peer.to(Address(host="127.0.0.1", port=running.address.port))
        (reported,) = broker_addresses(bytes(client.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body))
        broker = Peer.to(parse_address(reported))
        broker.ask(RequestCode.GET_BROKER_CONFIG)
        broker.close()
        client.close()
    assert parse_address(reported).host == "127.0.0.1"
    assert all(each.client.startswith("127.0.0.1:") for each in running.events() if isinstance(each, ConnectionOpened))
