"""Reads one connection in a task of its own: the driver of sessions that no hub reads."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.net.session import HTTP2_PREFACE, TLS_HANDSHAKE, Session
from rocketwire.wire.connection import FrameReader

READ_BUFFER_BYTES: Final = 256 * 1024
_MOST_FRAMES: Final = 256
"""How many frames of one connection are parsed before other tasks run: it takes 0.1 ms."""
_OTHERS: Final = frozenset({TLS_HANDSHAKE, HTTP2_PREFACE})

_read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))  # shared by all: each read is handled before the next begins


class Reader:
    """The driver of one session, see `session.Driver`; `run` is its task."""

    __slots__ = (
        "_closed",
        "_frames",
        "_received",
        "_relieved",
        "_session",
        "_settle",
        "_sock",
        "began",
        "frame_started",
        "held",
        "last_activity",
        "writing",
    )

    def __init__(
        self, sock: socket.socket, session: Session, *, settle: Callable[[], None], received: bytes = b""
    ) -> None:
        """Make the driver of a session, of which `received` was read before."""
        self._sock = sock
        self._session = session
        self._settle = settle
        self._frames = FrameReader(session.in_flight.limits.longest_frame[0])
        self._received = received
        self.held = 0
        self._closed = False
        self._relieved = trio.Event()
        self.last_activity = trio.current_time()
        self.frame_started = math.inf
        self.writing = False
        self.began = False

    def resume(self) -> None:
        """Continue: the session no longer stalls."""
        self._relieved.set()

    def beginning(self) -> bytes:
        """The first bytes of an unfinished frame."""
        return self._frames.first_pending()

    def close(self) -> None:
        """Stop reading, and release a partial frame."""
        self._closed = True
        self._frames.discard_pending()
        self._count(0)
        self._relieved.set()

    async def run(self) -> None:
        """Serve the connection until either end closes it."""
        try:
            if self._received:
                self.began = True
                await self._take(memoryview(self._received))
                self._received = b""
            while not self._closed:
                await self._read_once()
        except (OSError, trio.ClosedResourceError):
            self._session.close()  # reset by the peer, or closed from this side
        except Exception as error:  # noqa: BLE001 - the session logs it: a bug in serving one must not end the others
            self._session.failed(error)

    async def _read_once(self) -> None:
        """Wait for bytes and handle the frames that they complete."""
        session, sock = self._session, self._sock
        await trio.lowlevel.wait_readable(sock)
        await session.in_flight.wait_for_room()
        if self._closed:
            return
        try:
            size = sock.recv_into(_read_buffer)
        except (BlockingIOError, InterruptedError):
            return
        if not size:
            session.close()
            return
        self.last_activity = trio.current_time()
        if _read_buffer[0] in _OTHERS and not self.began and not self._frames.pending_bytes:
            session.misread(_read_buffer[:size])
            return
        await self._take(_read_buffer[:size])

    async def _take(self, data: memoryview) -> None:
        """Handle the frames that received bytes complete."""
        self._frames.feed(data)
        more = True
        while more and not self._closed:
            more = self._serve_some()
            await self._others_turn(more=more)

    def _serve_some(self) -> bool:
        """Serve frames of the last read; return whether there may be more."""
        session, reader = self._session, self._frames
        frames, error = reader.next_frames(_MOST_FRAMES)
        more = len(frames) == _MOST_FRAMES
        if frames:
            self.began = True
            handled = session.serve(frames)
            session.flush()
            self._settle()
            if self._closed:
                return False
            if handled < len(frames):
                reader.put_back(frames[handled:])
                error, more = None, True
        if error is not None:
            session.end(error, reader.invalid_bytes)
            return False
        reader.copy_pending()
        if not reader.pending_bytes:
            self.frame_started = math.inf
        elif frames or self.frame_started == math.inf:
            self.frame_started = self.last_activity
        self._count(reader.pending_bytes)
        return more

    def _count(self, held: int) -> None:
        """Count the bytes that wait in memory."""
        held = 0 if self._closed else held
        more, self.held = held - self.held, held
        self._session.in_flight.add(more)

    async def _others_turn(self, *, more: bool) -> None:
        """Wait if other tasks are to run before `more` is served, or while the session stalls."""
        if more:
            await trio.lowlevel.checkpoint()
        if self._session.stalled and not self._closed:
            self._relieved = trio.Event()
            await self._relieved.wait()
