"""Bytes that wait for a socket arrive whole and in order, in whatever pieces they are added and sent."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterator
from itertools import islice

import pytest

from rocketwire.server.net.outbox import Outbox


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(0)
        far.settimeout(0)
        yield near, far


@pytest.mark.parametrize("largest", [10, 5_000])
def test_chunks_arrive_in_order(ends: tuple[socket.socket, socket.socket], largest: int) -> None:
    near, far = ends
    chosen = random.Random(largest)
    chunks = [chosen.randbytes(chosen.randrange(largest)) for _ in range(1200)]  # more than one system call sends
    outbox = Outbox(near)
    received = bytearray()
    put = iter(chunks)
    while len(received) < sum(map(len, chunks)):
        outbox.put(islice(put, chosen.randrange(700)))
        waited = outbox.size
        outbox.send()
        sent = waited - outbox.size
        while sent:
            data = far.recv(sent)
            received += data
            sent -= len(data)
    assert bytes(received) == b"".join(chunks)
    assert outbox.size == 0


def test_bytes_that_the_socket_does_not_accept_wait(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    outbox = Outbox(near)
    outbox.put([bytes(10 << 20)])
    outbox.send()
    left = outbox.size
    assert 0 < left < 10 << 20
    outbox.send()
    assert outbox.size == left
    far.recv(1 << 20)
    outbox.clear()
    assert outbox.size == 0


@pytest.mark.parametrize("seed", range(3))
def test_copied_bytes_are_counted_until_the_whole_chunk_is_sent(
    ends: tuple[socket.socket, socket.socket], seed: int
) -> None:
    near, far = ends
    far.setblocking(False)
    chosen = random.Random(seed)
    outbox = Outbox(near)
    chunks: list[bytes | memoryview] = [
        kind(bytes(chosen.randrange(1, 200_000))) for kind in chosen.choices([bytes, memoryview], k=60)
    ]
    outbox.put(chunks)
    sent = 0
    while outbox.size:
        outbox.send()
        sent = sum(map(len, chunks)) - outbox.size
        behind = 0
        owned = 0
        for chunk in chunks:
            behind += len(chunk)
            owned += len(chunk) if behind > sent and type(chunk) is bytes else 0
        assert outbox.owned == owned
        with contextlib.suppress(BlockingIOError):
            far.recv(chosen.randrange(1, 300_000))
    assert outbox.owned == 0
    outbox.put([b"more"])
    outbox.clear()
    assert outbox.owned == 0


def test_a_broken_connection_is_reported(ends: tuple[socket.socket, socket.socket]) -> None:
    near, far = ends
    outbox = Outbox(near)
    far.close()
    outbox.put([b"lost"])
    with pytest.raises(OSError, match="Broken pipe"):
        outbox.send()
