"""Flushing the timer's files: first the timer log, then its progress in config/timercheck."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rocketwire.store.disk.files import store_error_for
from rocketwire.store.errors import FlushDelayed, FlushFailed, StoreGone, SyncFailed
from rocketwire.store.timer.check import TimerCheckpoint, TimerCheckpointExtension, read_checkpoint, write_checkpoint

if TYPE_CHECKING:
    from rocketwire.store.disk.files import FileSystem
    from rocketwire.store.disk.segment import Segment
    from rocketwire.store.settings import StoreSettings
    from rocketwire.store.timer.log import TimerLog
    from rocketwire.store.timer.wheel import TimerWheel


class TimerSnapshot(NamedTuple):
    """What has to be flushed: the timer's progress, and the files of the timer log that were written.

    Attributes:
        log_end: End of the commit log.
        read_time: See TimerIndex.
        timer_log_end: End of the timer log.
        queue_offset: See TimerIndex.
        segments: Files of the timer log.
        number: Counts snapshots.
    """

    log_end: int
    read_time: int
    timer_log_end: int
    queue_offset: int
    segments: list[Segment]
    number: int = 0


class TimerFilesSaver:
    """The writer of one store's timer files.

    Attributes:
        check: The content of config/timercheck; None when it has none.
        saved: Number of the last snapshot that is on the disk.
    """

    def __init__(self, settings: StoreSettings, log: TimerLog, wheel: TimerWheel, files: FileSystem) -> None:
        self.check: TimerCheckpoint | None = None
        self.saved = 0
        self._path = settings.timer_check
        self._root = str(settings.root)
        self._precision = settings.timer_precision
        self._log = log
        self._wheel = wheel
        self._files = files
        self._failed: FlushFailed | None = None

    def load(self) -> None:
        """Read the file.

        Raises:
            OSError: it cannot be read.
        """
        self.check = read_checkpoint(self._path, self._files)

    def differs(self, snapshot: TimerSnapshot, *, clean: bool = False) -> bool:
        """Whether the file differs from the snapshot; no file and an empty snapshot do not differ."""
        if clean and self.check is not None and (self.check.extension is None or not self.check.extension.clean):
            return True
        check = self.check or TimerCheckpoint(last_read_time=snapshot.read_time)
        said = check.last_read_time, check.last_log_flushed, check.last_queue_offset
        return said != (snapshot.read_time, snapshot.timer_log_end, snapshot.queue_offset)

    def check_of(self, snapshot: TimerSnapshot, *, clean: bool = False) -> TimerCheckpoint:
        """The file's next content. The data version's counter changes, so that slaves notice it."""
        former = self.check or TimerCheckpoint()
        return TimerCheckpoint(
            last_read_time=snapshot.read_time,
            last_log_flushed=snapshot.timer_log_end,
            last_queue_offset=snapshot.queue_offset,
            master_queue_offset=snapshot.queue_offset,
            state_version=former.state_version,
            timestamp=snapshot.read_time,
            counter=former.counter + 1,
            extension=TimerCheckpointExtension(log_place=snapshot.log_end, precision=self._precision, clean=clean),
        )

    def save(self, snapshot: TimerSnapshot, *, clean: bool) -> None:
        """Flush a snapshot; at a `clean` stop with the wheel. Blocking; safe in a thread, one call at a time.

        Raises:
            FlushFailed: a sync failed; nothing is saved any more until the store is opened again.
            FlushDelayed: it could not be started now; the next snapshot includes it.
        """
        check = self.check_of(snapshot, clean=clean)
        with self._refusals(snapshot.segments):
            self._log.sync(snapshot.segments)
            if clean:
                self._wheel.sync()
                self._files.sync_directory(self._root)
            write_checkpoint(self._path, self._files, check)
        self.check = check
        self.saved = snapshot.number

    def save_log(self) -> None:
        """Flush all that was written to the timer log. Blocking; raises what `save` does."""
        segments = self._log.take_unsynced()
        with self._refusals(segments):
            self._log.sync(segments)

    def begin_again(self) -> None:
        """Write to the file that all records need units, until the next save. Blocking; raises what `save` does.

        For a recovery that rebuilds all units, and may be stopped half-way.
        """
        if self.check is None:
            return
        check = replace(
            self.check,
            last_log_flushed=0,
            last_queue_offset=0,
            master_queue_offset=0,
            counter=self.check.counter + 1,
            extension=None,
        )
        with self._refusals([]):
            write_checkpoint(self._path, self._files, check)
        self.check = check

    @contextlib.contextmanager
    def _refusals(self, segments: list[Segment]) -> Iterator[None]:
        if self._failed is not None:
            raise self._failed
        try:
            yield
        except SyncFailed as error:
            self._failed = FlushFailed(self._path, error.strerror or str(error))
            raise self._failed from error
        except StoreGone:
            self._log.put_back(segments)
            raise
        except OSError as error:
            self._log.put_back(segments)
            refused = store_error_for(error, self._path, self._files)
            raise refused if isinstance(refused, StoreGone) else FlushDelayed(refused.path, refused.reason) from error
