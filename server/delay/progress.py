"""The progress of delivery on each level: the offsets in memory, and those that may be saved.

An offset in config/delayOffset.json means that everything before it is delivered. That must hold after a power failure,
too, so an offset is saved only when its delivered copies are on the disk. A physical offset is saved with them: copies
of messages before the offsets are in the log before it, all later ones behind it.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Final, NamedTuple

from rocketwire.store.errors import StoreError
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.delay_offsets import DelayOffsetTable
from rocketwire.wire.names import SCHEDULE_TOPIC

#: Removed levels are known by their queues; no broker has levels above this number.
_MOST_LEVELS: Final = 256
#: While nothing is delivered, the physical offset is advanced every so many bytes: a start after a crash reads little
#: more.
_PLACES_APART: Final = 16 << 20


class _Delivered(NamedTuple):
    """A level's offset, and the log's end at that time."""

    log_end: int
    level: int
    offset: int


class DelayProgress:
    """The next offset of each level, also of removed ones, which may be configured again later.

    Attributes:
        offsets: The next offset of each level, the first level's at 0.
    """

    def __init__(self, store: StoreProtocol, table: DelayOffsetTable, levels: int) -> None:
        self._store = store
        self._table = table
        queues = [queue_id for queue_id in store.queue_ids(SCHEDULE_TOPIC) if queue_id < _MOST_LEVELS]
        levels = max(levels, *(queue_id + 1 for queue_id in queues), 0)
        self.offsets = [table.get(level) or 0 for level in range(1, levels + 1)]
        self._unsaved: deque[_Delivered] = deque()

    @property
    def log_offset(self) -> int | None:
        """Where to begin to search the log for later copies; None if another broker wrote the offsets."""
        offset = self._table.log_offset
        return offset if offset is not None and offset <= self._store.max_physical_offset else None

    def advance(self, level: int, offset: int) -> None:
        """Record that everything before an offset of a level is delivered, at the log's present end."""
        self.offsets[level - 1] = offset
        self._unsaved.append(_Delivered(self._store.max_physical_offset, level, offset))

    def save(self) -> None:
        """Hand offsets whose copies are on the disk to the table, which is saved at intervals."""
        flushed = self._store.flushed_offset
        before = place = self._table.log_offset
        while self._unsaved and self._unsaved[0].log_end <= flushed:
            place, level, offset = self._unsaved.popleft()
            self._table.put(level, offset)
        if not self._unsaved and (self._waiting if before is None else flushed - before >= _PLACES_APART):
            place = flushed
        if place is not None and place != before:
            self._table.set_log_offset(place)

    @property
    def _waiting(self) -> bool:
        end = self._store.max_offset
        return any(offset < end(SCHEDULE_TOPIC, queue_id) for queue_id, offset in enumerate(self.offsets))

    def close(self) -> None:
        """Flush the log and hand all offsets to the table; nothing is delivered after this."""
        with contextlib.suppress(StoreError):  # then only offsets whose copies are on the disk are handed over
            self._store.flush_to(self._store.max_physical_offset)
        self.save()
        if self._table.log_offset is not None and not self._unsaved:
            self._table.set_log_offset(self._store.flushed_offset)
