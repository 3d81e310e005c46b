"""The server as a process: start, stop, and faults of its environment."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import resource
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from tests.server.harness import consumer, heartbeat, pull_ext, records, send_ext, subscription
from tests.server.hurried import EXPIRY_SECONDS
from tests.server.processes import Caller, Process, eventually, open_files, process, work_of

pytestmark = pytest.mark.slow

MIB = 1 << 20
DAY = 24 * 3_600_000
IDLE_CONNECTIONS = 10_000
LONG = 50.0
"""Seconds that no stop takes, even on a machine that is busy otherwise; the work of one is 0.2 s."""
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE = 1


# --- start and stop ---


def test_the_ready_line_names_both_addresses(tmp_path: Path) -> None:
    server = Process(tmp_path / "store")
    line = server.wait_ready()
    assert line.startswith(f"rocketwire ready: name server {server.name_server}, broker {server.broker}, store ")
    assert server.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_quickly_and_it_starts_again(tmp_path: Path, number: signal.Signals) -> None:
    store = tmp_path / "store"
    with process(store) as server, Caller(server.broker) as client:
        client.create_topic("T")
        assert client.send("T", b"kept").header.code == 0
        client.write(client.frame(11, pull_ext("T", 1, sys_flag=6, suspend_timeout_millis=60_000)))  # waits
        started = time.monotonic()
        code, errors = server.end(number)
        assert code == 0
        assert time.monotonic() - started < LONG  # it does not wait for the pull
        assert f"stopping: {number.name}" in errors
        assert "Traceback" not in errors
    assert not (store / "abort").exists()
    with process(store) as server, Caller(server.broker) as client:
        assert client.bodies("T") == [b"kept"]


def test_a_signal_stops_it_under_load(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with process(store) as server, Caller(server.broker) as client:
        client.create_topic("T")
        one = client.frame(310, send_ext("T"), bytes(100))
        server.popen.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):
            while True:
                client.write(one * 50)
        code, errors = server.result()
        assert code == 0
        assert "Traceback" not in errors


def refused(server: Process) -> str:
    """The one line with which a server refused to start."""
    code, errors = server.result()
    assert code == 2
    lines = [line for line in errors.splitlines() if " INFO opening the store " not in line]
    assert len(lines) == 1, errors
    assert lines[0].startswith("rocketwire: ")
    return lines[0]


def test_a_store_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("sun")
    assert f"{file} cannot be used as a RocketMQ store: " in refused(Process(file))


def test_a_store_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir(mode=0o555)

    def without_roots_privilege() -> None:
        if os.getuid() == 0:  # nothing is read-only for root, unless this capability is removed from its children
            ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)

    line = refused(Process(store, before=without_roots_privilege))
    assert line == f"rocketwire: store {store}/lock cannot be written: Permission denied"


# --- the clock ---


def test_no_peer_is_forgotten_after_a_clock_change_or_a_standstill(tmp_path: Path) -> None:
    ahead = tmp_path / "ahead"
    ahead.write_text("0")
    with (
        process(tmp_path / "store", module=("tests.server.hurried", str(ahead))) as server,
        Caller(server.broker) as client,
        Caller(server.broker) as member,
        Caller(server.name_server) as name_server,
    ):

        def remembered() -> tuple[int, int]:
            """The codes of the answers to a query of the group's members, and of a route to the broker."""
            members = client.request(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "G"})
            return members.header.code, name_server.request(
                RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}
            ).header.code

        client.create_topic("T")
        heart_beat = member.frame(RequestCode.HEART_BEAT, body=heartbeat("one", consumer("G", subscription("T"))))
        member.write(heart_beat)
        assert eventually(lambda: remembered() == (0, 0))
        stored: list[int] = []
        for jump in (0, DAY, -DAY, 0):
            (tmp_path / "new").write_text(str(jump))
            (tmp_path / "new").replace(ahead)  # it is read throughout
            assert client.send("T").header.code == 0
            (message,) = records(client.request(RequestCode.PULL_MESSAGE, pull_ext("T", len(stored))).body)
            stored.append(message.store_timestamp)
            until = time.monotonic() + EXPIRY_SECONDS / 3
            while time.monotonic() < until:
                member.write(heart_beat)  # its answers wait in the socket
                time.sleep(0.1)
                assert remembered() == (0, 0)
        assert [round((after - before) / DAY) for before, after in itertools.pairwise(stored)] == [1, -2, 1]
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(EXPIRY_SECONDS + 2)
        os.kill(server.pid, signal.SIGCONT)
        until = time.monotonic() + EXPIRY_SECONDS / 3
        while time.monotonic() < until:
            assert remembered() == (0, 0)
            time.sleep(0.1)
        assert eventually(lambda: remembered() == (1, 0))  # it has sent nothing since
        code, errors = server.end()
        assert code == 0
        assert "Traceback" not in errors


# --- kill -9 ---


def test_every_acknowledged_message_outlives_kill_9_in_order_and_once(tmp_path: Path) -> None:
    store = tmp_path / "store"
    options = ("--set", "flushDiskType=SYNC_FLUSH", "--set", "mappedFileSizeCommitLog=1048576")
    acknowledged: dict[int, list[int]] = {}
    for round_number in range(3):
        with process(store, *options) as server:
            if not round_number:
                with Caller(server.broker) as client:
                    client.create_topic("T", 4)
            threads = [
                threading.Thread(target=_send_until_killed, args=(server, queue_id, acknowledged))
                for queue_id in range(4)
            ]
            for thread in threads:
                thread.start()
            before = sum(map(len, acknowledged.values()))
            assert eventually(lambda: sum(map(len, acknowledged.values())) > before + 600)  # noqa: B023 - at once
            server.end(signal.SIGKILL)
            for thread in threads:
                thread.join()
    with process(store, *options) as server, Caller(server.broker) as client:
        for queue_id in range(4):
            found = [int(body[:8]) for body in client.bodies("T", queue_id)]
            assert len(found) == len(set(found))
            assert found == sorted(found)
            assert set(acknowledged[queue_id]) <= set(found)


def _send_until_killed(server: Process, queue_id: int, acknowledged: dict[int, list[int]]) -> None:
    """Send numbered messages, 16 in flight; note the numbers that were acknowledged."""
    mine = acknowledged.setdefault(queue_id, [])
    number = 1000 * (1 + (max(mine, default=0) // 1000)) if mine else 0
    sent: dict[int, int] = {}
    with Caller(server.broker) as client, contextlib.suppress(OSError):
        while True:
            while len(sent) < 16:
                data = client.frame(310, send_ext("T", queue_id=queue_id), b"%08d" % number + bytes(200))
                sent[client._opaque] = number
                number += 1
                client.write(data)
            answer = client.receive()
            assert answer.header.code == 0
            mine.append(sent.pop(answer.header.opaque))


# --- a full disk ---


def test_a_disk_that_is_full_refuses_sends_keeps_messages_and_recovers(tmp_path: Path) -> None:
    """The limit on the size of files, set from outside, is a disk that becomes full and empty again."""
    store = tmp_path / "store"
    options = ("--set", "mappedFileSizeCommitLog=1048576", "--set", "mappedFileSizeConsumeQueue=20000")
    with process(store, *options) as server, Caller(server.broker) as client:
        client.create_topic("T")
        number = 0
        while number < 100:
            assert client.send("T", b"%08d" % number + bytes(1000)).header.code == 0
            number += 1
        unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, unlimited[1]))
        while True:
            answer = client.send("T", b"%08d" % number + bytes(1000))
            if answer.header.code:
                break
            number += 1
            assert number < 5000
        assert answer.header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert answer.header.remark is not None
        assert answer.header.remark.startswith("service not available now. It may be caused by")
        assert client.send("T", bytes(1000)).header.code == ResponseCode.SERVICE_NOT_AVAILABLE
        assert len(client.bodies("T")) == number  # reading continues
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        for _ in range(2000):
            assert client.send("T", b"%08d" % number + bytes(1000)).header.code == 0
            number += 1
        expected = [b"%08d" % each for each in range(number)]
        assert [body[:8] for body in client.bodies("T")] == expected
        code, errors = server.end()
        assert code == 0, errors
    with process(store, *options) as server, Caller(server.broker) as client:
        assert [body[:8] for body in client.bodies("T")] == expected


# --- many clients, bad clients ---


@pytest.fixture
def descriptors() -> None:
    """As many as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert hard > IDLE_CONNECTIONS + 500, f"this needs a limit of more than {IDLE_CONNECTIONS} open files"


@pytest.mark.usefixtures("descriptors")
def test_ten_thousand_idle_connections_cost_little(tmp_path: Path) -> None:
    idle: list[socket.socket] = []
    with process(tmp_path / "store") as server, Caller(server.broker) as client:
        client.create_topic("T")
        assert client.send("T").header.code == 0
        before = server.anonymous()
        try:
            for number in range(IDLE_CONNECTIONS):
                sock = socket.socket()
                idle.append(sock)
                sock.bind((f"127.0.0.{2 + number // 5000}", 0))
                sock.connect(("127.0.0.1", server.port))
            assert eventually(lambda: open_files(server.pid) > IDLE_CONNECTIONS)
            worked = work_of(server.pid)
            for _ in range(100):
                assert client.send("T").header.code == 0
            assert work_of(server.pid) - worked < 5
            each = (server.anonymous() - before) / IDLE_CONNECTIONS
            assert each < 16 * 1024
        finally:
            for sock in idle:
                sock.close()
        assert eventually(lambda: open_files(server.pid) < 100)
        assert client.send("T").header.code == 0
        assert server.end()[0] == 0
