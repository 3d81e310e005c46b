"""A client that connects and closes thousands of times a second, at a real process: others are answered meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from rocketwire.wire.facts.codes import ResponseCode
from tests.server.connection_flood import PREFACE
from tests.server.processes import ROOT, Caller, Process, anonymous, open_files, process, work_of
from tests.server.proxy.process import ProxyProcess

RATE = 6000
SECONDS = 1.0
WORK = 0.05
"""The most seconds of work of the server before it answers a connected client, 97 of 100 times."""
UNKNOWN = 9999
"""An unknown code: Python answers it, in the event loop."""
MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(server: Process) -> Iterator[ProxyProcess]:
    made = ProxyProcess(server.name_server)
    yield made
    made.stop()


def check_others_wait_shortly(pid: int, address: str, flooded: str, kind: str) -> None:
    """A client connected to one address does not wait while others connect to another one and leave at once."""
    memory, most_descriptors, work = anonymous(pid), 0, list[float]()
    with Caller(address) as caller, Caller(address) as first:
        first.write(PREFACE)
        assert first.sock.recv(
            1
        )  # the modules that such clients need are imported with the first of them, which takes 0.2 s
        caller.request(UNKNOWN)
        port = flooded.rpartition(":")[2]
        flood = [sys.executable, "-m", "tests.server.connection_flood", port, str(RATE), str(SECONDS), kind]
        with subprocess.Popen(flood, cwd=ROOT, stdout=subprocess.PIPE, text=True) as flooding:
            while flooding.poll() is None:
                before = work_of(pid)
                assert caller.request(UNKNOWN).header.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
                work.append(work_of(pid) - before)
                most_descriptors = max(most_descriptors, open_files(pid))
                time.sleep(0.005)
            assert flooding.stdout is not None
            assert int(flooding.stdout.read()) > RATE * SECONDS / 10
    assert len(work) > 10
    assert sorted(work)[int(len(work) * 0.97)] <= WORK
    assert most_descriptors < 2500
    assert anonymous(pid) - memory < 30 * MIB
    with Caller(flooded) as later:  # and later clients are served
        assert later.request(UNKNOWN).header.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["silent", "http2", "tls", "frame"])
def test_connected_clients_do_not_wait_for_those_who_connect_and_leave(server: Process, kind: str) -> None:
    check_others_wait_shortly(server.pid, server.broker, server.broker, kind)


@pytest.mark.slow
def test_clients_of_a_proxy_do_not_wait_for_them_either(proxy: ProxyProcess) -> None:
    check_others_wait_shortly(proxy.pid, proxy.names, proxy.names, "http2")


@pytest.mark.slow
def test_clients_of_a_proxys_broker_port_do_not_wait_for_them_either(proxy: ProxyProcess) -> None:
    check_others_wait_shortly(proxy.pid, proxy.names, proxy.broker, "frame")
