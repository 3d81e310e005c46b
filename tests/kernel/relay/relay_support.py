"""What tests of the relay share: pairs with both far ends in the test's hands, and waiting for what the thread does."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from fcntl import ioctl
from functools import cache
from termios import TIOCOUTQ
from typing import Any, Final

import pytest

from rocketwire import _kernel as kernel
from rocketwire.wire.facts.codes import MAX_FRAME_LENGTH
from rocketwire.wire.message_id_hosts import replace_hosts

OLD: Final = b"C000020100002A9F"
NEW: Final = b"7F00000100001F90"
PATIENCE: Final = 60.0
"""Seconds that a test waits for what the thread should do at once."""


def frame(body: bytes = b"", header: bytes = b"h", kind: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header) + len(body), kind << 24 | len(header)) + header + body


_pairs: list[Pair] = []


@pytest.fixture(autouse=True)
def close_pairs() -> Iterator[None]:
    """Close the test's ends of all pairs."""
    yield
    while _pairs:
        _pairs.pop().close()


class Pair:
    """A pair of the relay. The test is its client and its upstream; `close_pairs` closes its ends."""

    def __init__(
        self,
        relay: Any,
        *,
        to_upstream: bytes = b"",
        to_client: bytes = b"",
        hosts: tuple[bytes, bytes] = (OLD, NEW),
        longest_frame: int = MAX_FRAME_LENGTH,
        tcp: bool = False,
    ) -> None:
        make = tcp_pair if tcp else socket.socketpair
        self.client, near_client = make()
        self.upstream, near_upstream = make()
        self.ends = self.client, self.upstream
        _pairs.append(self)
        for end in self.ends:
            end.settimeout(PATIENCE)
        self.number = relay.add(
            near_client.detach(), near_upstream.detach(), to_upstream, to_client, *hosts, longest_frame
        )

    def close(self) -> None:
        for end in self.ends:
            end.close()


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        far = socket.create_connection(listener.getsockname())
        near, _ = listener.accept()
    return far, near


def exactly(end: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = end.recv(size)
        assert part, "the stream ended"
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def to_the_end(end: socket.socket) -> bytes:
    parts = []
    with suppress(ConnectionResetError):
        while part := end.recv(1 << 20):
            parts.append(part)
    return b"".join(parts)


@cache
def _rewriter(old: bytes, new: bytes) -> tuple[Any, Pair]:
    relay = kernel.Relay(1 << 20)
    pair = Pair(relay, hosts=(old, new))
    _pairs.remove(pair)  # it serves all tests
    return relay, pair


def rewritten(header: bytes, kind: int, old: bytes = OLD, new: bytes = NEW) -> bytes:
    """The header of a broker's answer as the client gets it, with another host in its message ids."""
    _, pair = _rewriter(old, new)
    sent = frame(b"", header, kind)
    pair.upstream.sendall(sent)
    got = exactly(pair.client, len(sent))
    assert got[:8] == sent[:8]
    return got[8:]


def fill(end: socket.socket, data: bytes) -> int:
    """Send it over and over until nothing more is taken; how many bytes were."""
    total = 0
    end.settimeout(0.3)
    with suppress(TimeoutError):
        while True:
            total += end.send(data[total % len(data) :])
    end.settimeout(PATIENCE)
    return total


def send_and_wait(end: socket.socket, data: bytes) -> None:
    """Send, and return when the relay has received all of it, or no longer reads."""
    with suppress(BrokenPipeError, ConnectionResetError):
        end.sendall(data)
        until = time.monotonic() + 1
        while int.from_bytes(ioctl(end, TIOCOUTQ, bytes(4)), "little") > 0 and time.monotonic() < until:
            time.sleep(0)


def events(relay: Any, count: int = 1) -> list[tuple[int, str, Any]]:
    """The next ones, up to the expected number."""
    found: list[tuple[int, str, Any]] = []
    while len(found) < count:
        assert select.select([relay], [], [], PATIENCE)[0], f"no more than {found}"
        found += relay.events()
    assert len(found) == count
    return found


def relayed(data: bytes, longest: int, hosts: tuple[bytes, bytes] | None) -> tuple[bytes, bool]:
    """What the other side gets of a stream that ends, and whether it ended for a frame that cannot be."""
    out: list[bytes] = []
    at = 0
    while at + 8 <= len(data):
        length, word = struct.unpack_from(">iI", data, at)
        header_end = at + 8 + (word & 0xFFFFFF)
        end = at + length + 4
        if length < 4 or length + 4 > longest or header_end > end:
            return b"".join(out), True
        header = data[at + 8 : header_end]
        if hosts is not None and header_end <= len(data):
            header = replace_hosts(header, word >> 24, *hosts)
        out += data[at : at + 8], header, data[header_end:end]
        at = end
    return b"".join((*out, data[at:])), False
