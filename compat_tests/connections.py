"""The connections to a port, from /proc/net/tcp, and forwarding ports that record their traffic.

Theory: containers of the tests share the machine's network, so /proc/net/tcp has both ends of every connection of every
client. `Watch` polls it while something runs, `Forwarder` is a port that forwards to another one, and `Tap` a forwarder
that counts frames.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final, Self

_ESTABLISHED: Final = "01"  # include/net/tcp_states.h
_EVERY: Final = 0.01  # seconds
_CHUNK: Final = 1 << 16
_LENGTHS: Final = struct.Struct(">II")
_LENGTH_SIZE: Final = 4
_RESPONSE: Final = 1


def peers(port: int) -> set[int]:
    """The remote ports of the established connections to the local `port`, over IPv4 and IPv6."""
    found = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text("ascii").splitlines()[1:]:
            _, local, remote, state, *_ = line.split()
            if state == _ESTABLISHED and int(local.rpartition(":")[2], 16) == port:
                found.add(int(remote.rpartition(":")[2], 16))
    return found


class Watch:
    """Collects, inside its `with`, the remote ports of all new connections to some local ports.

    Older connections are those of other tests' clients to an endpoint that they share.
    """

    def __init__(self, *ports: int) -> None:
        self._before = {port: peers(port) for port in ports}
        self.seen: dict[int, set[int]] = {port: set() for port in ports}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        """Start polling."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop polling."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_EVERY):
            for port in self.seen:
                self.seen[port] |= peers(port) - self._before[port]


class Forwarder:
    """Listens on 127.0.0.1 and forwards each connection, inside its `with`, to the port `target` there."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self.onward: set[int] = set()  # the local ports of this forwarder's connections to the target
        self._ends: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._forward, daemon=True)

    def __enter__(self) -> Self:
        """Take connections."""
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Close everything."""
        self._over.set()
        self._thread.join()
        self._selector.close()
        for end in (self._listener, *self._ends):
            end.close()

    def _forward(self) -> None:
        while not self._over.is_set():
            for key, _ in self._selector.select(0.1):
                if key.data is None:
                    self._accept()
                else:
                    self._copy(*key.data)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        far = socket.create_connection(("127.0.0.1", self.target))
        self.onward.add(far.getsockname()[1])
        self._ends |= {near, far}
        self._selector.register(near, selectors.EVENT_READ, (near, far))
        self._selector.register(far, selectors.EVENT_READ, (far, near))

    def passing(self, source: socket.socket, sink: socket.socket, data: bytes) -> None:
        """Called with what is about to be handed on."""

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        if source not in self._ends:
            return  # its other half has ended in this very round
        data = b""
        with contextlib.suppress(OSError):
            data = source.recv(_CHUNK)
            self.passing(source, sink, data)
            sink.sendall(data)
        if not data:
            self._ends -= {source, sink}
            for end in (source, sink):
                self._selector.unregister(end)
                end.close()


class Tap(Forwarder):
    """Counts the frames that it hands on, all of which have headers in JSON.

    Attributes:
        requests: How often each request code came from a client.
        answers: How often each response code went to one.
        first: When each request code first came from a client (ms) since this was cleared.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: Counter[int] = Counter()
        self.answers: Counter[int] = Counter()
        self.first: dict[int, int] = {}
        self._rests: dict[socket.socket, bytes] = {}

    def passing(self, source: socket.socket, sink: socket.socket, data: bytes) -> None:
        """Count the frames that are whole now; those of clients come from a socket with this end's port."""
        del sink
        rest = self._rests.get(source, b"") + data
        while len(rest) >= _LENGTHS.size:
            length, header_length = _LENGTHS.unpack_from(rest)
            end = length + _LENGTH_SIZE
            if len(rest) < end:
                break
            header = json.loads(rest[_LENGTHS.size : _LENGTHS.size + header_length])
            from_client = source.getsockname()[1] == self.port
            if from_client and not header["flag"] & _RESPONSE:
                self.requests[header["code"]] += 1
                self.first.setdefault(header["code"], time.time_ns() // 1_000_000)
            elif not from_client and header["flag"] & _RESPONSE:
                self.answers[header["code"]] += 1
            rest = rest[end:]
        self._rests[source] = rest
