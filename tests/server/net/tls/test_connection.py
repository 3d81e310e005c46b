"""Cases that real clients do not cause: a connection with an engine that the test controls. Others: test_serving."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from rocketwire.server.net.tls.connection import (
    BUFFER_BYTES,
    EMPTY_BYTES,
    LITTLE_BYTES,
    WAITING_BYTES,
    BufferedBytes,
    TlsConnection,
    receive,
    send,
)
from rocketwire.server.net.tls.engine import TlsFault
from tests.server.harness import account, settle


class Chatty:
    """An engine that answers each received byte, and passes none to the session."""

    ended = False

    def __init__(self) -> None:
        self.pending = 0

    def receive(self, data: memoryview) -> None:
        self.pending += 64 * len(data)

    def read_into(self, _: memoryview) -> int:
        return 0

    def to_send(self) -> bytes:
        pending, self.pending = self.pending, 0
        return bytes(pending)


class Silent(Chatty):
    """An engine that finds nothing in the received bytes, and sends nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.took: list[int] = []

    def receive(self, data: memoryview) -> None:
        self.took.append(len(data))


class Plain:
    """An engine that encrypts nothing; it says `.` at the end."""

    ended = False
    pending = 0

    def __init__(self) -> None:
        self._in = bytearray()
        self._out = bytearray()

    def receive(self, data: memoryview) -> None:
        self._in += data

    def read_into(self, buffer: memoryview) -> int:
        size = len(self._in)
        buffer[:size] = self._in
        self._in.clear()
        return size

    def to_send(self) -> bytes:
        data = bytes(self._out)
        self._out.clear()
        return data

    def write(self, data: memoryview) -> None:
        self._out += data

    def end(self) -> None:
        self._out += b"."


@pytest.fixture
def pairs() -> Iterator[list[socket.socket]]:
    """The client's end, the server's, that of the connection towards the session, the session's."""
    ends = [*socket.socketpair(), *socket.socketpair()]
    for each in ends:
        each.setblocking(False)
    yield ends
    for each in ends:
        each.close()


async def test_a_client_that_makes_tls_answer_and_does_not_read_is_closed(pairs: list[socket.socket]) -> None:
    client, outer, inner, _ = pairs
    engine: Any = Chatty()
    faults: list[TlsFault] = []

    async def serve() -> None:
        try:
            await TlsConnection(outer, inner, engine, BufferedBytes(account(), "")).pump()
        except TlsFault as fault:
            faults.append(fault)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        for _ in range(100):
            if faults:
                break
            client.send(bytes(1024))
            await settle()
    assert [str(fault) for fault in faults] == ["the client asks and does not read"]
    assert engine.pending <= 2 * BUFFER_BYTES


async def test_a_client_that_sends_no_data_is_read_in_small_parts_and_closed(pairs: list[socket.socket]) -> None:
    client, outer, inner, _ = pairs
    engine: Any = Silent()

    async with trio.open_nursery() as nursery:

        async def serve() -> None:
            with pytest.raises(TlsFault, match="the client sends no data"):
                await TlsConnection(outer, inner, engine, BufferedBytes(account(), "")).pump()

        nursery.start_soon(serve)
        for _ in range(20):
            with contextlib.suppress(BlockingIOError):
                client.send(bytes(BUFFER_BYTES))
            await settle()
    assert set(engine.took) == {LITTLE_BYTES}
    assert sum(engine.took) == EMPTY_BYTES + LITTLE_BYTES


async def test_a_refused_client_can_read_the_answer_while_it_still_sends(pairs: list[socket.socket]) -> None:
    client, outer, inner, session = pairs
    engine: Any = Plain()

    async def serve() -> None:
        await TlsConnection(outer, inner, engine, BufferedBytes(account(), "")).pump()
        outer.close()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        session.send(b"why")
        session.shutdown(socket.SHUT_WR)
        for _ in range(10):
            await settle()
            client.send(b"more")
        assert client.recv(10) == b"why."
        assert client.recv(10) == b""
        client.close()


async def test_a_closed_session_is_not_drained(pairs: list[socket.socket]) -> None:
    client, outer, inner, session = pairs
    engine: Any = Plain()
    session.send(b"last")
    session.close()
    with trio.fail_after(60):
        await TlsConnection(outer, inner, engine, BufferedBytes(account(), "")).pump()
    assert client.recv(10) == b"last."


async def test_bytes_that_a_socket_does_not_accept_at_once_are_copied_and_follow(pairs: list[socket.socket]) -> None:
    client, outer, _, _ = pairs
    data = bytearray(range(256)) * 8192
    waited: list[int] = []
    found = bytearray()

    async def read() -> None:
        buffer = memoryview(bytearray(BUFFER_BYTES))
        while len(found) < len(data):
            found.extend(buffer[: await receive(client, buffer)])

    expected = bytes(data)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send, outer, memoryview(data), waited.append)
        await settle()
        data[:] = bytes(len(data))
        nursery.start_soon(read)
    assert found == expected
    assert 0 < waited[0] < len(data)
    assert waited[1:] == [0]


async def test_bytes_that_a_client_does_not_read_count_until_the_connection_is_refused(
    pairs: list[socket.socket],
) -> None:
    _, outer, inner, session = pairs
    engine: Any = Plain()
    owner = account(max_in_flight_bytes=1 << 20)
    held = BufferedBytes(owner, "c")
    owner.register_holders([held])

    async def serve() -> None:
        with held.scope:
            await TlsConnection(outer, inner, engine, held).pump()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        while not owner.total:
            with contextlib.suppress(BlockingIOError):
                session.send(bytes(BUFFER_BYTES))
            await settle()
        assert owner.total == held.held == WAITING_BYTES
        owner.make_room()
        assert held.held
        owner.add(1 << 20)
        owner.make_room()
        assert (held.held, owner.total) == (0, 1 << 20)
    assert owner.limits.metrics.limited == {"maxInFlightBytes": 1}


async def test_bytes_that_a_session_does_not_read_count_until_it_does(pairs: list[socket.socket]) -> None:
    client, outer, inner, session = pairs
    engine: Any = Plain()
    owner = account()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(TlsConnection(outer, inner, engine, BufferedBytes(owner, "")).pump)
        while not owner.total:
            with contextlib.suppress(BlockingIOError):
                client.send(bytes(BUFFER_BYTES))
            await settle()
        assert BUFFER_BYTES < owner.total <= 2 * BUFFER_BYTES
        while owner.total:
            session.recv(BUFFER_BYTES)
            await settle()
        nursery.cancel_scope.cancel()


class Broken(Plain):
    """An engine that cannot decrypt the received bytes, and has an alert to send."""

    def read_into(self, buffer: memoryview) -> int:
        if not super().read_into(buffer):
            return 0
        self._out += b"alert"
        raise TlsFault("it cannot be decrypted")


@pytest.mark.parametrize("left", [False, True])
async def test_bytes_that_cannot_be_decrypted_are_the_fault_even_if_the_client_left(
    pairs: list[socket.socket], *, left: bool
) -> None:
    client, outer, inner, _ = pairs
    engine: Any = Broken()
    client.send(b"x")
    if left:
        client.close()
    with trio.fail_after(60), pytest.raises(TlsFault, match="it cannot be decrypted"):
        await TlsConnection(outer, inner, engine, BufferedBytes(account(), "")).pump()
    if not left:
        assert client.recv(10) == b"alert"
