"""5.x clients that read nothing, at a server and a proxy: others are answered, and the memory is released."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

from rocketwire.wire.addresses import Address, parse_address
from tests.server.grpc.sdk import SERVICE, receive_request
from tests.server.processes import Caller, Process, anonymous, eventually, process, work_for_others
from tests.server.proxy.process import ProxyProcess

MIB = 1 << 20
CLIENTS = 12
RECEIVES = 100
MESSAGES, BODY = 250, 100_000
"""25 MB for each client, which has a separate group."""
EACH = 12 * MIB
"""More than a client gets: 4 MiB of answers and those of one step, and their records."""
WORK = 0.05
"""Seconds of work before another client is answered, 95 of 100 times."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("store")) as running:
        with Caller(running.broker) as caller:
            caller.create_topic("T", 4)
            caller.create_topic("quiet")
            for number in range(MESSAGES):
                caller.send("T", bytes(BODY), queue_id=number % 4)
        yield running


@pytest.fixture(scope="module")
def proxy(server: Process) -> Iterator[ProxyProcess]:
    made = ProxyProcess(server.name_server)
    yield made
    made.stop()


class Deaf:
    """A client whose windows are closed."""

    def __init__(self, address: Address, number: int) -> None:
        self.sock = socket.create_connection((address.host, address.port))
        http2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        http2.initiate_connection()
        http2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
        request = receive_request(f"G{number}", invisible=3600, polling=5).SerializeToString()
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": f"{SERVICE}ReceiveMessage",
            ":authority": "localhost:1",
            "te": "trailers",
            "content-type": "application/grpc",
            "x-mq-client-id": f"deaf@{number}@0@x",
            "x-mq-language": "JAVA",
            "x-mq-client-version": "5.2.0",
        }
        for _ in range(RECEIVES):
            stream = http2.get_next_available_stream_id()
            http2.send_headers(stream, list(headers.items()))
            http2.send_data(stream, b"\0" + len(request).to_bytes(4) + request, end_stream=True)
        self.sock.sendall(http2.data_to_send())


def send(caller: Caller) -> None:
    assert caller.send("quiet").header.code == 0


@pytest.mark.slow
@pytest.mark.parametrize("way", ["server", "proxy"])
def test_unread_answers_to_receives_are_bounded(server: Process, proxy: ProxyProcess, way: str) -> None:
    pid, broker, names = (
        (server.pid, server.broker, server.broker) if way == "server" else (proxy.pid, proxy.broker, proxy.names)
    )
    before = anonymous(pid)
    with work_for_others(pid, broker, send) as took:
        deaf = [Deaf(parse_address(names), number + 100 * (way == "proxy")) for number in range(CLIENTS)]
        time.sleep(2.0)
        most = anonymous(pid) - before
        for each in deaf:
            each.sock.close()
        assert eventually(lambda: anonymous(pid) - before < 40 * MIB, 20.0), (anonymous(pid) - before) // MIB
        time.sleep(0.5)
    assert most < CLIENTS * EACH
    assert len(took) > 40
    assert sorted(took)[int(len(took) * 0.95)] <= WORK
    assert max(took) < 0.5
