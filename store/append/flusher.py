"""Flushing a store: the intervals of ASYNC_FLUSH, flushes on request, the checkpoint, and failed syncs.

All of it blocks on the disk and may run in a thread beside appends. The checkpoint's times never claim more than was
flushed: the time is taken before the flush begins, and the last message of that time was written before. If the clock
goes back below it meanwhile, the flush proves nothing (Checkpoint.claim).

Only a failed sync is final. An error before it, such as a lack of descriptors, is temporary: the next flush tries
again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.store.disk.files import FileSystem, store_error_for
from rocketwire.store.errors import FlushDelayed, FlushFailed, StoreGone, SyncFailed
from rocketwire.store.index.key_index import KeyIndex
from rocketwire.store.log.checkpoint import Checkpoint
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.queues import QueueTable
from rocketwire.store.settings import StoreSettings

_PAGE: Final = 4096


class Flusher:
    """Flushes one store.

    Attributes:
        error: A sync failed; nothing is flushed any more.
    """

    def __init__(
        self,
        settings: StoreSettings,
        log: CommitLog,
        queues: QueueTable,
        index: KeyIndex | None,
        checkpoint: Checkpoint,
        files: FileSystem,
        *,
        last_timestamp: Callable[[], int],
        failed: Callable[[], None],
    ) -> None:
        self.error: FlushFailed | None = None
        self._settings = settings
        self._log = log
        self._queues = queues
        self._index = index
        self._checkpoint = checkpoint
        self._files = files
        self._last_timestamp = last_timestamp
        self._failed = failed
        self._log_at = self._log_thorough_at = 0
        self._queues_at = self._queues_thorough_at = 0

    def flush_to(self, offset: int) -> None:
        """Flush the log up to `offset` at least; raises FlushFailed or FlushDelayed."""
        self._guarded(lambda: self._flush_log(offset))

    def flush_by_interval(self, now: int) -> None:
        """Flush what is due `now` ms after the store was opened; raises FlushFailed or FlushDelayed."""
        self._guarded(lambda: self._flush_due(now))

    def save_checkpoint(self) -> None:
        """Flush all queues and full index files, write the checkpoint; raises FlushFailed or FlushDelayed."""
        self._guarded(self._save_checkpoint)

    def flush_all(self) -> None:
        """Flush everything for a clean stop, and mark the checkpoint as final; raises FlushFailed or FlushDelayed."""
        self._guarded(self._flush_all)

    def _flush_log(self, offset: int) -> None:
        # In this order, so that every message of this time is before this physical offset.
        timestamp = self._last_timestamp()
        claim = self._checkpoint.begin_proof(timestamp)
        position = self._log.position
        self._log.flush_to(offset)
        if timestamp and self._log.flushed >= position:
            self._checkpoint.prove_commit_log(timestamp, claim)

    def _flush_due(self, now: int) -> None:
        settings = self._settings
        if _due(now, self._log_at, settings.flush_interval_commit_log):
            self._log_at = now
            dirty_pages = self._log.position // _PAGE - self._log.flushed // _PAGE
            thorough = _due(now, self._log_thorough_at, settings.flush_commit_log_thorough_interval)
            if thorough or dirty_pages >= settings.flush_commit_log_least_pages:
                self._flush_log(self._log.position)
                self._log_thorough_at = now
        if _due(now, self._queues_at, settings.flush_interval_consume_queue):
            self._queues_at = now
            if _due(now, self._queues_thorough_at, settings.flush_consume_queue_thorough_interval):
                self._save_checkpoint()
                self._queues_thorough_at = now
            else:
                self._queues.flush(settings.flush_consume_queue_least_pages * _PAGE)

    def _save_checkpoint(self) -> None:
        timestamp = self._last_timestamp()
        claim = self._checkpoint.begin_proof(timestamp)
        self._queues.flush(0)
        if timestamp:
            self._checkpoint.prove_consume_queue(timestamp, claim)
        if self._index is not None:
            self._index.flush_full(self._checkpoint)
        self._checkpoint.save()

    def _flush_all(self) -> None:
        if self._index is not None:
            self._index.close()
        self._flush_log(self._log.position)
        self._save_checkpoint()

    def _guarded(self, action: Callable[[], None]) -> None:
        if self.error is not None:
            raise self.error
        try:
            action()
        except SyncFailed as error:
            self.error = FlushFailed(str(self._settings.root), error.strerror or str(error))
            self._failed()
            raise self.error from error
        except OSError as error:
            refused = store_error_for(error, str(self._settings.root), self._files)
            raise refused if isinstance(refused, StoreGone) else FlushDelayed(refused.path, refused.reason) from error


def _due(now: int, last: int, interval: int) -> bool:
    return now - last >= interval
