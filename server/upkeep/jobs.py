"""The broker's recurring work: flushing, the index, writing the tables that change all the time.

A job that fails is logged and done again after a while: a full disk, or no descriptor left, must not stop the broker
from answering.
"""

from __future__ import annotations

import contextlib
import logging
from importlib import import_module
from typing import Any, Final

import trio

from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.threads import RunSync, in_turns
from rocketwire.store.errors import StoreError, StoreGone
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.versioned_table import VersionedTable

log = logging.getLogger(__name__)

_INDEX_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 5.0
_SAVE_SECONDS: Final = 0.5
_MOST_SAVE_SECONDS: Final = 10.0
_SAVE_PART: Final = 20
"""So many times as long as a table takes to be saved, it waits to be saved again."""
_FAULTS: Final = (OSError, StoreError)
_SLOW_IMPORT: Final = "rocketwire.store.records.walk"  # takes numpy with it: after the start, before the first message


async def flush(store: MessageStore, config: LiveConfig, run_sync: RunSync) -> None:
    """Write dirty pages to the disk by the ASYNC_FLUSH rules, for ever."""
    began = trio.current_time()
    while True:
        await trio.sleep(config.current.flush_interval_commit_log / 1000)
        try:
            await run_sync(store.flush_due, round((trio.current_time() - began) * 1000))
        except _FAULTS as error:
            store.meet(error)
            await _report("flush", error)


async def index(store: MessageStore, run_sync: RunSync) -> None:
    """Enter appended messages into the index, for ever.

    Done on the event loop in small steps, for in a thread Python would hold up the loop for whole switch intervals. A
    thread does what is much and what the kernel does, which leaves the interpreter to the loop.
    """
    ready = False
    while True:
        await trio.sleep(_INDEX_SECONDS)
        try:
            if not ready and store.index_needs_numpy:
                with contextlib.suppress(ImportError):  # then the index says so, and the store goes on without
                    await run_sync(import_module, _SLOW_IMPORT)
                ready = True
            more = True
            while more:
                if store.index_suits_thread:
                    more = await run_sync(store.dispatch_index)
                else:
                    more = store.dispatch_index()
                await trio.lowlevel.checkpoint()
        except _FAULTS as error:
            store.meet(error)
            await _report("index", error)


async def persist(table: SavedTable, what: str, interval: int, run_sync: RunSync) -> None:
    """Look every `interval` ms whether a table has changed, and write it then, for ever."""
    while True:
        await trio.sleep(interval / 1000)
        try:
            text = await in_turns(table.encode_in_steps())
            if text is not None:
                await run_sync(table.write, text)
        except _FAULTS as error:
            await _report(what, error)


async def save(table: VersionedTable[Any, Any], what: str, run_sync: RunSync) -> None:
    """Put on the disk what was added to a table's file, in a thread, for ever.

    The longer that takes, the more changes it waits for, so that it takes a small part of the time.
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
    if not isinstance(error, StoreGone):  # who watches the files says so
        log.error("%s: %s", job, error)
    await trio.sleep(_RETRY_SECONDS)
