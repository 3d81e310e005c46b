"""A client that connects and closes thousands of times a second, at a real process: others are answered meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.processes import cpu_seconds
from tests.server.harness import free_port
from tests.server.processes import ROOT, Caller, Process, process

RATE = 6000
SECONDS = 2.0
WORK = 0.05
"""Seconds of work that the server does at most before it answers a client that is connected, 99 of 100 times. The clock
of a busy machine also counts what others do; the processor's time is counted in hundredths."""
MIB = 1 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    grpc, http = free_port(), free_port()
    options = ("--set", f"grpcListen=127.0.0.1:{grpc}", "--http", f"127.0.0.1:{http}")
    with process(tmp_path_factory.mktemp("store"), *options) as running:
        with Caller(running.broker) as first:
            first.create_topic("T")
        yield running


def descriptors(server: Process) -> int:
    return sum(1 for _ in Path(f"/proc/{server.pid}/fd").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["silent", "http2", "tls", "frame"])
def test_who_is_connected_does_not_wait_for_those_who_come_and_leave(server: Process, kind: str) -> None:
    memory, most_descriptors, work = server.anonymous(), 0, list[float]()
    with Caller(server.broker) as caller:
        caller.send("T")
        flood = [sys.executable, "-m", "tests.server.connection_flood", str(server.port), str(RATE), str(SECONDS), kind]
        with subprocess.Popen(flood, cwd=ROOT, stdout=subprocess.PIPE, text=True) as flooding:
            while flooding.poll() is None:
                before = cpu_seconds(server.pid)
                assert caller.send("T").header.code == 0
                work.append(cpu_seconds(server.pid) - before)
                most_descriptors = max(most_descriptors, descriptors(server))
                time.sleep(0.005)
            assert flooding.stdout is not None
            assert int(flooding.stdout.read()) > RATE * SECONDS / 10
    assert len(work) > 20
    assert sorted(work)[int(len(work) * 0.99)] <= WORK
    assert most_descriptors < 2500
    assert server.anonymous() - memory < 30 * MIB
    with Caller(server.broker) as later:  # and who comes afterwards is served
        assert later.send("T").header.code == 0
