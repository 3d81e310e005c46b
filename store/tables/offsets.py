"""config/consumerOffset.json: the committed offsets of consumer groups.

The file maps `topic@group` to {queue id: next offset}. What 5.x adds is kept as it was read.

An offset below 0 is kept, and counts as none, as with Apache's brokers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.errors import OffsetsTooMany
from rocketwire.store.tables import config
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.errors import BodyInvalid

_TABLE: Final = "offsetTable"
_SEPARATOR: Final = "@"
_LONGEST_KEY: Final = 1024
_FEWEST_PLACES: Final = 1024
_UNLIMITED: Final = 1 << 62


class OffsetTable(SavedTable):
    """Offsets by (group, topic, queue id).

    Attributes:
        most: The most offsets that are kept; those that were loaded always are.
    """

    def __init__(
        self,
        path: str,
        files: FileSystem,
        table: dict[str, dict[int, int]],
        others: dict[str, Any],
        most: int,
    ) -> None:
        super().__init__(path, files)
        self._table = table
        self._others = others
        self._count = sum(map(len, table.values()))
        self._order = list(table)
        #: Keys of the broker's own groups, whose offsets must be saved as of one moment.
        self._own: set[str] = set()
        self.max_offsets = most

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None, *, most: int = _UNLIMITED) -> OffsetTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or FileSystem()
        table, others = config.load(str(path), files, _decode) or ({}, {})
        return cls(str(path), files, table, others, most)

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Set the offset of the next message the group consumes.

        Raises:
            OffsetsTooMany: there are too many, or the names are not valid for a topic and a group; nothing changed.
        """
        key = topic + _SEPARATOR + group
        queues = self._table.get(key)
        if queues is not None and queue_id in queues:
            queues[queue_id] = offset
            self._changed()
        elif self._count >= self.max_offsets or len(key) > _LONGEST_KEY:
            raise OffsetsTooMany(self.max_offsets)
        else:
            self._put(key, queue_id, offset)

    def put(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """As `commit`, without the limit, for a group of the broker's own."""
        key = topic + _SEPARATOR + group
        self._own.add(key)
        self._put(key, queue_id, offset)

    def _put(self, key: str, queue_id: int, offset: int) -> None:
        queues = self._table.get(key)
        if queues is None:
            queues = self._table[key] = {}
            self._order.append(key)
        self._count += queue_id not in queues
        queues[queue_id] = offset
        self._changed()

    def query(self, group: str, topic: str, queue_id: int) -> int | None:
        """The offset a group committed, 0 or more; None when it never did, or committed one below 0 last."""
        if len(topic) + len(group) >= _LONGEST_KEY:
            return None  # such a group never commits
        queues = self._table.get(topic + _SEPARATOR + group)
        offset = -1 if queues is None else queues.get(queue_id, -1)
        return offset if offset >= 0 else None

    def queue_offsets(self, group: str, topic: str) -> dict[int, int]:
        """A group's offsets in a topic by queue id, none if it has none; must not be changed."""
        return self._table.get(topic + _SEPARATOR + group, {})

    def all(self) -> list[tuple[str, str, dict[int, int]]]:
        """Each topic and group with its offsets by queue id, unfiltered: live views that change with the table."""
        return [(*_parts(key), queues) for key, queues in self._table.items()]

    def keys(self) -> list[str]:
        """The keys for `at`, one for each topic and group."""
        return list(self._table)

    def consumptions(self, first: int, count: int) -> list[tuple[str, str]]:
        """Topics and groups that have offsets: `count` places from place `first` on, some of which may be empty.

        What is added meanwhile comes last; what is removed and added again may come twice.
        """
        return [_parts(key) for key in self._order[first : first + count] if key in self._table]

    @property
    def places(self) -> int:
        """How many places `consumptions` has."""
        return len(self._order)

    def at(self, key: str) -> tuple[str, str, dict[int, int]]:
        """A topic and group with its offsets by queue id, none if they were removed; must not be changed."""
        return (*_parts(key), self._table.get(key, {}))

    def remove(self, group: str, topic: str) -> bool:
        """Forget the offsets of a group in a topic; false when there were none."""
        queues = self._table.pop(topic + _SEPARATOR + group, None)
        if queues is None:
            return False
        self._count -= len(queues)
        if len(self._order) > _FEWEST_PLACES and len(self._order) > 2 * len(self._table):
            self._order = list(self._table)
        self._changed()
        return True

    def _document(self) -> dict[str, Any]:
        table = self._table | {key: dict(self._table[key]) for key in self._own if key in self._table}
        return dict(sorted({**self._others, _TABLE: table}.items()))


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
