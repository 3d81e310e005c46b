"""A recording proxy in a thread of this process, and a client's connection through it."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import trio

from rocketwire.capture.file.events import Event
from rocketwire.capture.file.reader import load
from rocketwire.capture.file.writer import RecordingWriter
from rocketwire.capture.record import routes
from rocketwire.capture.record.proxy import RecordingProxy, Upstream
from rocketwire.capture.record.relay import RecordingOptions
from rocketwire.wire.addresses import Address, parse_address
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.frame import Frame, encode_frame
from rocketwire.wire.header import Header, decode_header

SECONDS = 120.0
LOCAL = Address(host="127.0.0.1", port=0)


class Recording(NamedTuple):
    """A running proxy: its address, its file and what it warned of."""

    address: Address
    path: Path
    warnings: list[str]

    def events(self) -> list[Event]:
        """What is in the file, which must be whole."""
        complaints: list[str] = []
        found = load(str(self.path), complaints.append)
        assert complaints == []
        return found


@contextlib.contextmanager
def recording(
    path: Path,
    *upstream: str,
    listen: Address = LOCAL,
    options: RecordingOptions | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Recording]:
    ready = threading.Event()
    state: dict[str, Any] = {"warnings": []}
    began = time.monotonic_ns()

    def listens(address: Address) -> None:
        state["address"] = address
        ready.set()

    async def run() -> None:
        with RecordingWriter(str(path)) as writer, trio.CancelScope() as scope:
            state["stop"] = (trio.lowlevel.current_trio_token(), scope)
            proxy = RecordingProxy(
                Upstream(name_servers=tuple(map(parse_address, upstream)), tls=tls),
                writer,
                options=options or RecordingOptions(),
                now=lambda: (time.monotonic_ns() - began) // 1000,
                warn=state["warnings"].append,
            )
            await proxy.run(
                routes.listen(listen), host=listen.host, wall=1_700_000_000_000, program="tests", ready=listens
            )

    thread = threading.Thread(target=trio.run, args=(run,), daemon=True)
    thread.start()
    assert ready.wait(SECONDS)
    try:
        yield Recording(state["address"], path, state["warnings"])
    finally:
        token, scope = state["stop"]
        token.run_sync_soon(scope.cancel)
        thread.join(SECONDS)
        assert not thread.is_alive()


class Peer:
    """One end of a connection, blocking."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        sock.settimeout(SECONDS)
        self._reader = FrameReader()
        self._frames: list[Frame] = []

    @classmethod
    def to(cls, address: Address) -> Peer:
        return cls(socket.create_connection((address.host, address.port), SECONDS))

    def ask(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"", **fields: Any) -> Frame:
        self.sock.sendall(request(code, ext, body, **fields))
        return self.frame()

    def frame(self) -> Frame:
        while not self._frames:
            data = self.sock.recv(1 << 16)
            assert data, "closed"
            frames, broken = self._reader.receive(memoryview(data))
            assert broken is None
            self._frames += [
                Frame(decode_header(each.header, each.serialize_type), bytes(each.body), each.serialize_type)
                for each in frames
            ]
        return self._frames.pop(0)

    def close(self) -> None:
        self.sock.close()


def request(
    code: int, ext: dict[str, str] | None = None, body: bytes = b"", *, opaque: int = 1, form: int = 0, flag: int = 0
) -> bytes:
    return encode_frame(Header(code=code, opaque=opaque, flag=flag, version=407, ext=ext), body, form)
