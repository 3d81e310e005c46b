"""Drivers of sessions: the kernel's hub, or a task each, which reads the socket and cuts what comes into frames."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

import trio

from rocketwire.server.net.reader import Reader
from rocketwire.wire.connection import FrameReader

if TYPE_CHECKING:
    from rocketwire.server.net.session import Session

TLS_HANDSHAKE: Final = 0x16
"""The first byte of a TLS client's first message, and of no frame: its length would be over 16 MiB."""
HTTP2_PREFACE: Final = ord("P")
"""The first byte of the preface of HTTP/2, and of no frame: its length would be over 1 GiB."""
_OTHERS: Final = frozenset({TLS_HANDSHAKE, HTTP2_PREFACE})
_MOST_FRAMES: Final = 256
"""How many frames of one connection are parsed before other tasks run: it takes 0.1 ms."""


class ConnectionDriver(Protocol):
    """Reads a session's socket and passes the frames to the session.

    Attributes:
        last_activity: When bytes were last received or sent, in seconds of the event loop.
        frame_started: When the first byte of an incomplete frame came; infinite if there is none.
        writing: Whether a task writes what the socket did not take; set by the session.
        began: Whether a whole frame has come.
        held: Received bytes that wait: of an incomplete frame, or of whole ones.
    """

    last_activity: float
    frame_started: float
    writing: bool
    began: bool

    @property
    def held(self) -> int:
        """See above."""

    def beginning(self) -> bytes:
        """The first of the held bytes: enough for a frame's header."""

    def resume(self) -> None:
        """Continue reading: the session no longer stalls."""

    def close(self) -> None:
        """Stop reading. To be called before the socket is closed; further calls do nothing."""


class FrameDriver:
    """The driver of a session that no hub reads, see `ConnectionDriver`; `run` is its task."""

    __slots__ = (
        "_frames",
        "_more",
        "_reader",
        "_session",
        "_settle",
        "began",
        "frame_started",
        "held",
        "last_activity",
        "writing",
    )

    def __init__(self, sock: socket.socket, session: Session, *, settle: Callable[[], None]) -> None:
        self._session = session
        self._settle = settle
        self._frames = FrameReader(session.in_flight.limits.longest_frame[0])
        self._reader = Reader(sock, self, session.in_flight)
        self._more = False
        self.held = 0
        self.last_activity = trio.current_time()
        self.frame_started = math.inf
        self.writing = False
        self.began = False

    def resume(self) -> None:
        """See `ConnectionDriver`."""
        self._reader.resume()

    def beginning(self) -> bytes:
        """See `ConnectionDriver`."""
        return self._frames.first_pending()

    def close(self) -> None:
        """See `ConnectionDriver`; a partial frame is released."""
        self._reader.close()
        self._frames.discard_pending()
        self._count(0)

    async def run(self, received: bytes = b"") -> None:
        """Serve the session until either end closes it; `received` was read before, behind whole frames."""
        self.began = bool(received)
        await self._reader.run(received)

    # --- the reader's receiver

    def receive(self, data: memoryview) -> None:
        """Handle the frames that received bytes complete, or what is no frame."""
        self.last_activity = trio.current_time()
        if data[0] in _OTHERS and not self.began and not self._frames.pending_bytes:
            self._session.misread(data)
            return
        self._frames.feed(data)
        self._serve_some()

    @property
    def unserved(self) -> bool:
        """Whether frames wait that may be served now."""
        return self._more and not self.stalled

    @property
    def stalled(self) -> bool:
        """Whether the session stalls."""
        return self._session.stalled

    async def serve_rest(self) -> None:
        """Serve some more frames after other tasks."""
        await trio.lowlevel.checkpoint()
        if self.unserved and not self._reader.closed:
            self._serve_some()

    def send_out(self) -> None:
        """Send the answers to the frames that were served."""
        self._session.flush()
        self._settle()

    def disconnected(self) -> None:
        """Close the session, whose connection has ended."""
        self._session.close()

    def failed(self, error: Exception) -> None:
        """Close the session because of a bug in serving it."""
        self._session.failed(error)

    def _serve_some(self) -> None:
        """Serve frames of the last read."""
        session, reader = self._session, self._frames
        frames, error = reader.next_frames(_MOST_FRAMES)
        self._more = len(frames) == _MOST_FRAMES
        if frames:
            self.began = True
            handled = session.serve(frames)
            self.send_out()
            if self._reader.closed:
                return
            if handled < len(frames):
                reader.put_back(frames[handled:])
                error, self._more = None, True
        if error is not None:
            session.end(error, reader.invalid_bytes)
            return
        reader.copy_pending()
        if not reader.pending_bytes:
            self.frame_started = math.inf
        elif frames or self.frame_started == math.inf:
            self.frame_started = self.last_activity
        self._count(reader.pending_bytes)

    def _count(self, held: int) -> None:
        """Count the bytes that wait in memory."""
        more, self.held = held - self.held, held
        self._session.in_flight.add(more)
