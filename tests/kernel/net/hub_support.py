"""What tests of the hub share: sessions that only note their calls, and how a hub is driven."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable
from typing import Any

from rocketwire.wire.connection import RawFrame

NOW = 1_700_000_000_000
HOST = b"\x7f\0\0\x01\0\0\x03\xe8"
KIB = 1 << 10
MIB = 1 << 20


def frame(body: bytes = b"", header: bytes = b"h", kind: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


class Session:
    """Notes the frames it gets, and answers as defined."""

    def __init__(self, hub: Any) -> None:
        self.near, self.far = socket.socketpair()
        self.near.setblocking(False)
        self.far.setblocking(False)
        self.events: list[str] = []
        self.frames: list[tuple[int, bytes, bytes]] = []
        self.runs: list[int] = []
        self.errors: list[Exception] = []
        self.outbox = b""
        self.stalled = False
        self.should_yield = False
        self.on_serve: Callable[[list[RawFrame]], int | None] = lambda _: None
        self.channel = hub.add(self.near.fileno(), self, HOST)

    @property
    def unsent(self) -> int:
        return len(self.outbox)

    def serve(self, frames: list[RawFrame]) -> int:
        assert all(type(each) is RawFrame for each in frames)
        taken = self.on_serve(frames)
        handled = len(frames) if taken is None else taken
        self.frames += [(kind, bytes(header), bytes(body)) for kind, header, body in frames[:handled]]
        self.runs.append(handled)
        return handled

    def write(self, *chunks: bytes) -> None:
        self.outbox += b"".join(chunks)

    def flush(self) -> None:
        self.events.append("flush")

    def misread(self, rest: bytes) -> None:
        self.events.append(f"misread {rest.hex()}")
        self.close()

    def failed(self, error: Exception) -> None:
        self.errors.append(error)
        self.close()

    def close(self) -> None:
        self.events.append("close")
        self.channel.close()
        self.near.close()


def serve(hub: Any, now: float = 1.0) -> int:
    """Serve until there is nothing more; returns how many rounds it took."""
    rounds = 0
    while hub.ready():
        hub.round(NOW, now)
        rounds += 1
    return rounds


def readable(hub: Any) -> bool:
    return bool(select.select([hub.fileno()], [], [], 0)[0])


def feed(hub: Any, session: Session, data: bytes) -> None:
    """Send all of it, serving whenever the socket is full."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[session.far.send(rest) :]
        except BlockingIOError:
            serve(hub)
    serve(hub)
