"""config/consumerOffset.json: how far each group has consumed each queue.

The file maps `topic@group` to {queue id: next offset}. What 5.x adds beside it is kept as it was read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from rocketwire.store import config
from rocketwire.store.files import FileSystem, RealFileSystem
from rocketwire.wire.bodies.fastjson import dumps_pretty, loads
from rocketwire.wire.errors import BodyInvalid

_TABLE: Final = "offsetTable"
_SEPARATOR: Final = "@"


class OffsetsText(NamedTuple):
    """The file's text as `encode` gives it, and the version of the table that it says."""

    text: bytes
    version: int


class OffsetTable:
    """Offsets by (group, topic, queue id); `persist` writes changes to the disk.

    Each change raises a version; the file is up to date when the version last written is the table's. So a write that
    was given up half-way, and a commit during a write, are both made good by the next.
    """

    def __init__(self, path: str, files: FileSystem, table: dict[str, dict[int, int]], others: dict[str, Any]) -> None:
        self._path = path
        self._files = files
        self._table = table
        self._others = others
        self._version = 0
        self._written = 0

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None) -> OffsetTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or RealFileSystem()
        table, others = config.load(str(path), files, _decode) or ({}, {})
        return cls(str(path), files, table, others)

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Note the offset of the next message the group consumes."""
        key = topic + _SEPARATOR + group
        queues = self._table.get(key)
        if queues is None:
            queues = self._table[key] = {}
        queues[queue_id] = offset
        self._version += 1

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset a group committed, None when it never did."""
        queues = self._table.get(topic + _SEPARATOR + group)
        return None if queues is None else queues.get(queue_id)

    def remove(self, group: str, topic: str) -> bool:
        """Forget the offsets of a group in a topic; false when there were none."""
        found = self._table.pop(topic + _SEPARATOR + group, None) is not None
        self._version += found
        return found

    def persist(self) -> None:
        """Write the file if the table changed since. Blocking; `encode` and `write` are its two halves.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next call.
        """
        text = self.encode()
        if text is not None:
            self.write(text)

    def encode(self) -> OffsetsText | None:
        """The file's next text, None when it is up to date. To be called where `commit` is, not in a thread."""
        if self._written == self._version:
            return None
        return OffsetsText(dumps_pretty({**self._others, _TABLE: self._table}), self._version)

    def write(self, text: OffsetsText) -> None:
        """Put a text that `encode` gave on the disk. Blocking; safe in a thread.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next `persist`.
        """
        config.save(self._path, self._files, text.text)
        self._written = text.version


def _decode(data: bytes) -> tuple[dict[str, dict[int, int]], dict[str, Any]]:
    document = loads(data)
    if not isinstance(document, dict) or not isinstance(document.get(_TABLE, {}), dict):
        raise BodyInvalid("it holds no offset table")
    table: dict[str, dict[int, int]] = {}
    for key, queues in document.pop(_TABLE, {}).items():
        try:
            table[str(key)] = {int(queue_id): int(offset) for queue_id, offset in queues.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise BodyInvalid(f"the offsets of {key} are not numbers: {error}") from error
    return table, document
