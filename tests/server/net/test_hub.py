"""The task that drives a hub. The hub's work for a connection: tests/kernel/test_hub; whole servers: test_session."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from rocketwire import native
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.monitoring.latencies import BOUNDS
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.net.output import HIGH_WATER
from rocketwire.server.net.reader import READ_BUFFER_BYTES
from rocketwire.server.net.session import Session
from rocketwire.server.send.drafts import SendDrafts
from rocketwire.wire.connection import RawFrame
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.header import Header
from tests.server.harness import Client, Clock, Server, account, mock_clock, records, send_ext, serving, settle
from tests.store.support import descriptors

V2 = RequestCode.SEND_MESSAGE_V2
FRAME = b"\0\0\0\x05\0\0\0\x01h"


class Echo:
    """A dispatcher that answers a byte for each frame, and records the order."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        self.events.append(f"serve {len(frames)}")
        session.write(b"a" * len(frames))
        return len(frames)

    def send_request(self, session: Session, _header: Any, frame: bytes) -> None:
        session.write(frame)

    def settle(self) -> None:
        self.events.append("settle")


class Idle:
    """A path that serves nothing."""

    native = None

    def __init__(self, events: list[str]) -> None:
        self._events = events

    def before_round(self, now: int, *, guarded: bool) -> None:
        self._events.append(f"{'guarded' if guarded else 'before'} {now}")

    def after_round(self) -> None:
        self._events.append("after")


class Passes(trio.abc.Instrument):
    """Counts the event loop's passes."""

    count = 0

    def after_io_wait(self, _timeout: float) -> None:
        """Called at the begin of a pass."""
        self.count += 1


@pytest.fixture
def echo() -> Echo:
    return Echo()


class Connections:
    """A running hub's sessions, and their other ends."""

    def __init__(self, echo: Echo, nursery: trio.Nursery, **options: Any) -> None:
        kernel = hub_kernel()
        assert kernel is not None
        self._account = account()
        self._hub = Hub(kernel, clock=Clock(7), settle=echo.settle, in_flight=self._account, **options)
        self._echo = echo
        self._nursery = nursery
        self._made: list[tuple[Session, socket.socket]] = []
        nursery.start_soon(self._hub.run)

    def new(self) -> socket.socket:
        """The other end of a new connection."""
        near, far = socket.socketpair()
        for sock in (near, far):
            sock.settimeout(0)
        session = Session(
            near,
            ("127.0.0.1", 5),
            dispatcher=self._echo,
            drive=self._hub.drive,
            nursery=self._nursery,
            on_close=lambda _: None,
            in_flight=self._account,
        )
        self._made.append((session, far))
        return far

    def close(self) -> None:
        """Close all of them, at both ends."""
        for session, far in self._made:
            session.close()
            far.close()


@pytest.fixture
async def connect(echo: Echo, nursery: trio.Nursery) -> AsyncIterator[Callable[..., Connections]]:
    """Creates a hub with some options."""
    made: list[Connections] = []

    def connect(**options: Any) -> Connections:
        made.append(Connections(echo, nursery, **options))
        return made[-1]

    yield connect
    for each in made:
        each.close()


def test_without_a_kernel_there_are_no_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "kernel", None)
    assert hub_kernel() is None
    monkeypatch.setattr(native, "kernel", object())
    assert hub_kernel() is None


def test_its_limits_equal_the_twins() -> None:
    kernel = hub_kernel()
    assert kernel is not None
    assert (kernel.HIGH_WATER, kernel.READ_BYTES) == (HIGH_WATER, READ_BUFFER_BYTES)


async def test_a_round_is_announced_served_and_reported(echo: Echo, connect: Callable[..., Connections]) -> None:
    made = connect(sends=Idle(echo.events))
    far = made.new()
    far.send(FRAME * 3)
    await settle()
    assert far.recv(10) == b"aaa"
    assert echo.events == ["before 7", "serve 3", "settle"]  # it served nothing


async def test_paths_learn_whether_python_must_see_every_request(
    echo: Echo, connect: Callable[..., Connections]
) -> None:
    rounds = [True, False]
    far = connect(sends=Idle(echo.events), pulls=Idle(echo.events), guarded=lambda: rounds.pop(0)).new()
    for _ in range(2):
        far.send(FRAME)
        await settle()
    assert echo.events == ["guarded 7", "guarded 7", "serve 1", "settle", "before 7", "before 7", "serve 1", "settle"]


async def test_an_error_after_a_round_is_logged(
    echo: Echo,
    connect: Callable[..., Connections],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def bug() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(echo, "settle", bug)
    made = connect()
    far = made.new()
    for _ in range(2):
        far.send(FRAME)
        await settle()
        assert far.recv(10) == b"a"
    assert caplog.text.count("ZeroDivisionError") >= 2


async def test_other_tasks_run_beside_a_flood(
    echo: Echo, connect: Callable[..., Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = connect()
    far = made.new()

    def again(session: Session, frames: list[RawFrame]) -> int:
        mock_clock().jump(0.0001)
        far.send(FRAME)  # there are always more bytes
        return len(frames)

    monkeypatch.setattr(echo, "serve", again)
    far.send(FRAME)
    with trio.fail_after(120):
        for _ in range(50):
            await trio.lowlevel.checkpoint()


async def test_rounds_are_single_passes_if_that_is_requested(
    echo: Echo, connect: Callable[..., Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = connect(single_turns=lambda: True)
    passes = Passes()
    trio.lowlevel.add_instrument(passes)
    served: list[int] = []
    fars = [made.new() for _ in range(4)]

    def slowly(session: Session, frames: list[RawFrame]) -> int:
        sum(range(200_000))  # longer than a round may take
        served.append(passes.count)
        fars[0].send(FRAME)
        return len(frames)

    monkeypatch.setattr(echo, "serve", slowly)
    for far in fars[1:]:
        far.send(FRAME)
    while not served:
        await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(passes)
    assert served[:3] == [served[0]] * 3
    assert served[3:4] != [served[0]]


async def test_rounds_continue_though_no_more_bytes_arrive(
    echo: Echo, connect: Callable[..., Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_by_one(session: Session, frames: list[RawFrame]) -> int:
        sum(range(200_000))  # longer than a round may take
        session.request_yield()
        session.write(b"a")
        return 1

    monkeypatch.setattr(echo, "serve", one_by_one)
    made = connect()
    fars = [made.new() for _ in range(3)]
    for far in fars:
        far.send(FRAME * 5)
    await settle()
    assert [far.recv(10) for far in fars] == [b"aaaaa"] * 3


async def test_the_end_of_the_hub_closes_all_descriptors(echo: Echo) -> None:
    before = descriptors()
    async with trio.open_nursery() as nursery:
        made = Connections(echo, nursery)
        made.new().send(FRAME)
        await settle()
        nursery.cancel_scope.cancel()
    made.new()  # accepted in the very pass that ends the hub
    made.close()
    assert not descriptors() - before


async def test_busy_polling_pauses_after_it_found_nothing() -> None:
    kernel = hub_kernel()
    assert kernel is not None
    hub = Hub(kernel, clock=Clock(7), in_flight=account())
    polls: list[bool] = []
    after = 10

    class Polled:
        def ready(self) -> bool:
            polls.append(len(polls) == after)
            return polls[-1]

    hub._native.close()
    hub._native = Polled()

    def count_polls() -> int:
        polls.clear()
        hub._ready()
        return len(polls)

    assert [count_polls() for _ in range(3)] == [11] * 3
    after = 1000
    counts = [count_polls() for _ in range(40)]
    assert counts == [41] + [1] * 32 + [41] + [1] * 6
    after = 0
    assert count_polls() == 1


# --- in a whole server ---


class Watch:
    """A guard that refuses nothing and records the codes of the requests."""

    active = False

    def __init__(self) -> None:
        self.codes: list[int] = []

    def admit(self, _peer: Any, header: Header, _body: memoryview, _proof: Any = None) -> None:
        self.codes.append(header.code)


async def test_a_guard_sees_requests_while_it_is_active(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch()
    make, serve = FrameDispatcher.__init__, FrameDispatcher.serve
    by_python = 0

    def guarded(self: FrameDispatcher, *args: Any, **options: Any) -> None:
        make(self, *args, **{**options, "guards": [watch]})

    def counted(self: FrameDispatcher, session: Session, frames: list[RawFrame]) -> int:
        nonlocal by_python
        by_python += len(frames)
        return serve(self, session, frames)

    monkeypatch.setattr(FrameDispatcher, "__init__", guarded)
    monkeypatch.setattr(FrameDispatcher, "serve", counted)
    async with serving(tmp_path) as server:
        client = server.broker()
        await client.create_topic("T")
        await client.send("T")  # which creates the queue
        for active, frames in ((False, 0), (True, 2), (False, 0)):
            watch.active, by_python = active, 0
            assert (await client.send("T")).header.code == 0
            assert len(records((await client.pull("T")).body)) > 0
            assert by_python == frames
        assert watch.codes == [RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE]


async def test_a_bug_in_a_decision_closes_its_connection(
    server: Server, broker: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def bug(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    other = server.broker()
    await settle()
    with monkeypatch.context() as patch:
        patch.setattr(SendDrafts, "direct_send", bug)
        await other.write(other.frame(V2, send_ext("T"), b"lost"))
        assert await other.ended()
    assert "ZeroDivisionError" in caplog.text
    assert (await broker.send("T", b"kept")).header.code == 0
    assert [message.body for message in records((await broker.pull("T")).body)] == [b"kept"]


def test_latencies_have_the_bounds_of_python() -> None:
    assert native.kernel is not None
    assert [round(bound * 1e9) for bound in BOUNDS] == list(native.kernel.LATENCY_BOUNDS_NS)
