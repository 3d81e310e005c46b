"""The account of bytes in flight: alone, under both drivers, and as clients see it through a whole server."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import socket
import struct
import termios
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission import in_flight
from rocketwire.server.net.admission.in_flight import (
    FREED_AGAIN,
    FREED_LEAST,
    FreedMemory,
    InFlight,
    return_free_memory,
)
from rocketwire.server.net.driver import ConnectionDriver, FrameDriver
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.facts.codes import RequestCode
from tests.server.harness import (
    Client,
    Clock,
    account,
    code_and_remark,
    mock_clock,
    pull_ext,
    run,
    send_ext,
    serving,
    settle,
)

KIB = 1 << 10
MIB = 1 << 20
V2 = RequestCode.SEND_MESSAGE_V2


class Holder:
    """Holds bytes since some time."""

    def __init__(self, owner: InFlight, held: int, last_sign_of_life: float, silent_since: float = 0.0) -> None:
        self._owner = owner
        self.held = held
        self.last_sign_of_life = last_sign_of_life
        self.silent_since = silent_since
        self.remote_text = f"192.0.2.1:{held}"
        self.error: LimitExceeded | None = None
        owner.add(held)

    def refuse(self, error: LimitExceeded) -> None:
        self.error = error
        self._owner.add(-self.held)
        self.held = 0


async def test_much_memory_is_given_back_in_steps(nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving back 240 MiB at once takes more than 50 ms."""
    given: list[int] = []
    owners: list[InFlight] = []
    name = "rocketwire.server.net.admission.in_flight.return_free_memory"
    monkeypatch.setattr(name, lambda: given.append(owners[0].counted))
    owner = account(max_in_flight_bytes=512 * MIB)
    owners.append(owner)
    nursery.start_soon(owner.run)
    owner.add(240 * MIB)
    await settle()
    for _ in range(240):
        owner.add(-MIB)
        await settle()
    assert given == [176 * MIB, 112 * MIB, 48 * MIB]


async def test_those_that_hold_bytes_longest_are_refused_until_an_eighth_is_free(nursery: trio.Nursery) -> None:
    owner = account(max_in_flight_bytes=8 * MIB)
    nursery.start_soon(owner.run)
    first: list[Any] = [Holder(owner, 2 * MIB, at) for at in (3.0, 1.0)]
    others: list[Any] = [Holder(owner, 2 * MIB, at) for at in (2.0, 4.0)]
    idle: Any = Holder(owner, 0, 0.0)
    owner.register_holders(first)
    owner.register_holders([*others, idle])
    await settle()
    assert [each.error for each in (*first, *others, idle)] == [None] * 5
    owner.count_hub(SimpleNamespace(held=1))
    owner.check_limit()
    await settle()
    assert [str(each.error).partition(", ")[2] for each in (*first, *others, idle)] == [
        "",
        "start flow control for a while, maxInFlightBytes=8388608",
        "",
        "",
        "",
    ]
    assert owner.total == 6 * MIB + 1
    assert owner.limits.metrics.limited == {"maxInFlightBytes": 1}
    owner.make_room()
    assert owner.total == 6 * MIB + 1
    nursery.cancel_scope.cancel()


async def test_silent_connections_are_refused_before_slow_ones() -> None:
    owner = account(max_in_flight_bytes=8 * MIB)
    mock_clock().jump(10)
    now = trio.current_time()
    slow: Any = Holder(owner, 3 * MIB, now - 5, now - 0.02)
    left: Any = Holder(owner, 3 * MIB, now - 2, now - 2)
    fresh: Any = Holder(owner, 3 * MIB, now - 0.5, now - 0.5)
    owner.register_holders([slow, fresh, left])
    owner.make_room()
    assert [each.held for each in (slow, left, fresh)] == [3 * MIB, 0, 3 * MIB]
    owner.add(3 * MIB)
    owner.make_room()
    assert [each.held for each in (slow, fresh)] == [0, 3 * MIB]


# --- both drivers ---


class Echo:
    """Answers each frame with as many bytes as its body requests."""

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        for number, frame in enumerate(frames, 1):
            wanted = bytes(frame.body[:8])
            session.write(bytes(int(wanted) if wanted.strip().isdigit() else 5))
            if session.pauses:
                return number
        return len(frames)

    def send_request(self, session: Session, _header: Any, frame: bytes) -> None:
        session.write(frame)

    def settle(self) -> None:
        pass


class Connections:
    """Sessions under one driver, and their other ends."""

    def __init__(self, kind: str, nursery: trio.Nursery) -> None:
        self.account = account()
        self._nursery = nursery
        self._ids = itertools.count()
        kernel = hub_kernel() if kind == "hub" else None
        self._hub = None if kernel is None else Hub(kernel, clock=Clock(), in_flight=self.account)
        if self._hub is not None:
            nursery.start_soon(self._hub.run)
        self.open: dict[int, tuple[Session, socket.socket]] = {}

    def connect(self) -> None:
        near, far = socket.socketpair()
        for sock in (near, far):
            sock.settimeout(0)
        number = next(self._ids)
        session = Session(
            near,
            ("127.0.0.1", 5),
            dispatcher=Echo(),
            drive=self._drive if self._hub is None else self._hub.drive,
            nursery=self._nursery,
            on_close=lambda _: self.open.pop(number)[1].close(),
            in_flight=self.account,
        )
        self.open[number] = session, far

    def _drive(self, sock: socket.socket, session: Session) -> ConnectionDriver:
        driver = FrameDriver(sock, session, settle=lambda: None)
        self._nursery.start_soon(driver.run)
        return driver

    def check(self) -> None:
        assert self.account.total == sum(session.held for session, _ in self.open.values())
        assert self.account.counted >= 0
        assert self.account.total >= 0

    def close(self) -> None:
        for session, _ in list(self.open.values()):
            session.close()


def frame(body: bytes) -> bytes:
    return struct.pack(">iI", 4 + len(body), 0) + body


steps = st.lists(
    st.tuples(
        st.sampled_from(["connect", "send", "part", "large", "ask", "read", "leave", "close", "refuse", "call"]),
        st.integers(0, 3),
        st.integers(1, 400_000),
    ),
    max_size=25,
)


@pytest.mark.parametrize("kind", ["hub", "task"])
@settings(max_examples=30, deadline=None)
@given(steps=steps)
def test_the_account_equals_what_open_connections_hold_and_nothing_at_the_end(
    kind: str, steps: list[tuple[str, int, int]]
) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            made = Connections(kind, nursery)
            made.connect()
            for action, which, size in steps:
                if action == "connect":
                    made.connect()
                elif made.open:
                    step(made, action, which, size)
                await settle()
                made.check()
            made.close()
            made.check()
            assert made.account.total == 0
            nursery.cancel_scope.cancel()

    run(main)


def step(made: Connections, action: str, which: int, size: int) -> None:
    session, far = list(made.open.values())[which % len(made.open)]
    data = {
        "send": frame(b"%8d" % 10),
        "part": frame(bytes(size))[: -size // 2],
        "large": frame(b"%8d" % 0 + bytes(size)),
        "ask": frame(b"%8d" % (10 * size)) * 3,
    }.get(action)
    if data is not None:
        with contextlib.suppress(BlockingIOError):
            far.send(data)
    elif action == "read":
        with contextlib.suppress(BlockingIOError):
            far.recv(size * 5)
    elif action == "leave":
        far.shutdown(socket.SHUT_RDWR)
    elif action == "close":
        session.close()
    elif action == "refuse":
        session.refuse(LimitExceeded("maxInFlightBytes", 5))
    elif action == "call":
        session.call(220, {}, bytes(size), seconds=5, done=lambda _: None)


# --- whole servers ---


@pytest.mark.usefixtures("driver")
async def test_a_frame_beyond_the_limit_is_answered_from_its_header(tmp_path: Path) -> None:
    async with serving(tmp_path, max_frame_bytes=64 * KIB) as server:
        client = server.broker()
        await client.create_topic("T")
        one = client.frame(V2, send_ext("T"), bytes(60 * KIB))
        await client.write(one)
        assert (await client.receive()).header.code == 0
        long = client.frame(V2, send_ext("T"), bytes(64 * KIB), opaque=77)
        await client.write(one + long[:5000])
        assert (await client.receive()).header.code == 0
        answer = await client.receive()
        assert (answer.header.opaque, *code_and_remark(answer)) == (
            77,
            13,
            f"[REJECTREQUEST]frame of {len(long)} bytes is too long, maxFrameBytes=65536",
        )
        client.sock.shutdown(socket.SHUT_WR)
        assert await client.ended()


@pytest.mark.usefixtures("driver")
async def test_a_frame_that_no_connection_may_hold_is_refused_from_its_header(tmp_path: Path) -> None:
    async with serving(tmp_path, max_in_flight_bytes_per_connection=128 * KIB) as server:
        client = server.broker()
        await client.write(client.frame(V2, send_ext("T"), bytes(128 * KIB))[: 100 * KIB])
        code, remark = code_and_remark(await client.receive())
        assert code == 13
        assert remark is not None
        assert remark.endswith("maxInFlightBytesPerConnection=131072")
        await server.pass_time(1.1)
        assert await client.ended()


@pytest.mark.usefixtures("driver")
async def test_the_longest_frame_is_configured_at_the_start(tmp_path: Path) -> None:
    async with serving(tmp_path, max_in_flight_bytes_per_connection=128 * KIB) as server:
        client = server.broker()
        for changed, size, code in ((64, 100 * KIB, 0), (256, 100 * KIB, 0), (256, 200 * KIB, 13)):
            body = f"maxInFlightBytesPerConnection={changed * KIB}".encode()
            assert (await client.request(RequestCode.UPDATE_BROKER_CONFIG, body=body)).header.code == 0
            assert (await client.send("T", bytes(size))).header.code == code


async def test_a_reader_waits_for_room_if_room_can_be_made(nursery: trio.Nursery) -> None:
    owner = account(max_in_flight_bytes=1000)
    nursery.start_soon(owner.run)
    holder = Holder(owner, 900, 0.0)
    owner.register_holders([holder])
    await owner.wait_for_room()
    assert holder.error is None
    more = Holder(owner, 200, 1.0)
    await owner.wait_for_room()  # the older one was requested to end, and has not: nothing more can be done
    assert (holder.error is not None, more.error) == (True, None)
    owner.add(-900)
    await owner.wait_for_room()
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize("kind", ["hub", "reader"])
async def test_a_frame_that_is_too_long_counts_though_its_header_cannot_be_read(
    kind: str, nursery: trio.Nursery
) -> None:
    connections = Connections(kind, nursery)
    connections.connect()
    ((_, far),) = connections.open.values()
    far.send(struct.pack(">ii", 50_000_004, 100) + b"{" * 100)
    await settle()
    assert connections.open == {}
    assert connections.account.limits.metrics.limited == {"maxFrameBytes": 1}
    nursery.cancel_scope.cancel()


async def arrives(client: Client) -> None:
    """Wait until the server has received all written bytes: on a busy machine loopback delivers them later."""
    while any(fcntl.ioctl(client.sock, termios.TIOCOUTQ, bytes(4))):
        await trio.lowlevel.checkpoint()
    await settle()


@pytest.mark.usefixtures("driver")
async def test_half_sent_frames_are_refused_for_newer_ones(tmp_path: Path) -> None:
    async with serving(tmp_path, max_in_flight_bytes=2 * MIB) as server:
        honest = server.broker()
        await honest.create_topic("T")
        hostile = [server.broker() for _ in range(4)]
        for number, client in enumerate(hostile):
            await client.write(client.frame(V2, send_ext("T"), bytes(MIB), opaque=number)[: 590 * KIB])
            await arrives(client)
            await server.pass_time(0.1)
        (answer,) = await hostile[0].arrived()
        assert (answer.header.opaque, *code_and_remark(answer)) == (
            0,
            2,
            "[REJECTREQUEST]system busy, start flow control for a while, maxInFlightBytes=2097152",
        )
        assert await hostile[1].arrived() == []
        # More than is free, and less than each of the others holds, in whatever pieces it comes.
        assert (await honest.send("T", bytes(400 * KIB))).header.code == 0
        assert (await honest.send("T", bytes(10))).header.code == 0


@pytest.mark.usefixtures("driver")
async def test_unread_answers_are_bounded_for_one_connection(tmp_path: Path) -> None:
    async with serving(tmp_path, max_in_flight_bytes_per_connection=64 * KIB) as server:
        honest = server.broker()
        for number in range(20):
            await honest.create_topic(f"{number:0>100}")
        deaf = server.broker(receive_buffer=4096)
        await deaf.write(deaf.frame(RequestCode.GET_ALL_TOPIC_CONFIG) * 800)
        await settle()
        assert await deaf.ended()
        await honest.create_topic("T")
        assert (await honest.send("T")).header.code == 0


@pytest.mark.usefixtures("driver")
async def test_messages_sent_from_the_log_take_no_memory(tmp_path: Path) -> None:
    async with serving(tmp_path, max_in_flight_bytes=MIB, max_in_flight_bytes_per_connection=64 * KIB) as server:
        honest = server.broker()
        await honest.create_topic("T")
        for _ in range(60):
            await honest.send("T", bytes(50 * KIB))
        slow = [server.broker(receive_buffer=4096) for _ in range(3)]
        for client in slow:
            await client.write(client.frame(RequestCode.PULL_MESSAGE, pull_ext("T")) * 8)
        await settle()
        for client in slow:
            for _ in range(8):
                assert (await client.receive()).header.code == 0


def test_memory_is_given_back_when_the_bytes_in_flight_fall_and_sometimes_after() -> None:
    times: list[None] = []
    freed = FreedMemory(lambda: times.append(None))
    freed.look(FREED_LEAST, FREED_LEAST)
    freed.look(FREED_LEAST, 1)
    assert len(times) == 0
    freed.look(FREED_LEAST, 0)  # compared with the peak since the last time
    assert len(times) == 1
    for _ in range(2 * FREED_AGAIN):
        freed.look(0, 0)
    assert len(times) == FREED_AGAIN
    freed.look(FREED_LEAST, 0)
    assert len(times) == FREED_AGAIN + 1


def test_another_c_library_gives_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    return_free_memory()
    in_flight._trim.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    return_free_memory()
    assert in_flight._trim() is None
    in_flight._trim.cache_clear()
