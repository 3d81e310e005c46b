"""Records whose queue id or queue offset is wrong, as the consume queues show.

A record's queue id and queue offset have no checksum. A wrong one, if accepted, may hide other messages: an offset
lower than the one before begins a new life of its topic. So a record is rejected if only an entry at another queue or
offset points to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.offline.read.by_queue import by_queue, entries_at, is_of
from rocketwire.store.offline.read.directory import QueueFiles, StoreDirectory
from rocketwire.store.offline.read.queues import QueueReader
from rocketwire.store.records.columns import RecordColumns
from rocketwire.wire.names import LIGHT_QUEUE_PREFIX


class Misplaced(NamedTuple):
    """A record, and the entry that points to it."""

    physical_offset: int
    size: int
    topic: str
    queue_id: int
    offset: int


class MisplacedRecords:
    """Finds them: `feed` gets the records, in their order; those without an entry are kept until `find`."""

    def __init__(self, directory: StoreDirectory) -> None:
        self._queues = {(files.topic, files.queue_id): files for files in directory.queues if files.files}
        self._offsets: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        self._sizes: list[NDArray[np.int32]] = [np.empty(0, np.int32)]

    def feed(self, records: RecordColumns, topics: NDArray[np.int32], names: list[str]) -> None:
        """Look for the entries of a batch of records.

        Raises:
            StoreUnreadable: a read failed.
        """
        if not self._queues:
            return
        for topic, queue_id, some in by_queue(records, topics, names):
            files = self._queues.get((topic, queue_id))
            lacking = some if files is None else some[~_has_entry(files, records, some)]
            self._offsets.append(records.physical_offset[lacking])
            self._sizes.append(records.size[lacking])

    def find(self) -> Iterator[Misplaced]:
        """The records to which an entry elsewhere points.

        Raises:
            StoreUnreadable: a read failed.
        """
        places, sizes = np.concatenate(self._offsets), np.concatenate(self._sizes)
        order = np.argsort(places)
        places, sizes = places[order], sizes[order]
        if not len(places):
            return
        for files in self._queues.values():
            # Entries of light topics point to records of other topics.
            if files.topic.startswith(LIGHT_QUEUE_PREFIX):
                continue
            with QueueReader(files) as queue:
                for start, entries in queue.blocks(queue.first, queue.end):
                    at = np.minimum(np.searchsorted(places, entries["physical_offset"]), len(places) - 1)
                    same = (places[at] == entries["physical_offset"]) & (sizes[at] == entries["size"])
                    for number in np.flatnonzero(same).tolist():
                        entry = entries[number]
                        place, size = int(entry["physical_offset"]), int(entry["size"])
                        yield Misplaced(place, size, files.topic, files.queue_id, start + number)


def _has_entry(files: QueueFiles, records: RecordColumns, some: NDArray[Any]) -> NDArray[np.bool_]:
    return is_of(entries_at(files, records.queue_offset[some]), records, some)
