"""Hostile clients, against a real process: its memory stays bounded, and others are answered meanwhile."""

from __future__ import annotations

import contextlib
import resource
import select
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header
from tests.server.harness import pull_ext, send_ext
from tests.server.processes import Caller, Process, eventually, open_files, process, work_for_others

KIB = 1 << 10
MIB = 1 << 20
IN_FLIGHT = 64 * MIB
SETTINGS = ("--set", f"maxInFlightBytes={IN_FLIGHT}", "--set", "maxRequestsPerConnection=1000")
PATIENCE = 1.0
"""Seconds of work that the server does at most before it answers an honest client. By the clock it may be longer on a
busy machine, which is not its fault."""
ANSWERS = 5
LONGEST = 180.0
"""Seconds that a test waits for anything: a server with a thirtieth of a processor needs so long for its work."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with process(tmp_path_factory.mktemp("store"), *SETTINGS) as running:
            with Caller(running.broker) as first:
                first.create_topic("T")
                for number in range(60):
                    first.create_topic(f"{number:0>100}")
            yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def send(caller: Caller) -> None:
    assert caller.send("T", bytes(20 * KIB)).header.code == 0


@contextlib.contextmanager
def others_are_answered(server: Process, *, growth: int) -> Iterator[None]:
    """An honest client is answered while the block runs, and the process uses so many bytes more at most."""
    before = most = server.anonymous()
    with work_for_others(server.pid, server.broker, send, pause=0.01) as took:
        yield
        until = time.monotonic() + LONGEST
        while time.monotonic() < until and len(took) < ANSWERS:
            most = max(most, server.anonymous())
            time.sleep(0.02)
        most = max(most, server.anonymous())
    assert len(took) >= ANSWERS
    assert max(took) < PATIENCE
    assert most - before < growth


@contextlib.contextmanager
def connections(server: Process, count: int) -> Iterator[list[socket.socket]]:
    """So many non-blocking connections."""
    host, _, port = server.broker.rpartition(":")
    made: list[socket.socket] = []
    try:
        for _ in range(count):
            made.append(socket.create_connection((host, int(port)), timeout=LONGEST))
            made[-1].setblocking(False)
        yield made
    finally:
        for sock in made:
            sock.close()


def push(socks: list[socket.socket], data: bytes, *, seconds: float, enough: Callable[[], bool] = lambda: True) -> None:
    """Send the same on each, as far as it is accepted, for some seconds and until it is `enough`; skip closed ones."""
    rest = {sock: memoryview(data) for sock in socks}
    began = time.monotonic()
    while rest and (time.monotonic() < began + seconds or not (enough() or time.monotonic() > began + LONGEST)):
        _, writable, _ = select.select([], list(rest), [], 0.05) if len(rest) < 500 else ([], list(rest), [])
        for sock in writable:
            try:
                rest[sock] = rest[sock][sock.send(rest[sock][: 256 * KIB]) :]
            except BlockingIOError:
                continue
            except OSError:
                rest[sock] = rest[sock][:0]
            if not rest[sock]:
                del rest[sock]


def request(code: int, ext: dict[str, str] | None = None, body: bytes = b"") -> bytes:
    return encode_frame(Header(code=code, opaque=1, version=407, ext=ext), body)


def test_frames_that_never_end_use_bounded_memory(server: Process) -> None:
    """2,000 connections hold 256 KiB of a frame each, 512 MiB together.

    A part of a frame counts with its bytes; growing memory takes up to twice as much.
    """
    part = request(RequestCode.SEND_MESSAGE_V2, send_ext("T"), bytes(2 * MIB))[: 256 * KIB]
    with others_are_answered(server, growth=3 * IN_FLIGHT), connections(server, 2000) as socks:
        push(socks, part, seconds=4.0, enough=lambda: _many_answered(socks))
        assert eventually(lambda: _many_answered(socks), LONGEST)  # and got the reason
    assert eventually(lambda: open_files(server.pid) < 50, LONGEST)


def test_answers_that_are_never_read_use_bounded_memory(server: Process) -> None:
    """100 connections request 100 MiB of topic configurations each, and read nothing."""
    requests = request(RequestCode.GET_ALL_TOPIC_CONFIG) * 5000
    with others_are_answered(server, growth=3 * IN_FLIGHT), connections(server, 100) as socks:
        push(socks, requests, seconds=1.0)


def test_pulls_held_without_end_use_bounded_memory(server: Process) -> None:
    """20 connections have 5,000 pulls each."""
    held = request(RequestCode.PULL_MESSAGE, pull_ext(f"{7:0>100}", sys_flag=6, suspend_timeout_millis=30_000))
    with others_are_answered(server, growth=IN_FLIGHT), connections(server, 20) as socks:
        push(socks, held * 5000, seconds=2.0)


def test_heartbeats_of_16_mib_use_bounded_memory(server: Process) -> None:
    name = b'{"groupName":"%07d"},'
    body = b'{"clientID":"x","producerDataSet":[' + b"".join(name % number for number in range(600_000))[:-1] + b"]}"
    with others_are_answered(server, growth=IN_FLIGHT + 60 * MIB), connections(server, 3) as socks:
        push(socks, request(RequestCode.HEART_BEAT, body=body), seconds=20.0, enough=lambda: False)
        assert eventually(lambda: all(_answered(sock) for sock in socks), LONGEST)


def _many_answered(socks: list[socket.socket]) -> bool:
    return sum(_answered(sock) for sock in socks) > 200


def _answered(sock: socket.socket) -> bool:
    """Whether an answer came, or the end."""
    try:
        sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
