"""The interface of a store for the server's handlers and services, which a remote cluster could implement, too.

`MessageStore` (`store.store`) is the implementation over this machine's own files. What only that one has (its files,
their retention, the index, and what the kernel writes to) is no part of the protocol: `server/maintenance`,
`server/timer` and the `kernel.py` of a room know `MessageStore` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.errors import StoreError
from rocketwire.store.index.query import QueryResult
from rocketwire.store.log.log_scan import ScanResult
from rocketwire.store.read.fetch import ANY_TEXT, FetchResult
from rocketwire.store.read.reader import LogPart


class StoreProtocol(Protocol):
    """Messages in queues, over one log. All is called on the event loop and returns at once, but `flush_to`.

    A queue is named by its topic and number; a queue offset counts its messages from 0, a physical offset is a
    message's place in the log. Records are bytes as RocketMQ's commit log holds them (`store.layout.record`); a view of
    one is valid until the caller yields. Times are in ms since 1970, and -1 stands for none.
    """

    # --- appending ---

    def append(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append a group in order: it can be read when this returns, and is durable when `flushed_offset` is past it.

        A shorter result means that the rest was refused: `append_error` has the reason. The same drafts may be tried
        again.
        """
        ...

    @property
    def append_error(self) -> StoreError | None:
        """Why the last `append` did not take all of its drafts."""
        ...

    @property
    def append_refusal(self) -> StoreError | None:
        """Why no message is taken now, whatever it is like; None: messages are taken."""
        ...

    @property
    def last_append_timestamp(self) -> int:
        """Store timestamp of the last group."""
        ...

    def on_store_error(self, error: Exception) -> bool:
        """Note the error of a request; false: it is not about a missing file, and the caller logs it."""
        ...

    # --- durability ---

    @property
    def flushed_offset(self) -> int:
        """Everything before this physical offset is on the disk."""
        ...

    def flush_to(self, offset: int) -> None:
        """Return once the log up to `offset` is on the disk. Blocking; safe in a thread.

        Raises:
            FlushFailed: the disk refused; nothing more is appended.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        ...

    @property
    def stopped_cleanly(self) -> bool:
        """Whether the last stop lost nothing, so that the log and the tables agree."""
        ...

    # --- the log ---

    @property
    def min_physical_offset(self) -> int:
        """Where the oldest record of the log is."""
        ...

    @property
    def max_physical_offset(self) -> int:
        """Where the next record goes."""
        ...

    def record_at(self, physical_offset: int, size: int | None = None) -> memoryview | None:
        """The record at a physical offset; None when none can begin there. Without `size` the record's own is taken.

        Only its first fields are checked: a caller who did not get the place from the store decodes it with all checks.
        """
        ...

    def newest_record(self) -> memoryview | None:
        """The last record of the log; None when it is not a consumer's message."""
        ...

    def log_part(self, physical_offset: int) -> LogPart | None:
        """The part of the log around a physical offset that is mapped as one, for callers that read many records."""
        ...

    def scan(self, offset: int, end: int, needle: bytes) -> ScanResult:
        """Some of the records between two physical offsets, those that hold certain bytes."""
        ...

    def file_before(self, timestamp: int) -> int:
        """A physical offset from which on all messages stand that were stored at a time or later."""
        ...

    # --- queues ---

    @property
    def delay_levels(self) -> Sequence[int]:
        """How long the messages of each delay level wait, in ms; the first level's at 0."""
        ...

    def queue_ids(self, topic: str) -> list[int]:
        """The queues of a topic that have, or had, a message; in no order."""
        ...

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Queue offset of the oldest message; 0 for a queue that does not exist."""
        ...

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Queue offset of the next message; 0 for a queue that does not exist."""
        ...

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        max_bytes: int | None = None,
        accept: Callable[[int], bool] | None = None,
        matches: Callable[[bytes], bool] | None = None,
        most_text: int = ANY_TEXT,
    ) -> FetchResult:
        """Messages of a queue from an offset on, and where the reader continues, by the rules of Apache 4.9.7.

        At most `max_count` of at most `max_bytes` (None: as configured), but always one; those whose tags code `accept`
        takes and whose property text `matches` takes, up to the message whose text is beyond `most_text` bytes in all.
        """
        ...

    def queue_entries(self, topic: str, queue_id: int, offset: int, most: int) -> tuple[int, bytes]:
        """Consume-queue entries (20 bytes each) from an offset on, `most` at most, and the offset of the first.

        That is another one when there is none there, or not any more. No entries: the queue ends there.
        """
        ...

    def place(self, key: tuple[str, int], offset: int) -> int | None:
        """Physical offset of a queue's message; None when there is none at that queue offset."""
        ...

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """When a message was stored."""
        ...

    def earliest_time(self, topic: str, queue_id: int) -> int:
        """When a queue's oldest message was stored."""
        ...

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int) -> int:
        """Queue offset of the first message stored at a time or later; the queue's end if there is none."""
        ...

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryResult:
        """Records with a key (its hash: the caller compares the real ones), stored between two times."""
        ...
