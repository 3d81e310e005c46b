"""Committing how far a group has come in a topic, at most once a second and at the end."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

from rocketwire.remoting.errors import NoBroker, NotReached

if TYPE_CHECKING:
    from rocketwire.cli.message.reading import TopicReader
    from rocketwire.remoting.messages import Queue

_EVERY_SECONDS: Final = 1.0


class CommitProgress:
    """Commits the offsets of the group of a reader."""

    def __init__(self, reader: TopicReader) -> None:
        self._reader = reader
        self._behind: dict[Queue, int] = {}
        self._last = time.monotonic()

    def reached(self, queue: Queue, offset: int) -> None:
        """Everything of a queue before an offset is done. A broker that does not answer gets it later."""
        self._behind[queue] = offset
        if time.monotonic() - self._last >= _EVERY_SECONDS:
            with contextlib.suppress(NotReached, NoBroker):
                self.commit()
            self._last = time.monotonic()

    def commit(self) -> None:
        """Commit what is not committed yet.

        Raises:
            NotReached, NoBroker, Refused: a broker does not answer, is not known, or refuses.
        """
        for queue in list(self._behind):
            self._reader.commit(queue, self._behind[queue])
            del self._behind[queue]
