"""What the tables of `config/` that change all the time have in common: their file is written at intervals.

Each change raises a count; the file is up to date when the count last written is the table's. So a write that was given
up half-way, and a change during a write, are both made good by the next.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any, NamedTuple

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config
from rocketwire.wire.bodies.fastjson import in_steps


class TableText(NamedTuple):
    """A file's text as `encode` gives it, and the count of changes that are in it."""

    text: bytes
    changes: int


class SavedTable(ABC):
    """A table in a file of its own."""

    def __init__(self, path: str, files: FileSystem) -> None:
        self._path = path
        self._files = files
        self._changes = 0
        self._written = 0
        self._has_file = files.size(path) is not None

    @abstractmethod
    def _document(self) -> dict[str, Any]:
        """The table as it stands in the file."""

    def _changed(self) -> None:
        self._changes += 1

    @property
    def path(self) -> str:
        """The table's file."""
        return self._path

    @property
    def has_file(self) -> bool:
        """Whether the file was there or was written, so that it should be there."""
        return self._has_file

    @property
    def lost_change(self) -> bool:
        """No change is lost: the next `persist` writes what this one could not."""
        return False

    def rewrite(self) -> None:
        """Write the file though nothing changed: it is gone. Blocking.

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

    def encode(self) -> TableText | None:
        """The file's next text, None when it is up to date. To be called where changes are made, not in a thread."""
        steps = self.encode_in_steps()
        while True:
            try:
                next(steps)
            except StopIteration as end:
                text: TableText | None = end.value
                return text

    def encode_in_steps(self) -> Generator[None, None, TableText | None]:
        """The same in steps of about a millisecond, between which the table may change.

        What changes then is in the text or not, each entry by itself, and is written by the next one.
        """
        changes = self._changes
        if self._written == changes:
            return None
        return TableText((yield from self._text()), changes)

    def _text(self) -> Generator[None, None, bytes]:
        return in_steps(self._document())

    def write(self, text: TableText) -> None:
        """Put a text that `encode` gave on the disk. Blocking; safe in a thread.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next `persist`.
        """
        config.save(self._path, self._files, text.text)
        self._written = text.changes
        self._has_file = True
