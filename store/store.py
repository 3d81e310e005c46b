"""The store: one directory in Apache RocketMQ's format, opened, locked and recovered; appended to and read (`reader`).

Everything is synchronous. `append`, `get` and the other reads belong to one thread (the event loop's). `flush_to`,
`flush_due`, `dispatch_index` and `query` may run in another one meanwhile, for they wait for the disk.
"""

from __future__ import annotations

import contextlib
import errno
import logging
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Final

from rocketwire.store.append.appender import Appender
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.append.flusher import Flusher
from rocketwire.store.disk.files import NO_ROOM, FileSystem
from rocketwire.store.disk.foreign import LOST_AND_FOUND
from rocketwire.store.disk.store_files_check import StoreFilesCheck
from rocketwire.store.errors import (
    DiskFull,
    StoreClosed,
    StoreError,
    StoreForeign,
    StoreGone,
    StoreNotWritable,
    SyncFailed,
)
from rocketwire.store.event import Event
from rocketwire.store.index.index_backlog import READ
from rocketwire.store.index.key_index import KeyIndex
from rocketwire.store.log.checkpoint import Checkpoint
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queues import QueueTable
from rocketwire.store.read.fetch import FetchLimits
from rocketwire.store.read.reader import StoreReader
from rocketwire.store.recovery.recovery import RecoveryResult, recover
from rocketwire.store.retention import Retention
from rocketwire.store.settings import StoreSettings
from rocketwire.store.tables.deleted_topics import DeletedTopics
from rocketwire.store.tables.topics import topic_names

if TYPE_CHECKING:
    from rocketwire.store.index.key_column import PythonKeyColumn

log = logging.getLogger(__name__)

#: What a store's directory may hold; one of them makes a directory a store. Those of 5.x have them too.
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
#: Content of `abort` after a failed sync, else it is empty. Apache's brokers only check that the file exists.
_SYNC_FAILED: Final = b"sync failed"
_MOST_MISSING: Final = 64


class MessageStore(StoreReader):
    """An open store; made by `open`, read by the methods of StoreReader.

    Attributes:
        arrivals: Called after each group with the (topic, queue id) pairs that got messages.
        recovered: What the recovery at the start did.
        disk_refusal: Why nothing is appended though the store itself could: set by the service that watches the disk.
        files_refusal: Why nothing is appended, when files of the store are missing.
        missing_files: The files found to be missing, by path; see `on_store_error`.
        retention: Removes expired files.
        deleted_topics: The topics whose messages in the log are dead.
    """

    def __init__(
        self,
        settings: StoreSettings,
        files: FileSystem,
        clock: Callable[[], int],
        store_host: bytes,
        lock: int,
    ) -> None:
        log = CommitLog(settings.commit_log, settings.commit_log_file_size, files, sync_flush=settings.sync_flush)
        index = KeyIndex(settings, files, log, clock) if settings.message_index_enable else None
        limits = FetchLimits(
            memory=files.memory() * settings.access_message_in_memory_max_ratio // 100,
            count_in_memory=settings.max_transfer_count_in_memory,
            bytes_in_memory=settings.max_transfer_bytes_in_memory,
            count_on_disk=settings.max_transfer_count_on_disk,
            bytes_on_disk=settings.max_transfer_bytes_on_disk,
        )
        super().__init__(log, QueueTable(settings, files), index, limits)
        self.settings = settings
        self.arrivals = Event[[list[tuple[str, int]]]]()
        self.recovered = RecoveryResult(start=0, end=0, records=0, last_timestamp=0)
        self.disk_refusal: StoreError | None = None
        self.files_refusal: StoreError | None = None
        self.missing_files: dict[str, StoreGone] = {}
        self.retention = Retention(settings, self._log, self._queues, self._index, files)
        self._files = files
        self._presence = StoreFilesCheck(settings, self._log, self._queues, files, lock)
        self._closed = False
        self._append_error: StoreError | None = None
        self.deleted_topics = DeletedTopics(settings.deleted_topics, files, {})
        self._checkpoint = Checkpoint(settings.checkpoint, files)
        self._appender = Appender(
            self._log, self._queues, self._index, self._checkpoint, files, clock=clock, store_host=store_host
        )
        self._flusher = Flusher(
            settings,
            self._log,
            self._queues,
            self._index,
            self._checkpoint,
            files,
            last_timestamp=lambda: self.last_append_timestamp,
            failed=self._note_failure,
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
        files = files or FileSystem()
        root = str(settings.root)
        try:
            names = {name for name in files.names(root) if name != LOST_AND_FOUND and not name.startswith(".")}
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
            place = error.filename if isinstance(error.filename, str) else root
            if error.errno == errno.ENOTDIR:
                raise StoreForeign(place, "it is not a directory") from error
            if error.errno in NO_ROOM:
                raise DiskFull(place, reason) from error
            raise StoreNotWritable(place, reason) from error
        return self

    def _load(self) -> None:
        files = self._files
        abort = files.read(self.settings.abort)
        clean = abort is None
        failed = abort == _SYNC_FAILED
        if not clean:
            log.info("recovering %(store)s: its last stop was not a clean one", {"store": self.settings.root})
        self._log.load()
        self._queues.load(log_start=self._log.start, clean=clean)
        if self._index is not None:
            self._index.load(self._checkpoint, clean=clean)
        files.make_directory(self.settings.commit_log)
        files.make_directory(self.settings.consume_queues)
        files.make_directory(f"{self.settings.root}/config")
        # From here on the files are changed: a stop in the middle is not a clean one.
        files.write(self.settings.abort, _SYNC_FAILED if failed else b"")
        self._checkpoint.create()
        self.deleted_topics = DeletedTopics.open(self.settings.deleted_topics, files)
        self.recovered = recover(
            self._log,
            self._queues,
            self._checkpoint,
            self.settings,
            clean=clean,
            topics=lambda: topic_names(self.settings.topics, files),
            dead_before=self.deleted_topics.dead_before(self._log.start),
        )
        if self._index is not None:
            self._index.start(self._checkpoint)
        if not clean:
            try:
                self._log.settle(self.recovered.start, rewrite=failed)
            except SyncFailed:
                self._note_failure()
                raise
        if failed:
            files.write(self.settings.abort, b"")

    def _note_failure(self) -> None:
        """Leave a mark for the next start that a sync failed, since the operating system reports it only once."""
        with contextlib.suppress(OSError):
            self._files.write(self.settings.abort, _SYNC_FAILED)

    def close(self) -> None:
        """Stop cleanly: index and flush everything, write the checkpoint, remove `abort`, unlock.

        Raises:
            StoreError: something could not be put on the disk; `abort` stays, so the next start recovers.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if self._presence.lock_lost is not None:
                raise self._presence.lock_lost
            self._flusher.flush_all()
            self._log.close()
            self._files.remove(self.settings.abort)
            self._files.sync_directory(str(self.settings.root))
        except OSError as error:
            raise StoreNotWritable(str(self.settings.root), error.strerror or str(error)) from error
        finally:
            self._queues.close()
            self._log.segments.unmap_all()
            self._files.close(self._presence.lock)

    @property
    def stopped_cleanly(self) -> bool:
        """Whether the stop before this start was a clean one."""
        return self.recovered.clean

    @property
    def delay_levels(self) -> tuple[int, ...]:
        """How long the messages of each delay level wait, in ms."""
        return self.settings.delay_levels

    # --- appending ---

    @property
    def append_error(self) -> StoreError | None:
        """Why the last `append` did not take all of its drafts."""
        return self._append_error

    @property
    def last_append_timestamp(self) -> int:
        """Store timestamp in ms of the last group; after a start that of the last message recovery saw."""
        return self._log.timestamp or self.recovered.last_timestamp

    def append(self, drafts: Sequence[Draft]) -> list[AppendResult]:
        """Append a group in order; it can be read when this returns, and is durable after `flush_to`.

        A result shorter than the drafts means that the rest was refused: `append_error` has the reason. The same drafts
        may be tried again.
        """
        if self._refuses:
            self._append_error = self.append_refusal
            return []
        touched: set[ConsumeQueue] = set()
        results = self._appender.append(drafts, touched)
        self._append_error = self._appender.error
        self._notify_arrivals(touched)
        if self._append_error is not None and self.on_store_error(self._append_error):
            self.files_refusal = self._presence.check()
        return results

    @property
    def _refuses(self) -> bool:
        return (
            self._closed
            or self._flusher.error is not None
            or self.files_refusal is not None
            or self.disk_refusal is not None
        )

    @property
    def append_refusal(self) -> StoreError | None:
        """Why no message is taken now, whatever it is like; None: messages are taken."""
        if not self._refuses:
            return None
        return self._flusher.error or self.files_refusal or self.disk_refusal or StoreClosed(str(self.settings.root))

    # --- missing files ---

    def check_files(self) -> StoreError | None:
        """Why nothing may be stored, as its files are missing; None: they exist. Blocking; safe in a thread."""
        return self._presence.check()

    def apply_files_check(self, refusal: StoreError | None) -> None:
        """Refuse appends for the error from `check_files`, or accept them again; check for other missing files."""
        self.files_refusal = refusal
        if refusal is None:
            for error in self._presence.missing_optional_files():
                self.on_store_error(error)

    def on_store_error(self, error: Exception) -> bool:
        """Record that a file is missing; false: it is another error, which the caller has to report."""
        if isinstance(error, StoreGone) and len(self.missing_files) < _MOST_MISSING:
            self.missing_files.setdefault(error.path, error)
        return isinstance(error, StoreGone)

    def path_exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name. Blocking; safe in a thread."""
        return self._files.identity(path) is not None

    def _notify_arrivals(self, touched: Collection[ConsumeQueue]) -> None:
        self._queues.dirty.update(touched)
        if touched and self.arrivals:
            self.arrivals([queue.key for queue in touched])

    @property
    def index_keys(self) -> PythonKeyColumn | None:
        """The column that gets the keys of appended messages; None if there is no index."""
        return self._index.keys if self._index is not None else None

    def kernel_may_append_at(self, now: int) -> bool:
        """Whether the kernel may append messages of that store timestamp in ms: it does not retract a checkpoint."""
        return not self._refuses and now >= self.last_append_timestamp and now > self._checkpoint.claimed

    def note_kernel_appends(self, touched: Collection[ConsumeQueue]) -> None:
        """Notify of the queues that got messages from the kernel."""
        self._notify_arrivals(touched)

    # --- flushing and the index ---

    @property
    def flushed_offset(self) -> int:
        """Everything before this place in the log is on the disk."""
        return self._log.flushed

    def flush_to(self, offset: int) -> None:
        """Return once the log up to `offset` is on the disk. Blocking; safe in a thread.

        Raises:
            FlushFailed: the disk refused; nothing more is appended until the store is opened again.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        self._flusher.flush_to(offset)

    def flush_by_interval(self, passed_ms: int) -> None:
        """Flush what is due by the settings' intervals. Blocking; run it in a thread, every 500 ms or oftener.

        `passed_ms`: since the store was opened, whatever the wall clock did meanwhile.

        Raises:
            FlushFailed: the disk refused; nothing more is appended until the store is opened again.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        self._flusher.flush_by_interval(passed_ms)

    def checkpoint(self) -> None:
        """Flush all consume queues and full index files, then write the checkpoint. Blocking; safe in a thread.

        Raises:
            FlushFailed: the disk refused; nothing more is appended until the store is opened again.
            FlushDelayed: it could not be tried now; the same call may succeed later.
        """
        self._flusher.save_checkpoint()

    @property
    def index_suits_thread(self) -> bool:
        """Whether the next `dispatch_index` does better in a thread; else it is short, or would block all others."""
        return self._index is not None and self._index.suits_thread

    def dispatch_index(self, most: int = READ) -> bool:
        """Index some of the messages that are not indexed yet; true when there are more. Safe in a thread.

        Args:
            most: As many of those that have to be read from the log.

        Raises:
            DiskFull: there is no room for the index; the same call continues later.
            StoreNotWritable: its files could not be made or opened; the same call continues later.
        """
        return self._index is not None and not self._closed and self._index.dispatch(most)
