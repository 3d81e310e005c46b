"""config/delayOffset.json: the next offset to deliver on each delay level.

The file maps a level, counted from 1, to the offset of the next message in the level's queue of the schedule topic. It
holds the levels that were used. What 5.x adds is kept as it was read.

rocketwire adds `logOffset`, which Apache's brokers ignore and drop: copies that were delivered up to those offsets are
before this physical offset, and all later copies behind it.
"""

from __future__ import annotations

from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables import config
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.wire.bodies.fastjson import loads
from rocketwire.wire.errors import BodyInvalid

_TABLE: Final = "offsetTable"
_LOG_OFFSET: Final = "logOffset"


class DelayOffsetTable(SavedTable):
    """Next offset by delay level."""

    def __init__(self, path: str, files: FileSystem) -> None:
        super().__init__(path, files)
        self._table, self._others = config.load(path, files, _decode) or ({}, {})

    @property
    def log_offset(self) -> int | None:
        """The physical offset that the offsets belong to; None when another broker wrote them."""
        offset = self._others.get(_LOG_OFFSET)
        return offset if isinstance(offset, int) else None

    def get(self, level: int) -> int | None:
        """Offset of the next message of a level, None when the level was never used."""
        return self._table.get(level)

    def put(self, level: int, offset: int) -> None:
        """Set the offset of the next message of a level."""
        if self._table.get(level) != offset:
            self._table[level] = offset
            self._changed()

    def set_log_offset(self, log_offset: int) -> None:
        """Set the physical offset that the offsets belong to."""
        if self._others.get(_LOG_OFFSET) != log_offset:
            self._others[_LOG_OFFSET] = log_offset
            self._changed()

    def _document(self) -> dict[str, Any]:
        # Apache's table is a hash map of small integers, which iterates in ascending order.
        table = dict(sorted(self._table.items()))
        return dict(sorted({**self._others, _TABLE: table}.items()))


def _decode(data: bytes) -> tuple[dict[int, int], dict[str, Any]]:
    document = loads(data)
    table = document.pop(_TABLE, {}) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(table, dict):
        raise BodyInvalid("it holds no offset table")
    try:
        return {int(level): int(offset) for level, offset in table.items()}, document
    except (TypeError, ValueError) as error:
        raise BodyInvalid(f"the offsets of the delay levels are not numbers: {error}") from error
