"""The checkpoint file: up to which store time log, consume queues and index are flushed (layout.checkpoint).

A flush takes some time, in a thread: `claim` announces the time that it will prove, and `prove_...` confirms it. If the
clock goes back meanwhile, messages are stored before that time that the flush does not cover; the appender calls
`retract` first, and the flush proves nothing.
"""

from __future__ import annotations

import threading
from typing import Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.layout.checkpoint import CHECKPOINT_STRUCT, FILE_SIZE

#: Recovery starts this much before the checkpoint, as Apache does.
_MARGIN: Final = 3000


class Checkpoint:
    """The three times in ms; 0 when nothing is known. `save` writes them.

    Attributes:
        claimed: The newest `recover_from` that the file may hold, now or after a running flush.
    """

    def __init__(self, path: str, files: FileSystem) -> None:
        self._path = path
        self._files = files
        data = files.read(path) or b""
        times = CHECKPOINT_STRUCT.unpack_from(data) if len(data) >= CHECKPOINT_STRUCT.size else (0, 0, 0)
        self.commit_log: int
        self.consume_queue: int
        self.index: int
        self.commit_log, self.consume_queue, self.index = times
        self.claimed = self.recover_from
        self._retractions = 0
        self._lock = threading.Lock()

    @property
    def recover_from(self) -> int:
        """Messages stored before this are on the disk, and so are their consume queue entries."""
        return max(0, min(self.commit_log, self.consume_queue) - _MARGIN)

    def create(self) -> None:
        """Make the file if there is none of the right size."""
        if self._files.size(self._path) != FILE_SIZE:
            times = CHECKPOINT_STRUCT.pack(self.commit_log, self.consume_queue, self.index)
            self._files.write(self._path, times.ljust(FILE_SIZE, b"\0"))

    def begin_proof(self, timestamp: int) -> int:
        """Begin to flush messages stored up to a time in ms; return the claim to pass to `prove_...`."""
        with self._lock:
            self.claimed = max(self.claimed, timestamp - _MARGIN)
            return self._retractions

    def prove_commit_log(self, timestamp: int, claim: int) -> None:
        """The log is flushed up to the time that was claimed."""
        with self._lock:
            if claim == self._retractions:
                self.commit_log = timestamp

    def prove_consume_queue(self, timestamp: int, claim: int) -> None:
        """The consume queues are flushed up to the time that was claimed."""
        with self._lock:
            if claim == self._retractions:
                self.consume_queue = timestamp

    def save(self) -> None:
        """Put the times on the disk: into the file that `create` made, so a full disk is no obstacle.

        Raises:
            OSError: they could not be written; if the file was removed meanwhile, it is made again first.
        """
        with self._lock:
            self._save()

    def _save(self) -> None:
        self.claimed = max(self.claimed, self.recover_from)
        self.create()
        fd = self._files.open(self._path)
        try:
            self._files.write_at(fd, CHECKPOINT_STRUCT.pack(self.commit_log, self.consume_queue, self.index), 0)
            self._files.sync(fd)
        finally:
            self._files.close(fd)

    def retract(self, now: int) -> None:
        """Make the file prove nothing that is stored from a time in ms on: the clock went back to it.

        Raises:
            OSError: it could not be written; `claimed` stays.
        """
        with self._lock:
            self._retractions += 1
            self.commit_log = min(self.commit_log, now)
            self.consume_queue = min(self.consume_queue, now)
            self._save()
            self.claimed = self.recover_from
