"""What reads a connection: the kernel's hub, or a task of its own (`server.net.reader`)."""

from __future__ import annotations

from typing import Protocol


class Driver(Protocol):
    """Reads a session's socket and has the session serve what comes.

    Attributes:
        last_activity: When bytes last came or went, in seconds of the event loop.
        frame_started: When the first byte came of a frame that is not whole yet; infinite if there is none.
        writing: Whether a task writes what the socket did not take; the session says so.
        began: Whether a whole frame has come.
        held: Bytes that were received and wait: of an unfinished frame, or of whole ones.
    """

    last_activity: float
    frame_started: float
    writing: bool
    began: bool

    @property
    def held(self) -> int:
        """See above."""

    def beginning(self) -> bytes:
        """The first bytes of what is held: enough for a frame's header."""

    def resume(self) -> None:
        """Go on reading: the session stalls no more."""

    def close(self) -> None:
        """Read nothing more. Comes before the socket is closed; further calls do nothing."""
