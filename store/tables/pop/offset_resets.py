"""config/offsetResets.json, a file of ours that Apache's brokers ignore: where groups were last set to in a queue.

The file maps `topic@group` to queue ids, and these to the last reset. A reset is kept as long as messages may be out
that were popped before it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.unknown_fields import load_body
from rocketwire.wire.bodies.fastjson import encode_in_steps
from rocketwire.wire.java import Int32, Int64

_TABLE: Final = "table"
_SEPARATOR: Final = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetReset:
    """A reset."""

    offset: Int64 = 0
    """The queue offset from which on the group gets messages again."""
    place: Int64 = 0
    """The end of the commit log at that moment: what was popped before has its check point before it."""
    time: Int64 = 0
    """When it was made, in ms since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetResetsBody:
    """The file."""

    table: dict[str, dict[Int32, OffsetReset]] = field(default_factory=dict)


class OffsetResetTable(SavedTable):
    """Resets by (topic, group, queue id)."""

    def __init__(self, path: str, files: FileSystem) -> None:
        super().__init__(path, files)
        saved, _ = load_body(path, files, OffsetResetsBody)
        self._table = {key: dict(queues) for key, queues in saved.table.items()}

    def __len__(self) -> int:
        return sum(map(len, self._table.values()))

    def get(self, topic: str, group: str, queue_id: int) -> OffsetReset | None:
        """The last reset of a group in a queue; None: there is none, or it is long ago."""
        queues = self._table.get(topic + _SEPARATOR + group) if self._table else None
        return None if queues is None else queues.get(queue_id)

    def put(self, topic: str, group: str, queue_id: int, reset: OffsetReset) -> None:
        """Note a reset."""
        self._table.setdefault(topic + _SEPARATOR + group, {})[queue_id] = reset
        self._changed()

    def forget(self, before: int) -> None:
        """Forget the resets that were made before a time, in ms since 1970."""
        for topic, group, queue_id, reset in list(self.all()):
            if reset.time < before:
                key = topic + _SEPARATOR + group
                del self._table[key][queue_id]
                if not self._table[key]:
                    del self._table[key]
                self._changed()

    def all(self) -> Iterator[tuple[str, str, int, OffsetReset]]:
        """Topic, group and queue id of each reset, with it."""
        for key, queues in self._table.items():
            topic, _, group = key.partition(_SEPARATOR)
            for queue_id, reset in queues.items():
                yield topic, group, queue_id, reset

    def _document(self) -> dict[str, Any]:
        return {_TABLE: self._table}

    def _text(self) -> Generator[None, None, bytes]:
        return encode_in_steps(self._document(), newer=True)
