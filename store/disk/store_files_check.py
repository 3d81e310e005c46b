"""Whether the files of an open store are still in place: they may be removed or moved while the server runs.

Mapped files can still be read and written, but what is written to them is lost unless they are put back, so nothing may
be stored meanwhile. A missing folder is not made again: what was moved away could not be put back. Two files are
restored, because they protect the next process: `abort` is written again, and the lock is taken again.
"""

from __future__ import annotations

import contextlib
import threading
from itertools import islice
from typing import TYPE_CHECKING, Final

from rocketwire.store.disk.files import missing_path_error
from rocketwire.store.errors import StoreError, StoreGone, StoreLocked

if TYPE_CHECKING:
    from rocketwire.store.disk.files import FileSystem
    from rocketwire.store.log.commit_log import CommitLog
    from rocketwire.store.queues.queues import QueueTable
    from rocketwire.store.settings import StoreSettings

#: So many queues are checked at a time, of those that were written since their last flush.
_MOST_QUEUES: Final = 1000


class StoreFilesCheck:
    """Checks the files of one store.

    Attributes:
        lock: The descriptor of the lock.
        lost: Another process has taken the store, as its lock was removed.
    """

    def __init__(
        self, settings: StoreSettings, log: CommitLog, queues: QueueTable, files: FileSystem, lock: int
    ) -> None:
        self.lock = lock
        self._settings = settings
        self._log = log
        self._queues = queues
        self._files = files
        self.lock_lost: StoreLocked | None = None
        root = str(settings.root)
        self._needed = (root, settings.commit_log, settings.consume_queues)
        #: Folders that a store does not need until they are made.
        self._other_folders = (f"{root}/config", settings.index, settings.timer_log)
        self._seen: set[str] = set()
        self._turn = 0
        self._looking = threading.Lock()

    def check(self) -> StoreError | None:
        """Why nothing may be stored; None if all required files exist. Blocking; safe in a thread."""
        with self._looking:
            if self.lock_lost is None:
                try:
                    self._check()
                except (StoreGone, StoreLocked) as error:
                    return error
            return self.lock_lost

    def _check(self) -> None:
        files = self._files
        for folder in self._needed:
            if files.identity(folder) is None:
                raise missing_path_error(folder, files)
        self._log.check_exists()
        if files.identity(self._settings.lock) != files.identity(self.lock):
            self._lock_again()
        if files.size(self._settings.abort) is None:
            with contextlib.suppress(OSError):
                files.write(self._settings.abort, b"")

    def _lock_again(self) -> None:
        try:
            lock = self._files.lock(self._settings.lock)
        except StoreLocked as error:
            self.lock_lost = error  # for good: another has written the files since
            raise
        except OSError:
            return
        former, self.lock = self.lock, lock
        self._files.close(former)

    def missing_optional_files(self) -> list[StoreGone]:
        """Other missing folders and files of queues; appends to these queues fail until the files are back.

        Not in a thread.
        """
        found = []
        for folder in self._other_folders:
            if self._files.identity(folder) is not None:
                self._seen.add(folder)
            elif folder in self._seen:
                found.append(missing_path_error(folder, self._files))
        dirty = list(self._queues.dirty)
        start = self._turn if self._turn < len(dirty) else 0
        self._turn = start + _MOST_QUEUES
        for queue in islice(dirty, start, self._turn):
            try:
                queue.ensure_mapped()
            except StoreGone as error:
                found.append(error)
        return found
