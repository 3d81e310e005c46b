"""How far the timer got, on the disk: written down at intervals, while anything changes."""

from __future__ import annotations

from collections.abc import Callable

import trio

from rocketwire.server.core.threads import RunSync
from rocketwire.server.timer.tasks import JobFaults, WakeSignal
from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.timer.timer_index import TimerIndex, TimerSnapshot


class TimerProgress:
    """Saves the index of one store.

    Args:
        index: The index.
        store: Its store.
        changed: Rings when there is something to save.
        interval: Seconds between two times.
        run_sync: Runs what waits for the disk.
        note: Called whenever it is saved.
    """

    def __init__(
        self,
        index: TimerIndex,
        store: StoreProtocol,
        changed: WakeSignal,
        *,
        interval: float,
        run_sync: RunSync,
        note: Callable[[], None],
    ) -> None:
        self._index = index
        self._store = store
        self._changed = changed
        self._interval = interval
        self._run_sync = run_sync
        self._note = note
        self._faults = JobFaults("timer files")

    async def run(self) -> None:
        """Save without end."""
        while True:
            await self._changed.wait()
            await trio.sleep(self._interval)
            async with self._faults.log_and_pause():
                await self._save()

    async def _save(self) -> None:
        snapshot = self._index.snapshot()
        if snapshot is None:
            return
        try:
            await self._run_sync(self._write, snapshot)
        except BaseException:
            self._changed.wake()
            raise
        self._note()
        self._index.remove_settled_files()

    def _write(self, snapshot: TimerSnapshot) -> None:
        try:
            self._store.flush_to(snapshot.log_end)  # outcomes speak of copies: the disk has to have these first
        except StoreError:
            self._index.log.put_back(snapshot.segments)
            raise
        self._index.save(snapshot)
