"""The broker's recurring jobs: flushing, building the index, saving tables that change constantly.

A job that fails is logged and retried after a while: a full disk, or no descriptors, must not stop the broker from
answering.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any, Final

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.threads import RunSync
from rocketwire.server.maintenance.keys import FlushKeys
from rocketwire.store.errors import StoreError, StoreGone
from rocketwire.store.index.index_backlog import READ, READ_IN_A_SLICE
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.versioned_table import VersionedTable

log = logging.getLogger(__name__)

_INDEX_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 5.0
_SAVE_SECONDS: Final = 0.5
_MOST_SAVE_SECONDS: Final = 10.0
_SAVE_PART: Final = 20
"""A table is saved again only after so many times as long as the last save took."""
_FAULTS: Final = (OSError, StoreError)


async def flush(store: MessageStore, keys: LiveGroup[FlushKeys], run_sync: RunSync) -> None:
    """Flush dirty pages by the ASYNC_FLUSH rules; never returns."""
    began = trio.current_time()
    while True:
        await trio.sleep(keys.current.flush_interval_commit_log / 1000)
        try:
            await run_sync(store.flush_by_interval, round((trio.current_time() - began) * 1000))
        except _FAULTS as error:
            store.on_store_error(error)
            await _report("flush", error)


async def index(store: MessageStore, run_sync: RunSync, budget: BackgroundBudget) -> None:
    """Enter appended messages into the index; never returns.

    Small amounts are done on the event loop in small steps, as background work: a Python thread would block the loop
    for whole switch intervals. A thread does large amounts, and what the kernel does, which releases the interpreter.
    """
    while True:
        await trio.sleep(_INDEX_SECONDS)
        try:
            more = True
            while more:
                if store.index_suits_thread:
                    more = await run_sync(store.dispatch_index)
                else:
                    most = READ_IN_A_SLICE if budget.is_busy() else READ
                    more = await budget.call(partial(store.dispatch_index, most))
                await trio.lowlevel.checkpoint()
        except _FAULTS as error:
            store.on_store_error(error)
            await _report("index", error)


async def persist(
    table: SavedTable,
    what: str,
    interval: int,
    run_sync: RunSync,
    budget: BackgroundBudget,
    before: MessageStore | None = None,
) -> None:
    """Check every `interval` ms whether a table has changed, and save it if so; never returns.

    With `before` the log of that store is flushed first: the table must not be ahead of the log on the disk.
    """
    while True:
        await trio.sleep(interval / 1000)
        try:
            text = await budget.carry_out(table.encode_in_steps())
            if text is not None:
                if before is not None:
                    await run_sync(before.flush_to, before.max_physical_offset)
                await run_sync(table.write, text)
        except _FAULTS as error:
            await _report(what, error)


async def save(table: VersionedTable[Any, Any], what: str, run_sync: RunSync) -> None:
    """Flush additions to a table's file to the disk, in a thread; never returns.

    The longer a flush takes, the more changes are collected for the next, so that flushing takes a small part of the
    time.
    """
    pause = _SAVE_SECONDS
    while True:
        await trio.sleep(pause)
        pause = _SAVE_SECONDS
        try:
            saving = table.saving()
            if saving is not None:
                began = trio.current_time()
                await run_sync(table.save, saving)
                pause = min(_MOST_SAVE_SECONDS, max(pause, _SAVE_PART * (trio.current_time() - began)))
        except _FAULTS as error:
            await _report(what, error)


async def _report(job: str, error: Exception) -> None:
    if not isinstance(error, StoreGone):  # the files' watch logs it
        log.error("%(job)s: %(reason)s", {"job": job, "reason": error})
    await trio.sleep(_RETRY_SECONDS)
