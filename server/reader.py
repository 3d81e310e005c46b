"""Reads one connection in a task of its own: what drives sessions where the kernel's hub does not."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.session import Session
from rocketwire.wire.connection import FrameReader, RawFrame

READ_BUFFER_BYTES: Final = 256 * 1024

_read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))  # one for all: a read is handled before the next begins


class Reader:
    """The driver of one session, see `session.Driver`; `run` is its task."""

    __slots__ = (
        "_closed",
        "_frames",
        "_relieved",
        "_session",
        "_settle",
        "_sock",
        "frame_started",
        "last_activity",
        "writing",
    )

    def __init__(self, sock: socket.socket, session: Session, *, settle: Callable[[], None]) -> None:
        self._sock = sock
        self._session = session
        self._settle = settle
        self._frames = FrameReader()
        self._closed = False
        self._relieved = trio.Event()
        self.last_activity = trio.current_time()
        self.frame_started = math.inf
        self.writing = False

    def resume(self) -> None:
        """Go on with what the session had no room for the answers of."""
        self._relieved.set()

    def close(self) -> None:
        """Read nothing more."""
        self._closed = True
        self._relieved.set()

    async def run(self) -> None:
        """Serve the connection until either end closes it."""
        try:
            while not self._closed:
                await self._read_once()
        except (OSError, trio.ClosedResourceError):
            self._session.close()  # reset by the peer, or closed from this side
        except Exception as error:  # noqa: BLE001 - the session logs it: a bug in serving one must not end the others
            self._session.failed(error)

    async def _read_once(self) -> None:
        """Wait for bytes and handle the frames they complete."""
        session, sock = self._session, self._sock
        await trio.lowlevel.wait_readable(sock)
        try:
            size = sock.recv_into(_read_buffer)
        except (BlockingIOError, InterruptedError):
            return
        if not size:
            session.close()
            return
        self.last_activity = trio.current_time()
        frames, error = self._frames.receive(_read_buffer[:size])
        if not self._frames.pending:
            self.frame_started = math.inf
        elif frames or self.frame_started == math.inf:
            self.frame_started = self.last_activity
        while frames and not self._closed:
            handled = session.serve(frames)
            session.flush()
            self._settle()
            frames = [RawFrame(kind, memoryview(bytes(h)), memoryview(bytes(b))) for kind, h, b in frames[handled:]]
            await self._others_turn()
        if error is not None and not self._closed:
            session.end(error)

    async def _others_turn(self) -> None:
        """Wait if it is others' turn, or if the client does not read."""
        if self._session.lets_others:
            await trio.lowlevel.checkpoint()
        if self._session.congested:
            self._relieved = trio.Event()
            await self._relieved.wait()
