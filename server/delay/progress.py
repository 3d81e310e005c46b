"""How far delivery got on each level: in memory, and of that what may be written down.

An offset in config/delayOffset.json says that everything before it is delivered. After a power failure that must still
be true, so an offset waits here until the disk has the copies it speaks of. With the offsets goes a place in the log:
copies of what was delivered up to them stand before it, all later ones behind it.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Final, NamedTuple

from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import Messages
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.wire.names import SCHEDULE_TOPIC

#: Levels that are gone are known by their queues; what numbers beyond this are, no broker's levels were.
_MOST_LEVELS: Final = 256
#: Places are noted so many bytes apart while nothing is delivered: a start after a crash reads hardly more than that.
_PLACES_APART: Final = 16 << 20


class _Delivered(NamedTuple):
    """A level's offset, and where the log ended then."""

    log_end: int
    level: int
    offset: int


class DelayProgress:
    """The next offset of each level, also of those that were there once: they may be back after another start.

    Attributes:
        offsets: The next offset of each level, the first level's at 0.
    """

    def __init__(self, store: Messages, table: DelayOffsetTable, levels: int) -> None:
        self._store = store
        self._table = table
        queues = [queue_id for queue_id in store.queue_ids(SCHEDULE_TOPIC) if queue_id < _MOST_LEVELS]
        levels = max(levels, *(queue_id + 1 for queue_id in queues), 0)
        self.offsets = [table.get(level) or 0 for level in range(1, levels + 1)]
        self._unsaved: deque[_Delivered] = deque()

    @property
    def log_offset(self) -> int | None:
        """Where the log is to be searched for later copies; None when another broker wrote the offsets."""
        offset = self._table.log_offset
        return offset if offset is not None and offset <= self._store.max_physical_offset else None

    def advance(self, level: int, offset: int) -> None:
        """Note that everything before an offset of a level is delivered, as the log stands now."""
        self.offsets[level - 1] = offset
        self._unsaved.append(_Delivered(self._store.max_physical_offset, level, offset))

    def save(self) -> None:
        """Hand what the disk has to the table, which is written at intervals."""
        flushed = self._store.flushed_offset
        before = place = self._table.log_offset
        while self._unsaved and self._unsaved[0].log_end <= flushed:
            place, level, offset = self._unsaved.popleft()
            self._table.put(level, offset)
        if not self._unsaved and (self._waiting if before is None else flushed - before >= _PLACES_APART):
            place = flushed
        if place is not None and place != before:
            self._table.belongs_to(place)

    @property
    def _waiting(self) -> bool:
        end = self._store.max_offset
        return any(offset < end(SCHEDULE_TOPIC, queue_id) for queue_id, offset in enumerate(self.offsets))

    def close(self) -> None:
        """Have the log flushed and everything handed to the table; nothing is delivered after this."""
        with contextlib.suppress(StoreError):  # then only what the disk has is handed over
            self._store.flush_to(self._store.max_physical_offset)
        self.save()
        if self._table.log_offset is not None and not self._unsaved:
            self._table.belongs_to(self._store.flushed_offset)
