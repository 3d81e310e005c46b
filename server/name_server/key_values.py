"""The name server's key-value configuration (order of topics, and what administrators store there).

The file is written beside the requests: the text in steps, the disk in a thread. A change is answered when it is on the
disk; changes that arrive while a text is written are saved together by the next one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.threads import RunSync, run_with_checkpoints
from rocketwire.store.errors import StoreError
from rocketwire.store.tables.key_values import KeyValueFile

log = logging.getLogger(__name__)

MOST_VALUES: Final = 1024 * 1024
"""The most characters of the configuration: names, keys and values. A change saves the whole."""
_EACH_VALUE: Final = 128  # characters that each value and each namespace counts in addition

Done = Callable[[StoreError | None], None]
"""Called when a change is on the disk, or could not be saved."""


class KeyValueConfig:
    """Values by namespace and key.

    Raises:
        ConfigInvalid: the file and its .bak are unreadable.
    """

    def __init__(self, file: KeyValueFile, run_sync: RunSync) -> None:
        self._file = file
        self._run_sync = run_sync
        self._tables = file.load()
        self._size = sum(map(_size, self._tables, self._tables.values()))
        self._waiting: list[Done] = []
        self._changed = trio.Event()

    def put(self, namespace: str, key: str, value: str, done: Done) -> None:
        """Set a value.

        Raises:
            LimitExceeded: the values would be too many or too long; nothing is changed.
        """
        table = self._tables.get(namespace)
        former = None if table is None else table.get(key)
        more = len(value) + (_EACH_VALUE + len(key) if former is None else -len(former))
        more += _EACH_VALUE + len(namespace) if table is None else 0
        if self._size + more > MOST_VALUES:
            raise LimitExceeded("keyValues", MOST_VALUES)
        self._size += more
        self._tables.setdefault(namespace, {})[key] = value
        self._write(done)

    def get(self, namespace: str, key: str) -> str | None:
        """A value, or None."""
        return self._tables.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str, done: Done) -> None:
        """Remove a value; a missing one is no error."""
        value = self._tables.get(namespace, {}).pop(key, None)
        if value is None:
            done(None)
            return
        self._size -= _EACH_VALUE + len(key) + len(value)
        self._write(done)

    def namespace(self, namespace: str) -> dict[str, str] | None:
        """All values of a namespace, or None if it does not exist."""
        table = self._tables.get(namespace)
        return dict(table) if table is not None else None

    def _write(self, done: Done) -> None:
        self._waiting.append(done)
        self._changed.set()

    async def run(self) -> None:
        """Save changes; never returns."""
        while True:
            await self._changed.wait()
            self._changed = trio.Event()
            waiting, self._waiting = self._waiting, []
            failure: StoreError | None = None
            try:
                await self._run_sync(self._file.write, await run_with_checkpoints(self._file.encode(self._tables)))
            except StoreError as error:
                failure = error
            for done in waiting:
                done(failure)


def _size(namespace: str, table: Mapping[str, str]) -> int:
    """The characters that a namespace counts."""
    return _EACH_VALUE * (1 + len(table)) + len(namespace) + sum(map(len, (*table, *table.values())))
