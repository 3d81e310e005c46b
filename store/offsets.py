"""config/consumerOffset.json: how far each group has consumed each queue.

The file maps `topic@group` to {queue id: next offset}. What 5.x adds beside it is kept as it was read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rocketwire.store import config
from rocketwire.store.files import FileSystem, RealFileSystem
from rocketwire.store.saved_table import SavedTable
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.errors import BodyInvalid

_TABLE: Final = "offsetTable"
_SEPARATOR: Final = "@"


class OffsetTable(SavedTable):
    """Offsets by (group, topic, queue id)."""

    def __init__(self, path: str, files: FileSystem, table: dict[str, dict[int, int]], others: dict[str, Any]) -> None:
        super().__init__(path, files)
        self._table = table
        self._others = others

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
        self._changed()

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset a group committed, None when it never did."""
        queues = self._table.get(topic + _SEPARATOR + group)
        return None if queues is None else queues.get(queue_id)

    def topics(self, group: str) -> list[str]:
        """The topics that a group has offsets in."""
        return [topic for topic, other in map(_parts, self._table) if other == group]

    def groups(self, topic: str) -> list[str]:
        """The groups that have offsets in a topic."""
        return [group for other, group in map(_parts, self._table) if other == topic]

    def remove(self, group: str, topic: str) -> bool:
        """Forget the offsets of a group in a topic; false when there were none."""
        if self._table.pop(topic + _SEPARATOR + group, None) is None:
            return False
        self._changed()
        return True

    def remove_group(self, group: str) -> None:
        """Forget all offsets of a group."""
        for topic in self.topics(group):
            self.remove(group, topic)

    def _document(self) -> dict[str, Any]:
        return dict(sorted({**self._others, _TABLE: self._table}.items()))


def _parts(key: str) -> tuple[str, str]:
    topic, _, group = key.partition(_SEPARATOR)
    return topic, group


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
