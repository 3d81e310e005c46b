"""What a stream remembers of a store between two polls, so that the next one reads only what can have changed.

With thousands of queues most of a poll is listing their folders and finding their ends by bisection. A queue that is
known needs one read of some entries behind its former last one; its file stays open. The folders are listed again when
one of them was written since, when the log begins elsewhere, or when the last file of a queue is full or was removed.
Local stores alone are remembered.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from rocketwire.spark.stores.tails import QueueKey, Tails
from rocketwire.store.archive.read.directory import Directory, QueueFiles, discover
from rocketwire.store.archive.read.queues import Queue
from rocketwire.store.disk.input_files import KeptFiles, written_at
from rocketwire.store.layout.consume_queue import ENTRY_SIZE

#: A folder's time of writing may be too coarse to tell two changes within so many seconds.
_SETTLED: Final = 1.0


class Remembered:
    """The former look at one store.

    Attributes:
        tails: The known queues.
        files: All consume queues that have files.
    """

    def __init__(self, files: KeptFiles | None = None) -> None:
        """Remember nothing yet; `files` are shared with other stores of the same stream."""
        self.tails = Tails(KeptFiles() if files is None else files)
        self.files: dict[QueueKey, QueueFiles] = {}
        self._directory: Directory | None = None
        #: Folders, when they were written (ns), when that was first seen, and whether they were listed well after that.
        self._folders: list[str] = []
        self._stamps: list[int | None] = []
        self._seen = 0.0
        self._settled = False

    def look(self, root: str) -> Directory:
        """Look at the store, and at the ends of its known queues.

        Raises:
            StoreForeign: it is not a RocketMQ store.
            StoreUnreadable: a directory in it may not be read.
        """
        former = self._directory
        if former is not None and self._settled and [*map(written_at, self._folders)] == self._stamps:
            found = discover(root, former=former)
            if (found.start, found.state) == (former.start, former.state) and self.tails.follow():
                return found
        self.tails.forget()
        begun = time.monotonic()
        found = self._directory = discover(root)
        self.files = queue_files(found)
        self._folders = _folders(found)
        stamps = [*map(written_at, self._folders)]
        if stamps == self._stamps:
            self._settled = begun - self._seen >= _SETTLED
        else:
            self._stamps, self._seen, self._settled = stamps, time.monotonic(), False
        return found

    def keep(self, files: QueueFiles, queue: Queue) -> None:
        """Remember the ends of an open queue, which has these files.

        Raises:
            FileGone: its last file was removed.
            StoreUnreadable: it cannot be read.
        """
        at = (queue.end - 1) * ENTRY_SIZE
        last = next((file for file in files.files if file.start <= at < file.end), None)
        if last is not None and last is files.files[-1]:
            with suppress(OSError):  # it was removed just now
                self.tails.add((files.topic, files.queue_id), queue, last.path, at - last.start, last.size)


def queue_files(directory: Directory) -> dict[QueueKey, QueueFiles]:
    """The consume queues of a store that have files."""
    return {(files.topic, files.queue_id): files for files in directory.queues if files.files}


def _folders(directory: Directory) -> list[str]:
    """The folders in which queues appear and vanish."""
    found: list[str] = []
    batch_topics = sorted({queue.topic for queue in directory.batch_queues})
    for name, topics in (("consumequeue", directory.topics), ("batchconsumequeue", batch_topics)):
        folder = f"{directory.root}/{name}"
        found += (folder, *(f"{folder}/{topic}" for topic in topics))
    return found
