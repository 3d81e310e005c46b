"""The protocol of drivers, which read connections: the kernel's hub, or a task each (`server.net.reader`)."""

from __future__ import annotations

from typing import Protocol


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
