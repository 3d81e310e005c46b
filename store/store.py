"""The store: one directory in Apache RocketMQ's format, opened, locked and recovered; appended to and read.

Everything is synchronous. `append`, `get` and the other reads belong to one thread (the event loop's). `flush_to`,
`flush_due`, `dispatch_index` and `query` may run in another one meanwhile, for they wait for the disk.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from typing import Final

from rocketwire.store.appender import Appended, Appender, Draft
from rocketwire.store.checkpoint import Checkpoint
from rocketwire.store.commit_log import CommitLog
from rocketwire.store.consume_queue import ConsumeQueue
from rocketwire.store.errors import (
    DiskFull,
    StoreClosed,
    StoreError,
    StoreForeign,
    StoreNotWritable,
)
from rocketwire.store.fetch import Fetched, FetchLimits, FetchStatus, fetch
from rocketwire.store.files import NO_ROOM, FileSystem, RealFileSystem
from rocketwire.store.flusher import Flusher
from rocketwire.store.index import Index
from rocketwire.store.query import QueryResult, query
from rocketwire.store.queues import QueueTable
from rocketwire.store.records import SMALLEST
from rocketwire.store.recovery import Recovered, recover
from rocketwire.store.settings import StoreSettings
from rocketwire.store.times import offset_by_time, store_time
from rocketwire.wire.message import END_OF_FILE_BLANK, MAGIC_AT, MAGIC_V1, MAGIC_V2

__all__ = ["Appended", "Draft", "FetchStatus", "Fetched", "MessageStore", "QueryResult"]

log = logging.getLogger(__name__)

_BLANK_SIZE: Final[int] = END_OF_FILE_BLANK.sizeof()
#: What a store's directory may hold; one of them makes a directory a store. 5.x's included.
_KNOWN_NAMES: Final = frozenset(
    {
        "abort",
        "checkpoint",
        "commitlog",
        "config",
        "consumequeue",
        "index",
        "lock",
    }
)
_HARMLESS_NAMES: Final = frozenset({"lost+found"})


class MessageStore:
    """An open store; made by `open`.

    Attributes:
        arrivals: Called after each group with the (topic, queue id) pairs that got messages.
        recovered: What the recovery at the start did.
    """

    def __init__(
        self,
        settings: StoreSettings,
        files: FileSystem,
        clock: Callable[[], int],
        store_host: bytes,
        lock: int,
    ) -> None:
        self.settings = settings
        self.arrivals: Callable[[list[tuple[str, int]]], None] | None = None
        self.recovered = Recovered(start=0, end=0, records=0, last_timestamp=0)
        self._files = files
        self._lock = lock
        self._closed = False
        self._append_error: StoreError | None = None
        self._checkpoint = Checkpoint(settings.checkpoint, files)
        self._log = CommitLog(settings.commit_log, settings.commit_log_file_size, files, sync_flush=settings.sync_flush)
        self._queues = QueueTable(settings, files)
        self._index = Index(settings, files, self._log, clock) if settings.message_index_enable else None
        self._appender = Appender(self._log, self._queues, self._index, clock=clock, store_host=store_host)
        self._flusher = Flusher(
            settings,
            self._log,
            self._queues,
            self._index,
            self._checkpoint,
            last_timestamp=lambda: self.last_append_timestamp,
            now=clock(),
        )
        self._limits = FetchLimits(
            memory=files.memory() * settings.access_message_in_memory_max_ratio // 100,
            count_in_memory=settings.max_transfer_count_in_memory,
            bytes_in_memory=settings.max_transfer_bytes_in_memory,
            count_on_disk=settings.max_transfer_count_on_disk,
            bytes_on_disk=settings.max_transfer_bytes_on_disk,
        )

    # --- opening and closing ---

    @classmethod
    def open(
        cls,
        settings: StoreSettings,
        *,
        clock: Callable[[], int],
        store_host: bytes,
        files: FileSystem | None = None,
    ) -> MessageStore:
        """Lock, check and recover a directory; an empty or missing one becomes a new store.

        Args:
            settings: Where it is and how large its files are.
            clock: Gives the time in ms since 1970.
            store_host: The broker's address as records hold it: 8 bytes (IPv4) or 20.
            files: The file system, if not the real one.

        Raises:
            StoreLocked: another process uses it.
            StoreForeign: it is no RocketMQ store, or one with other file sizes.
            StoreNotWritable: it cannot be created or written.
            DiskFull: there is no room for what recovery has to write.
        """
        files = files or RealFileSystem()
        root = str(settings.root)
        try:
            names = set(files.names(root)) - _HARMLESS_NAMES
            if names and not names & _KNOWN_NAMES:
                example = min(names)
                raise StoreForeign(root, f"it is not empty and holds no store, but for example {example}")
            files.make_directory(root)
            lock = files.lock(settings.lock)
            try:
                self = cls(settings, files, clock, store_host, lock)
                self._load()
            except BaseException:
                files.close(lock)
                raise
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.ENOTDIR:
                raise StoreForeign(root, "it is not a directory") from error
            if error.errno in NO_ROOM:
                raise DiskFull(root, reason) from error
            raise StoreNotWritable(root, reason) from error
        return self

    def _load(self) -> None:
        files = self._files
        clean = files.size(self.settings.abort) is None
        if not clean:
            log.info("recovering %s: its last stop was not a clean one", self.settings.root)
        self._log.load()
        self._queues.load()
        if self._index is not None:
            self._index.load(self._checkpoint, clean=clean)
        files.make_directory(self.settings.commit_log)
        files.make_directory(self.settings.consume_queues)
        # From here on the files are changed: a stop in the middle is not a clean one.
        files.write(self.settings.abort, b"")
        self._checkpoint.create()
        self.recovered = recover(self._log, self._queues, self._checkpoint, self.settings, clean=clean)
        if self._index is not None:
            self._index.start()
        if not clean:
            self._log.flush_to(self._log.position)

    def close(self) -> None:
        """Stop cleanly: index and flush everything, write the checkpoint, remove `abort`, unlock.

        Raises:
            StoreError: something could not be put on the disk; `abort` stays, so the next start recovers.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._flusher.flush_all()
            self._log.close()
            self._files.remove(self.settings.abort)
            self._files.sync_directory(str(self.settings.root))
        finally:
            self._queues.close()
            self._log.segments.unmap_all()
            self._files.close(self._lock)

    # --- appending ---

    @property
    def append_error(self) -> StoreError | None:
        """Why the last `append` did not take all of its drafts."""
        return self._append_error

    @property
    def last_append_timestamp(self) -> int:
        """Store timestamp in ms of the last group; after a start that of the last message recovery saw."""
        return self._appender.last_timestamp or self.recovered.last_timestamp

    def append(self, drafts: Sequence[Draft]) -> list[Appended]:
        """Append a group in order; it can be read when this returns, and is durable after `flush_to`.

        A result shorter than the drafts means that the rest was refused: `append_error` says why. The same drafts may
        be tried again.
        """
        if self._closed or self._flusher.error is not None:
            self._append_error = self._flusher.error or StoreClosed(str(self.settings.root))
            return []
        touched: set[ConsumeQueue] = set()
        results = self._appender.append(drafts, touched)
        self._append_error = self._appender.error
        self._queues.dirty.update(touched)
        if touched and self.arrivals is not None:
            self.arrivals([queue.key for queue in touched])
        return results

    # --- reading ---

    def topics(self) -> set[str]:
        """Topics that have a consume queue."""
        return {topic for topic, _ in self._queues.by_key}

    def queue_ids(self, topic: str) -> list[int]:
        """Ids of a topic's consume queues."""
        return sorted(queue_id for name, queue_id in self._queues.by_key if name == topic)

    def has_queue(self, topic: str, queue_id: int) -> bool:
        """Whether a message was ever stored in a queue."""
        return (topic, queue_id) in self._queues.by_key

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Offset of a queue's next message; 0 for a queue that does not exist."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.end if queue is not None else 0

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Offset of a queue's oldest message; 0 for a queue that does not exist."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.min if queue is not None else 0

    @property
    def max_physical_offset(self) -> int:
        """Where the next record goes."""
        return self._log.position

    @property
    def min_physical_offset(self) -> int:
        """Where the oldest record is."""
        return self._log.start

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        max_bytes: int | None = None,
        accept: Callable[[int], bool] | None = None,
    ) -> Fetched:
        """Messages of a queue from an offset on, by 4.9.7's rules: see `fetch.fetch`.

        Args:
            topic: The topic.
            queue_id: Its queue.
            offset: Queue offset of the first message wanted.
            max_count: At most so many, but always one; the settings' limits hold besides.
            max_bytes: At most so many bytes, but always one message; None for the settings' limit.
            accept: Asked with each message's tags code; None accepts all.
        """
        limits = self._limits
        if max_bytes is not None and max_bytes != limits.bytes_in_memory:
            limits = FetchLimits(
                memory=limits.memory,
                count_in_memory=limits.count_in_memory,
                bytes_in_memory=max_bytes,
                count_on_disk=limits.count_on_disk,
                bytes_on_disk=min(max_bytes, limits.bytes_on_disk),
            )
        queue = self._queues.by_key.get((topic, queue_id))
        return fetch(self._log, queue, offset, max_count, limits, accept)

    def record_at(self, physical_offset: int, size: int | None = None) -> memoryview | None:
        """The record at a place in the log; None when none can begin there.

        Without `size` the record's own is taken. Only its first fields are looked at: a caller who did not get the
        place from the store decodes it with its checks.
        """
        head = self._log.read(physical_offset, _BLANK_SIZE)
        if head is None or int.from_bytes(head[MAGIC_AT:], signed=True) not in (MAGIC_V1, MAGIC_V2):
            return None
        own = int.from_bytes(head[:MAGIC_AT], signed=True)
        if own < SMALLEST:
            return None
        return self._log.read(physical_offset, own if size is None else size)

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """Store time in ms of a message, -1 when it is not there."""
        queue = self._queues.by_key.get((topic, queue_id))
        return -1 if queue is None else store_time(self._log, queue, queue_offset)

    def earliest_time(self, topic: str, queue_id: int) -> int:
        """Store time in ms of a queue's oldest message, -1 when it has none."""
        queue = self._queues.by_key.get((topic, queue_id))
        return -1 if queue is None else store_time(self._log, queue, queue.min)

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int) -> int:
        """Offset of the message stored nearest to a time in ms: see `times.offset_by_time`."""
        queue = self._queues.by_key.get((topic, queue_id))
        return 0 if queue is None else offset_by_time(self._log, queue, timestamp)

    def query(self, topic: str, key: str, max_count: int, begin_ms: int, end_ms: int) -> QueryResult:
        """Records with a key, stored between two times.

        Keys are compared by their hash only: the caller (Apache's client does) must compare the real ones. A message
        that was appended just before is found; while very many are not indexed yet, as after a stop that was not
        clean, only what is indexed so far: no query waits for all of that.
        """
        if self._index is None:
            return QueryResult(records=[], index_last_update_timestamp=0, index_last_update_offset=0)
        return query(self._index, self.record_at, topic, key, most=max_count, begin=begin_ms, end=end_ms)

    # --- flushing and the index ---

    @property
    def flushed_offset(self) -> int:
        """Everything before this place in the log is on the disk."""
        return self._log.flushed

    def flush_to(self, offset: int) -> None:
        """Return once the log up to `offset` is on the disk. Blocking; safe in a thread.

        Raises:
            FlushFailed: the disk refused; nothing more is appended until the store is opened anew.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        self._flusher.flush_to(offset)

    def flush_due(self, now_ms: int) -> None:
        """Flush what is due by the settings' intervals. Blocking; run it in a thread, every 500 ms or oftener.

        Raises:
            FlushFailed: the disk refused; nothing more is appended until the store is opened anew.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        self._flusher.flush_due(now_ms)

    def checkpoint(self) -> None:
        """Flush all consume queues and full index files, then write the checkpoint. Blocking; safe in a thread.

        Raises:
            FlushFailed: the disk refused; nothing more is appended until the store is opened anew.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        self._flusher.save_checkpoint()

    def dispatch_index(self) -> bool:
        """Index some of the messages that are not indexed yet; true when there are more. Safe in a thread.

        Raises:
            DiskFull: there is no room for the index; the same call goes on later.
        """
        return self._index is not None and not self._closed and self._index.dispatch()
