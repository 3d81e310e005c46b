"""Connections that send a frame byte by byte do not slow down other clients."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Final, Self

import pytest

from rocketwire.compat.brokers.endpoint import Endpoint
from rocketwire.compat.brokers.ports import LOOPBACK, port_of
from rocketwire.compat.clients.client import Client, Clients, events

COUNT: Final = 200
EVERY: Final = 1.0  # seconds between two bytes of one connection
MEDIAN_MS: Final = 100.0
LONGEST_MS: Final = 2_000.0
"""Wall-clock time: on a busy machine any process may be delayed."""
# A length and a header length that are fine, and the begin of a header.
FRAME: Final = struct.pack(">II", 1000, 990) + b'{"code":10,"extFields":{'


class Trickle:
    """COUNT connections that send FRAME, a byte a second each, one after another, for as long as its `with` lasts."""

    def __init__(self, port: int) -> None:
        self._over = threading.Event()
        self._connections = [socket.create_connection((LOOPBACK, port)) for _ in range(COUNT)]
        self.bytes_sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End, and close the connections."""
        self._over.set()
        self._thread.join()
        for connection in self._connections:
            connection.close()

    def _run(self) -> None:
        for byte in FRAME:
            for connection in self._connections:
                if self._over.wait(EVERY / COUNT):
                    return
                connection.sendall(bytes([byte]))
                self.bytes_sent += 1

    def still_open(self) -> int:
        """How many connections the server has neither answered nor closed."""
        quiet = 0
        for connection in self._connections:
            connection.setblocking(False)  # noqa: FBT003 - the standard library's own signature
            with contextlib.suppress(ConnectionError):
                try:
                    connection.recv(1)
                except BlockingIOError:
                    quiet += 1
            connection.setblocking(True)  # noqa: FBT003 - the same
        return quiet


@pytest.fixture
def trickle(endpoint: Endpoint) -> Iterator[Trickle]:
    """The slow connections to the broker."""
    with Trickle(port_of(endpoint.broker)) as slow:
        yield slow


def test_latency_among_slow_connections(
    endpoint: Endpoint, trickle: Trickle, clients: Clients, unique: Callable[[str], str]
) -> None:
    topic = unique("Slow")
    client = Client(clients=clients, id="java-4.9.7", namesrv=endpoint.namesrv)
    client.run("CreateTopic", topic=topic, queues=1)
    before = trickle.bytes_sent
    got = client.run("SendNumbered", topic=topic, each=200, pause=10)
    during = trickle.bytes_sent - before
    sent = events(got, "sent")
    assert [event["status"] for event in sent] == ["SEND_OK"] * 200
    took = sorted(event["ms"] for event in sent)
    assert took[100] < MEDIAN_MS, took[90:110]
    assert took[197] < LONGEST_MS, took[-10:]
    assert during > COUNT, "the slow connections did not send all the time"
    assert trickle.still_open() == COUNT
