"""Retention: when expired files are removed, and when the disk is too full for sends.

The rules and the removal are the store's (`store.retention`). This is the schedule, Apache's: the disk is checked every
10 s, and files every `cleanResourceInterval`, some per pass, with a pause after each, so that readers and senders do
not notice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from typing import Final

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock, hour_of_day
from rocketwire.server.core.threads import RunSync
from rocketwire.server.maintenance.keys import RetentionKeys
from rocketwire.store.errors import DiskNearlyFull, StoreError
from rocketwire.store.queues.consume_queue import ConsumeQueue
from rocketwire.store.retention import MOST_FILES, CleaningDecision, DiskUsage, RetentionRules, decide_cleaning
from rocketwire.store.store import MessageStore

log = logging.getLogger(__name__)

_FIRST_LOOK_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 10.0
_FIRST_PASS_SECONDS: Final = 60.0
_PASSES_OF_REQUEST: Final = 20
_HOUR_MS: Final = 3_600_000
_FAULTS: Final = (OSError, StoreError)


class FileRetention:
    """Keeps one store within its retention time and its disk.

    Attributes:
        usage: Disk usage at the last check; None before the first.

    Args:
        store: The store.
        keys: The rules.
        clock: The time in ms since 1970.
        run_sync: Runs blocking calls.
        held: Whether old messages are still needed: then files are removed only when the disk is too full.
        budget: Of the background work, which going through the queues is.
    """

    def __init__(
        self,
        store: MessageStore,
        keys: LiveGroup[RetentionKeys],
        clock: Clock,
        run_sync: RunSync,
        held: Callable[[], bool],
        budget: BackgroundBudget,
    ) -> None:
        self.usage: DiskUsage | None = None
        self._store = store
        self._keys = keys
        self._clock = clock
        self._run_sync = run_sync
        self._held = held
        self._budget = budget
        self._requested_passes = 0
        self._cleaned_to = 0
        self._stuck = False
        #: A removal that may not be on the disk yet; no other file is removed before it is.
        self._unsynced = False

    def remove_expired_soon(self) -> None:
        """Make the next 20 passes remove expired files, whatever the hour: an administrator's request (329)."""
        self._requested_passes = _PASSES_OF_REQUEST

    async def watch_disk(self) -> None:
        """Refuse sends while the disk is too full; never returns."""
        await trio.sleep(_FIRST_LOOK_SECONDS)
        while True:
            try:
                await self._look()
            except _FAULTS as error:
                _log_fault("disk", error)
            await trio.sleep(_LOOK_SECONDS)

    async def clean(self) -> None:
        """Remove expired files; never returns."""
        await trio.sleep(_FIRST_PASS_SECONDS)
        while True:
            try:
                await self._pass()
            except _FAULTS as error:
                _log_fault("expired files", error)
            await trio.sleep(self._keys.current.clean_resource_interval / 1000)

    async def _look(self) -> CleaningDecision:
        """Check the disk, and have the store refuse or accept messages."""
        self.usage = usage = await self._run_sync(self._store.retention.disk_usage)
        rules = retention_rules(self._keys.current)
        requested = self._requested_passes > 0
        verdict = decide_cleaning(rules, usage.fullest, hour=hour_of_day(self._clock()), requested=requested)
        refusing = self._store.disk_refusal is not None
        if verdict.full and not refusing:
            log.error(
                "the disk is %(percent).0f %% full, sends are refused (%(usage)s)",
                {"percent": usage.fullest * 100, "usage": usage},
            )
        elif refusing and not verdict.full:
            log.info("the disk is %(percent).0f %% full, sends are taken again", {"percent": usage.fullest * 100})
        self._store.disk_refusal = DiskNearlyFull(str(usage)) if verdict.full else None
        return verdict

    async def _pass(self) -> None:
        if self._unsynced:
            await self._sync_log()
        verdict = await self._look()
        if verdict.clean:
            self._requested_passes = max(0, self._requested_passes - 1)
            removed = await self._remove_log_files(verdict)
            if verdict.forcibly and not removed and not self._stuck:
                log.warning("the disk is nearly full and there is no file to remove")
            self._stuck = verdict.forcibly and not removed
        start = self._store.retention.log_start
        if start > self._cleaned_to and await self._remove_what_pointed_there():
            self._cleaned_to = start

    async def _remove_log_files(self, verdict: CleaningDecision) -> int:
        retention = self._store.retention
        for number in range(MOST_FILES):
            if not verdict.forcibly and self._held():
                return number
            keys = self._keys.current
            if number:
                await trio.sleep(keys.delete_commit_log_files_interval / 1000)
            reserved = keys.file_reserved_time * _HOUR_MS
            segment = retention.detach_log_file(self._clock(), reserved, forcibly=verdict.forcibly)
            if segment is None:
                return number
            try:
                await self._run_sync(segment.remove)
            except OSError:
                retention.reattach_log_file(segment)
                raise
            log.info("removed %(file)s", {"file": segment.path})
            self._unsynced = True
            await self._sync_log()
        return MOST_FILES

    async def _sync_log(self) -> None:
        await self._run_sync(self._store.retention.sync_log)
        self._unsynced = False

    async def _remove_what_pointed_there(self) -> bool:
        """True when nothing remains to retry."""
        retention = self._store.retention
        whole = True
        queues = retention.queues()
        failed: dict[tuple[str, int], Exception] = {}
        while (queue := await self._budget.carry_out(self._next_expired(queues, failed))) is not None:
            try:
                await self._run_sync(retention.sync_queue, queue)
                while retention.remove_queue_file(queue):
                    await self._run_sync(retention.sync_queue, queue)
            except _FAULTS as error:
                failed[queue.key] = error
            await trio.sleep(self._keys.current.delete_consume_queue_files_interval / 1000)
        if failed:
            key, reason = next(iter(failed.items()))
            whole = False
            _log_fault("{} queues keep expired files; topic {}: queue {}".format(len(failed), *key), reason)
        for file in retention.detach_index_files():
            await self._run_sync(file.remove)
        return whole

    def _next_expired(
        self, queues: Iterator[ConsumeQueue], failed: dict[tuple[str, int], Exception]
    ) -> Generator[None, None, ConsumeQueue | None]:
        """The next queue that has lost a file, of which all messages had expired; None: there is none."""
        for queue in queues:
            try:
                if self._store.retention.remove_queue_file(queue):
                    return queue
            except _FAULTS as error:
                failed[queue.key] = error
            yield
        return None


def _log_fault(job: str, error: Exception) -> None:
    log.error("%(job)s: %(reason)s", {"job": job, "reason": error})


def retention_rules(keys: RetentionKeys) -> RetentionRules:
    """The store's retention rules of the current configuration."""
    return RetentionRules(
        hours=frozenset(int(hour) for hour in keys.delete_when.split(";")),
        max_used=min(max(keys.disk_max_used_space_ratio, 10), 95) / 100,
        clean_forcibly=keys.disk_space_clean_forcibly_ratio / 100,
        warning=keys.disk_space_warning_level_ratio / 100,
        forcibly_enabled=keys.clean_file_forcibly_enable,
    )
