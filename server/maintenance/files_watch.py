"""Checks once a second that the files of the store still exist.

The log has one line when a file is missing, and one when it is back, however many requests fail because of it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, Protocol

import trio

from rocketwire.server.core.threads import RunSync
from rocketwire.store.errors import StoreError, StoreGone
from rocketwire.store.store import MessageStore

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0


class RewritableTable(Protocol):
    """A table that can be saved again as a whole."""

    @property
    def path(self) -> str:
        """Its file."""

    @property
    def has_file(self) -> bool:
        """Whether the file should exist."""

    @property
    def lost_change(self) -> bool:
        """Whether a change was not saved because the folder was missing, and nothing will retry."""

    def rewrite(self) -> None:
        """Save the whole file again. Blocking.

        Raises:
            StoreError: it could not be written.
        """


class MissingFilesWatch:
    """Watches the files of one store, and saves tables again whose files were removed."""

    def __init__(self, store: MessageStore, tables: Iterable[RewritableTable], run_sync: RunSync) -> None:
        self._store = store
        self._tables = tuple(tables)
        self._run_sync = run_sync
        self._refusal: str | None = None
        self._logged: set[str] = set()
        self._away: set[str] = set()

    async def run(self) -> None:
        """Check at intervals; never returns."""
        while True:
            await trio.sleep(_LOOK_SECONDS)
            try:
                await self._look()
            except OSError as error:
                if self._refusal is None:
                    log.error("store: %(reason)s", {"reason": error})  # noqa: TRY400 - the text suffices
                self._refusal = str(error)

    async def _look(self) -> None:
        store = self._store
        refused = store.files_refusal  # met by an append; it may be over
        if refused is not None:
            self._log_refusal(refused)
        refusal = await self._run_sync(store.check_files)
        store.apply_files_check(refusal)
        self._log_refusal(refusal)
        await self._log_missing_files(refusal or refused)
        if refusal is None:
            await self._write_tables()

    def _log_refusal(self, refusal: StoreError | None) -> None:
        text = None if refusal is None else str(refusal)
        if text is not None and text != self._refusal:
            log.error("%(reason)s; messages are refused", {"reason": text})
        elif text is None and self._refusal is not None:
            log.info("the store's files exist again, messages are taken")
        self._refusal = text

    async def _log_missing_files(self, refusal: StoreError | None) -> None:
        """Log the new errors that are not logged yet; a missing queue file is found again as long as it is missing."""
        met = self._store.missing_files
        for path, error in list(met.items()):
            if path not in self._logged and not _within(path, refusal):
                log.error("%(reason)s", {"reason": error}, extra={"event": "a file is missing or replaced"})
                self._logged.add(path)
            if not error.replaced and await self._run_sync(self._store.path_exists, path):
                del met[path]
                if path in self._logged:
                    log.info("%(file)s exists again", {"file": path})
                    self._logged.remove(path)

    async def _write_tables(self) -> None:
        """Save tables again whose files are missing, or whose changes could not be saved."""
        again = []
        for table in self._tables:
            path = table.path
            if table.lost_change or (table.has_file and not await self._run_sync(self._store.path_exists, path)):
                self._away.add(path)
            if path in self._away and await self._run_sync(self._store.path_exists, path.rpartition("/")[0]):
                try:
                    table.rewrite()
                except StoreError as error:
                    self._store.on_store_error(error)
                else:
                    self._away.remove(path)
                    again.append(path)
        if again:
            log.info("written again, as they were gone: %(files)s", {"files": ", ".join(again)})


def _within(path: str, refusal: StoreError | None) -> bool:
    """Whether the logged error already explains why a file is missing."""
    return isinstance(refusal, StoreGone) and f"{path}/".startswith(f"{refusal.path}/")
