"""The partitions of a read: small enough to send thousands of them, and without open files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from pyspark.sql.datasource import InputPartition

from rocketwire.store.offline.read.directory import RowFile, StoreState


class QueueRange(NamedTuple):
    """Entries of one consume queue, from the queue offset `first` up to, not including, `end`.

    Attributes:
        topic, queue_id: Which queue it is.
        path: Its directory.
        first, end: Queue offsets.
        files: Its files that hold these entries.
    """

    topic: str
    queue_id: int
    path: str
    first: int
    end: int
    files: tuple[RowFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpan(InputPartition):
    """A part of one store's commit log, and the way to find the messages in it.

    Attributes:
        broker: Name of the store's broker.
        state: Of the store, when it was listed.
        start, end: Physical offsets: the messages that begin from `start` up to, not including, `end`. The spans of
            one plan do not overlap.
        files: The commit log files that are read.
        queues: The entries of consume queues that point to the messages; None: the log itself is walked.
        places: Physical offsets of the messages, in place of `queues`; None: unknown.
        entries_only: The entries contain all requested values, so the log is not read.
        clipped: Entries of `queues` that point outside the span are ignored: they belong to another span.
    """

    broker: str
    state: StoreState
    start: int
    end: int
    files: tuple[RowFile, ...]
    queues: tuple[QueueRange, ...] | None = None
    places: tuple[int, ...] | None = None
    entries_only: bool = False
    clipped: bool = False

    def clip(self, start: int, end: int) -> Self:
        """The part of the span between two physical offsets, of which the first must be a record's for a walk."""
        start, end = max(start, self.start), min(end, self.end)
        files = tuple(file for file in self.files if file.end > start and file.start < end)
        return replace(self, start=start, end=end, files=files, clipped=True)
