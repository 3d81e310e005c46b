"""Short ways one after the other: the first that takes a frame has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rocketwire.server.guard import Guard
from rocketwire.server.session import Session
from rocketwire.wire.connection import RawFrame


class HotPath(Protocol):
    """A shortcut for the frequent frames: takes what it knows, leaves the rest."""

    def offer(self, session: Session, frame: RawFrame, guards: Sequence[Guard]) -> bool:
        """Take the frame into the current group, or say no: to what it does not know or what is refused."""

    def finish(self) -> None:
        """Carry out the group and write its answers."""

    def discard(self) -> None:
        """Forget the group: nothing of it is carried out."""


class HotPaths:
    """Each has a group of its own."""

    def __init__(self, *paths: HotPath) -> None:
        self._paths = paths

    def offer(self, session: Session, frame: RawFrame, guards: Sequence[Guard]) -> bool:
        """Have one of them take the frame."""
        for path in self._paths:  # noqa: SIM110 - any() with a generator takes longer
            if path.offer(session, frame, guards):
                return True
        return False

    def finish(self) -> None:
        """Carry out all groups."""
        for path in self._paths:
            path.finish()

    def discard(self) -> None:
        """Forget all groups."""
        for path in self._paths:
            path.discard()
