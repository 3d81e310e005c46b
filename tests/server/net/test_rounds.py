"""Rounds: connections that are read together are answered together, and none blocks the others for long."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import trio

from rocketwire.server.net import rounds as module
from rocketwire.server.net.rounds import ReadRounds
from rocketwire.wire.grpc.codes import Code
from tests.server.grpc.sdk import Sdk, code_of, message, send_request
from tests.server.harness import Client, Server, account, mock_clock, settle

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="the system has no epoll")


class Reading:
    """One end of a pair of sockets, and its events."""

    def __init__(self, name: str, done: list[str]) -> None:
        self.near, self.far = socket.socketpair()
        self.near.settimeout(0)
        self.name = name
        self.done = done
        self.then: Callable[[], object] = lambda: None

    def send_byte(self) -> None:
        self.far.send(b"x")

    def read(self) -> bool:
        try:
            self.near.recv(100)
        except BlockingIOError:
            return False
        self.done.append(f"read {self.name}")
        self.then()
        return True

    def send_out(self) -> None:
        self.done.append(f"answer {self.name}")


class Room:
    """The rounds of a test, and their connections."""

    def __init__(self) -> None:
        self.in_flight = account()
        self.rounds = ReadRounds(self.in_flight)
        self.done: list[str] = []
        self.all: list[Reading] = []

    def joined(self, name: str) -> Reading:
        made = Reading(name, self.done)
        self.all.append(made)
        self.rounds.join(made.near.fileno(), made)
        return made


@pytest.fixture
async def room(nursery: trio.Nursery) -> AsyncIterator[Room]:
    made = Room()
    nursery.start_soon(made.rounds.run)
    yield made
    for each in made.all:
        made.rounds.leave(each.near.fileno())
        each.near.close()
        each.far.close()


async def test_requests_that_are_readable_together_are_answered_after_all_are_read(room: Room) -> None:
    first, second = room.joined("1"), room.joined("2")
    first.send_byte()
    second.send_byte()
    await settle()
    assert room.done == ["read 1", "read 2", "answer 1", "answer 2"]
    second.send_byte()
    await settle()
    assert room.done[4:] == ["read 2", "answer 2"]


async def test_a_closed_connection_is_not_read(room: Room) -> None:
    first, second = room.joined("1"), room.joined("2")
    first.then = lambda: room.rounds.leave(second.near.fileno())
    first.send_byte()
    second.send_byte()
    await settle()
    assert room.done == ["read 1", "answer 1"]
    room.rounds.leave(second.near.fileno())
    room.rounds.join(second.near.fileno(), second)
    await settle()
    assert room.done[2:] == ["read 2", "answer 2"]


async def test_a_long_round_yields_and_continues_with_the_rest(room: Room) -> None:
    connections = [room.joined(str(number)) for number in range(3)]
    for each in connections:
        each.then = lambda: mock_clock().jump(1)
        each.send_byte()
    events = ["read 0", "answer 0", "read 1", "answer 1", "read 2", "answer 2"]
    passes = []
    while len(room.done) < len(events):
        await trio.lowlevel.checkpoint()
        passes.append(len(room.done))
    assert room.done == events
    assert len({*passes} - {0}) > 1


async def test_a_round_is_bounded(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    for number in range(5):
        room.joined(str(number)).send_byte()
    await settle()
    assert sorted(room.done) == sorted([f"{what} {number}" for what in ("read", "answer") for number in range(5)])
    assert room.done[:5] == ["read 0", "read 1", "answer 0", "answer 1", "read 2"]


class Full:
    """Bytes in flight, of which there may be too many."""

    def __init__(self) -> None:
        self.is_full = False
        self.relieved = trio.Event()

    async def wait_for_room(self) -> None:
        await self.relieved.wait()
        self.is_full = False


async def test_nothing_is_read_while_too_many_bytes_are_in_flight(nursery: trio.Nursery) -> None:
    in_flight, done = Full(), list[str]()
    rounds = ReadRounds(in_flight)  # type: ignore[arg-type]
    nursery.start_soon(rounds.run)
    both = [Reading(name, done) for name in ("1", "2")]
    for each in both:
        each.then = lambda: setattr(in_flight, "is_full", True)
        rounds.join(each.near.fileno(), each)
        each.send_byte()
    await settle()
    assert done == ["read 1", "answer 1"]
    in_flight.relieved.set()
    await settle()
    assert done[2:] == ["read 2", "answer 2"]
    for each in both:
        rounds.leave(each.near.fileno())
        each.near.close()
        each.far.close()


async def test_after_reading_connections_may_join_and_leave() -> None:
    rounds = ReadRounds(account())
    near, far = socket.socketpair()
    with near, far, trio.move_on_after(0):
        await rounds.run()
    rounds.leave(5)
    reading: Any = None
    rounds.join(5, reading)
    rounds.leave(5)


async def test_without_epoll_a_task_reads_each_connection(
    monkeypatch: pytest.MonkeyPatch, server: Server, broker: Client
) -> None:
    monkeypatch.delattr(select, "epoll")
    assert broker is not None
    with Sdk(server.broker_address) as sdk:
        for _ in range(3):
            assert code_of(await sdk.call("SendMessage", send_request(message()))) is Code.OK


def noted_joins(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the connections that join from now on."""
    joined: list[int] = []
    join = ReadRounds.join

    def noted(self: ReadRounds, descriptor: int, reading: Any) -> None:
        joined.append(descriptor)
        join(self, descriptor, reading)

    monkeypatch.setattr(ReadRounds, "join", noted)
    return joined


async def test_only_many_connections_are_read_together(
    monkeypatch: pytest.MonkeyPatch, server: Server, broker: Client
) -> None:
    joined = noted_joins(monkeypatch)
    assert broker is not None
    with contextlib.ExitStack() as stack:
        every = [stack.enter_context(Sdk(server.broker_address)) for _ in range(3)]
        for number, joining in ((0, 0), (1, 0), (2, 1), (0, 2), (0, 2)):  # the first joins with its next read
            assert code_of(await every[number].call("SendMessage", send_request(message()))) is Code.OK
            await settle()
            assert len(joined) == joining


async def test_of_two_connections_those_with_several_calls_in_flight_join(
    monkeypatch: pytest.MonkeyPatch, server: Server, broker: Client
) -> None:
    joined = noted_joins(monkeypatch)
    assert broker is not None
    with Sdk(server.broker_address) as sdk, Sdk(server.broker_address) as other:
        for body, joining in ((b"x", 0), (bytes(2000), 1)):
            for each in (sdk, other):
                assert code_of(await each.call("SendMessage", send_request(message(body)))) is Code.OK
            await settle()
            assert len(joined) == 2 * joining
