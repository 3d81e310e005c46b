"""The checkpoint file: how far log, consume queues and index are known to be on the disk (layout.checkpoint)."""

from __future__ import annotations

from typing import Final

from rocketwire.store.files import FileSystem
from rocketwire.store.layout.checkpoint import CHECKPOINT_STRUCT, FILE_SIZE

#: Recovery starts this much before the checkpoint, as Apache does.
_MARGIN: Final = 3000


class Checkpoint:
    """The three times in ms; 0 when nothing is known. `save` writes them.

    Attributes:
        claimed: The newest `recover_from` that the file may say.
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

    @property
    def recover_from(self) -> int:
        """Messages stored before this are on the disk, and so are their consume queue entries."""
        return max(0, min(self.commit_log, self.consume_queue) - _MARGIN)

    def create(self) -> None:
        """Make the file if there is none of the right size."""
        if self._files.size(self._path) != FILE_SIZE:
            times = CHECKPOINT_STRUCT.pack(self.commit_log, self.consume_queue, self.index)
            self._files.write(self._path, times.ljust(FILE_SIZE, b"\0"))

    def save(self) -> None:
        """Put the times on the disk: into the file that `create` made, so a full disk is no obstacle."""
        self.claimed = max(self.claimed, self.recover_from)
        fd = self._files.open(self._path)
        try:
            self._files.write_at(fd, CHECKPOINT_STRUCT.pack(self.commit_log, self.consume_queue, self.index), 0)
            self._files.sync(fd)
        finally:
            self._files.close(fd)
        self.claimed = self.recover_from

    def retract(self, now: int) -> None:
        """Have the file prove nothing that is stored from a time in ms on: the clock went back to it.

        Raises:
            OSError: it could not be written; `claimed` stays.
        """
        self.commit_log = min(self.commit_log, now)
        self.consume_queue = min(self.consume_queue, now)
        self.save()
