"""What a stream remembers of a store between two polls, so that the next one reads only what can have changed.

With thousands of queues most of a poll is listing their folders and finding their ends by bisection. A queue that is
known needs one read of some entries behind its former last one; its file stays open. The folders are listed again when
one of them was written since, when the log begins elsewhere, or when the last file of a queue is full or was removed.
Local stores alone are remembered.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from rocketwire.store.archive.read.directory import Directory, QueueFiles, discover
from rocketwire.store.archive.read.queues import Queue
from rocketwire.store.disk.input_files import KeptFiles, written_at
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT

#: A folder's time of writing may be too coarse to tell two changes within so many seconds.
_SETTLED: Final = 1.0
#: Entries read behind the former last one; how many of those read must be unwritten to know the end; the next bytes.
_AHEAD: Final = 64
_LEFT: Final = 8 * ENTRY_SIZE
_MORE: Final = 4096 * ENTRY_SIZE
_NONE: Final = bytes(_AHEAD * ENTRY_SIZE)
_BYTES: Final = len(_NONE) + ENTRY_SIZE

QueueKey = tuple[str, int]


class Tail(NamedTuple):
    """The ends of a queue, and its last entry.

    Attributes:
        path: Its last file.
        at: Position of the last entry in it.
        room: Position behind the file's end.
        min, end: As those of `Queue`.
        last: The last entry, as it is stored.
    """

    path: str
    at: int
    room: int
    min: int
    end: int
    last: bytes

    @property
    def physical_offset(self) -> int:
        """Where the last entry's message is."""
        return int(ENTRY_STRUCT.unpack(self.last)[0])


class Remembered:
    """The former look at one store. `tails` has the known queues as they are now."""

    def __init__(self, files: KeptFiles | None = None) -> None:
        """Remember nothing yet; `files` are shared with other stores of the same stream."""
        self._files = KeptFiles() if files is None else files
        self.tails: dict[QueueKey, Tail] = {}
        self._directory: Directory | None = None
        #: When folders were written, when that was first seen, and whether they were listed well after that.
        self._stamps: list[int] = []
        self._seen = 0.0
        self._settled = False

    def look(self, root: str) -> Directory:
        """Look at the store, and at the ends of its known queues.

        Raises:
            StoreForeign: it is not a RocketMQ store.
            StoreUnreadable: a directory in it may not be read.
        """
        former = self._directory
        if former is not None and self._settled and _stamps(former) == self._stamps:
            found = discover(root, former=former)
            if (found.start, found.state) == (former.start, former.state) and self._follow():
                return found
        self._files.close(tail.path for tail in self.tails.values())
        self.tails = {}
        begun = time.monotonic()
        found = self._directory = discover(root)
        stamps = _stamps(found)
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
            entry = ENTRY_STRUCT.pack(*queue.entry(queue.end - 1))
            key = files.topic, files.queue_id
            self.tails[key] = Tail(last.path, at - last.start, last.size, queue.min, queue.end, entry)

    def _follow(self) -> bool:
        """Bring `tails` up to date; whether that was possible: no file is gone, full, or has other entries."""
        try:
            for key, tail in self.tails.items():
                data = self._files.read(tail.path, tail.at, _BYTES)
                if data[:ENTRY_SIZE] != tail.last:
                    return False
                followed = tail if data[ENTRY_SIZE:] == _NONE else _followed(self._files, tail, data)
                # A file that grows was not removed.
                if followed is None or (followed.at == tail.at and not self._files.is_there(tail.path)):
                    return False
                self.tails[key] = followed
        except OSError:
            return False
        return True


def _followed(files: KeptFiles, tail: Tail, data: bytes) -> Tail | None:
    """A queue with its new entries, the first of which were read; None where the file ends."""
    while True:
        # An entry ends with its tags code, which may be zeros, behind its size, which is not zero.
        new = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE) - 1
        if new < 0:
            return None
        at = tail.at + new * ENTRY_SIZE
        last = data[new * ENTRY_SIZE : (new + 1) * ENTRY_SIZE]
        if at + ENTRY_SIZE >= tail.room or len(last) < ENTRY_SIZE or ENTRY_STRUCT.unpack(last)[1] <= 0:
            return None
        tail = tail._replace(at=at, end=tail.end + new, last=last)
        left = len(data) - (new + 1) * ENTRY_SIZE
        if left >= _LEFT or at + ENTRY_SIZE + left >= tail.room:
            return tail
        data = files.read(tail.path, at, _MORE)
        if len(data) <= ENTRY_SIZE + left:
            return None  # the file was cut


def _stamps(directory: Directory) -> list[int]:
    """When the folders in which queues appear and vanish were written, in ns."""
    found: list[int] = []
    for name, queues in (("consumequeue", directory.topics), ("batchconsumequeue", _topics_of(directory))):
        folder = f"{directory.root}/{name}"
        for path in (folder, *(f"{folder}/{topic}" for topic in queues)):
            stamp = written_at(path)
            if stamp is not None:
                found.append(stamp)
    return found


def _topics_of(directory: Directory) -> list[str]:
    return sorted({queue.topic for queue in directory.batch_queues})
