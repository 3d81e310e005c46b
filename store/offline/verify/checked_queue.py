"""The state of one consume queue during verification: its entries, read in windows, and what was found about them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.consume_queue import AHEAD, ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.offline.read.directory import QueueFiles
from rocketwire.store.offline.read.entry_files import ENTRY
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.offline.verify.findings import Finding, FindingKind, FindingMerger, ReportFinding
from rocketwire.store.offline.verify.ranges import RangeSet

#: Entries read at once while the log is read.
_WINDOW: Final = 1024
_AHEAD: Final = np.array(ENTRY_STRUCT.unpack(AHEAD), ENTRY)


class MissingEntries(NamedTuple):
    """Messages of consecutive offsets that have no entry; the first's and the last's physical offset."""

    start: int
    stop: int
    first: int
    last: int


class CheckedQueue:
    """What is known of one queue.

    Attributes:
        queue: To read it; its `end` is behind the last place that holds anything.
        room: Behind the last place of its files.
        matched: Offsets whose entry matches a record.
        claimed: Physical offset of a record, by the offset of its entry, which points elsewhere.
        missing: Messages without an entry.
        gathered: What is wrong with its entries.
    """

    def __init__(self, files: QueueFiles, report: ReportFinding) -> None:
        self.queue = QueueReader(files)
        self.gathered = FindingMerger(report)
        self.matched = RangeSet()
        self.claimed: dict[int, int] = {}
        self.missing: list[MissingEntries] = []
        self.newest = -1
        # For a queue of the schedule topic: the delay in ms, and the delay that another entry shows.
        self.delay: int | None = None
        self.other_delay: int | None = None
        self.delay_is_sure = False
        self.path = f"consumequeue/{files.topic}/{files.queue_id}"
        self._files = files
        self._window_start = 0
        self._window: NDArray[Any] = np.empty(0, ENTRY)
        self.room = files.files[-1].end // ENTRY_SIZE if files.files else 0
        self.queue.end = self.room
        end = self.queue.first
        for start, found in self.queue.blocks(self.queue.first, self.queue.end):
            said = found["physical_offset"] | found["size"] | found["tags_code"]
            written = np.flatnonzero((said != 0) & (found != _AHEAD))
            if len(written):
                end = start + int(written[-1]) + 1
        self.queue.end = end

    def entries(self, offset: int, count: int) -> NDArray[Any]:
        """Entries from an offset on; fewer where the queue ends or a file is missing."""
        start = offset - self._window_start
        if start < 0 or start + count > len(self._window):
            wanted = max(count, _WINDOW)
            parts: list[NDArray[Any]] = []
            following = offset
            for at, found in self.queue.blocks(offset, offset + wanted):
                if at != following:
                    break  # a file between was removed, or is missing
                parts.append(found)
                following += len(found)
            self._window = np.concatenate(parts) if parts else np.empty(0, ENTRY)
            self._window_start = offset
            start = 0
        return self._window[start : start + count]

    def forget_window(self) -> None:
        """Release what reading took."""
        self._window = self._window[:0]
        self.queue.close()

    def place(self, offset: int) -> tuple[str, int | None]:
        """File and byte of an entry."""
        at = offset * ENTRY_SIZE
        for file in self._files.files:
            if file.start <= at < file.end:
                return f"{self.path}/{file.name}", at - file.start
        return self.path, None

    def finding(self, kind: FindingKind, offset: int, count: int, what: str) -> Finding:
        """Something about the entries from an offset on."""
        path, position = self.place(offset)
        topic, queue_id = self.queue.topic, self.queue.queue_id
        return Finding(
            kind=kind,
            path=path,
            position=position,
            what=what,
            topic=topic,
            queue_id=queue_id,
            offset=offset,
            count=count,
        )

    def lacks(self, offset: int, physical_offset: int) -> None:
        """Note a message without an entry."""
        if self.missing and self.missing[-1].stop == offset:
            self.missing[-1] = self.missing[-1]._replace(stop=offset + 1, last=physical_offset)
        else:
            self.missing.append(MissingEntries(offset, offset + 1, physical_offset, physical_offset))
