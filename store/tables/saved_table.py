"""Base of the tables in `config/` that change all the time: their file is written at intervals.

Each change raises a count; the file is up to date when the count last written is the table's. So after a write that was
abandoned, or a change during a write, the next write includes everything.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple, Self

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config
from rocketwire.wire.bodies.fastjson import encode_in_steps


class TableText(NamedTuple):
    """A file's text from `encode`, and the count of changes that it includes."""

    text: bytes
    changes: int


class SavedTable(ABC):
    """A table in a separate file."""

    def __init__(self, path: str, files: FileSystem) -> None:
        """Load the table from its file, see `open`; a subclass reads the file."""
        self._path = path
        self._files = files
        self._changes = 0
        self._written = 0
        self._writing = threading.Lock()
        self._has_file = files.size(path) is not None

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None) -> Self:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        return cls(str(path), files or FileSystem())

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """The table in the form of the file."""

    def _changed(self) -> None:
        self._changes += 1

    @property
    def path(self) -> str:
        """The table's file."""
        return self._path

    @property
    def has_file(self) -> bool:
        """Whether the file should be there: it was loaded or written."""
        return self._has_file

    @property
    def lost_change(self) -> bool:
        """False: no change is lost, because the next `persist` writes what this one could not."""
        return False

    def rewrite(self) -> None:
        """Write the file again because it was removed. Blocking.

        Raises:
            StoreError: it could not be written; the next `persist` does.
        """
        self._changed()
        self.persist()

    def persist(self) -> None:
        """Write the file if the table changed since. Blocking; `encode` and `write` are its two halves.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next call.
        """
        text = self.encode()
        if text is not None:
            self.write(text)

    def close(self) -> None:
        """As `persist`, for the last time.

        Raises:
            StoreNotWritable: it could not be written.
        """
        self.persist()

    def encode(self) -> TableText | None:
        """The file's next text, None when it is up to date. Call it where changes are made, not in a thread."""
        steps = self.encode_in_steps()
        while True:
            try:
                next(steps)
            except StopIteration as end:
                text: TableText | None = end.value
                return text

    def encode_in_steps(self) -> Generator[None, None, TableText | None]:
        """As `encode`, in steps of about a millisecond, between which the table may change.

        An entry that changes meanwhile is in the text with its old or its new value, and is written by the next one.
        """
        changes = self._changes
        if self._written == changes:
            return None
        return TableText((yield from self._text()), changes)

    def _text(self) -> Generator[None, None, bytes]:
        return encode_in_steps(self._document())

    def write(self, text: TableText) -> None:
        """Write a text from `encode` and flush it. Blocking; safe in a thread.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next `persist`.
        """
        with self._writing:
            if text.changes < self._written:
                return  # another thread wrote a newer one meanwhile
            config.save(self._path, self._files, text.text)
            self._written = text.changes
        self._has_file = True
