"""Appending a group of drafts with one store timestamp, by the kernel's writer or its Python twin (`group_writer`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocketwire import native
from rocketwire.store.append.drafts import AppendResult, Draft
from rocketwire.store.append.group_writer import GroupWriter
from rocketwire.store.disk.files import FileSystem, store_error_for
from rocketwire.store.errors import StoreError, StoreNotWritable, StoreUnreadable
from rocketwire.store.index.key_index import KeyIndex
from rocketwire.store.log.checkpoint import Checkpoint
from rocketwire.store.log.commit_log import CommitLog
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.queues.queues import QueueTable


class Appender:
    """Appends to one store.

    Attributes:
        error: Why the last `append` did not take all of its drafts.
    """

    def __init__(
        self,
        log: CommitLog,
        queues: QueueTable,
        index: KeyIndex | None,
        checkpoint: Checkpoint,
        files: FileSystem,
        *,
        clock: Callable[[], int],
        store_host: bytes,
    ) -> None:
        self.error: StoreError | None = None
        self._log = log
        self._checkpoint = checkpoint
        self._files = files
        self._clock = clock
        keys = None if index is None else index.keys
        twin = GroupWriter(log, queues, keys, store_host)
        self._writers = [twin.append]
        if native.kernel is not None:
            create = native.kernel.GroupWriter
            writer = create(log, queues.by_key, queues.create, keys, store_host, Draft, AppendResult, twin.prepare)
            self._writers.insert(0, writer.append)

    def append(self, drafts: Sequence[Draft], touched: set[ConsumeQueue]) -> list[AppendResult]:
        """Append drafts in their order; those after the first that did not fit are not appended.

        The queues that got messages are added to `touched`.
        """
        now = self._clock()
        results: list[AppendResult] = []
        self.error = None
        try:
            if now <= self._checkpoint.claimed:
                self._checkpoint.retract(now)
            for append in self._writers:
                append(drafts, results, touched, now)
                if len(results) == len(drafts):
                    break
        except StoreUnreadable as error:
            self.error = StoreNotWritable(error.path, error.reason)
        except StoreError as error:
            self.error = error
        except OSError as error:
            self.error = store_error_for(error, self._log.segments.directory, self._files)
        finally:
            if results:
                self._log.timestamp = now
        return results
