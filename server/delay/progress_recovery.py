"""Finds what was delivered before a crash, from the copies in the log.

The offsets of config/delayOffset.json are older than the crash. Copies of messages delivered since are in the log, in
each level's order, and have their level, topic and queue among their properties. So the log is read from the physical
offset that was saved with the offsets, and each copy is searched among the next entries of its level. Delivery
continues behind the last one found. A copy that is not found was delivered earlier. Skipped messages have no copy, so
the search looks some entries ahead, without those that cannot be delivered.

A file that Apache's broker wrote has no physical offset. After its crash the log is read from the time at which the
first of the messages that may have been delivered was due, if it was due at all.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterator
from typing import Final

from rocketwire.server.core.errors import MessageIllegal
from rocketwire.server.delay.levels import delay_level
from rocketwire.server.messages.restoring import DestinationInvalid, restore_delayed
from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.store.append.drafts import Draft
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT, HIGHEST_EXT_ADDRESS
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.names import SCHEDULE_TOPIC
from rocketwire.wire.properties import decode_stored_properties

#: Number of entries of a level among which a copy is searched.
_AHEAD: Final = 1024
#: Bytes that all copies contain, and few other records.
_NEEDLE: Final = f"{property_names.REAL_TOPIC}\x01".encode()


class ProgressRecovery:
    """Finds the progress of delivery on each level; call `step` until it returns false."""

    def __init__(self, store: StoreProtocol, offsets: list[int], log_offset: int | None) -> None:
        """Begin.

        Args:
            store: An open store to which nothing was delivered since its start.
            offsets: The saved next offset of each level.
            log_offset: The physical offset saved with them; None if unknown.
        """
        self._store = store
        self._levels = [_Level(store, queue_id, offset) for queue_id, offset in enumerate(offsets)]
        self._before = list(offsets)
        self._end = store.max_physical_offset
        if log_offset is None:
            log_offset = self._end if store.stopped_cleanly else self._earliest_copy()
        self._at = log_offset if any(level.waits for level in self._levels) else self._end

    def _earliest_copy(self) -> int:
        """Where the first copy may be that was stored after the offsets were saved."""
        last = self._store.last_append_timestamp
        due = min((level.due for level in self._levels if level.waits), default=last + 1)
        return self._store.file_before(due) if due <= last else self._end

    def step(self) -> bool:
        """Read one part of the log; false when there is no more."""
        if self._at >= self._end:
            return False
        scanned = self._store.scan(self._at, self._end, _NEEDLE)
        for record in scanned.records:
            self._look(record)
        self._at = scanned.next_offset
        return True

    def recovered_levels(self) -> Iterator[tuple[int, int, int]]:
        """Each level of which more was delivered: its number, the saved offset and the new one."""
        for number, (before, level) in enumerate(zip(self._before, self._levels, strict=True), start=1):
            if level.offset > before:
                yield number, before, level.offset

    def _look(self, record: memoryview) -> None:
        try:
            message = stored_message(record)
        except RecordInvalid:  # the bytes are in the body of another message
            return
        properties = _decoded(message)
        if (
            message.topic == SCHEDULE_TOPIC
            or properties.get(property_names.REAL_TOPIC) != message.topic
            or properties.get(property_names.REAL_QUEUE_ID) != str(message.queue_id)
        ):
            return
        try:
            level = delay_level(properties, len(self._levels))
        except MessageIllegal:
            return
        if level:
            self._levels[level - 1].pass_copy(_print(message), message.physical_offset)


def _decoded(message: StoredMessage | Draft) -> dict[str, str]:
    return decode_stored_properties(message.properties)


def _print(message: StoredMessage | Draft) -> int:
    """A hash that is equal for a waiting message and its copy, and hardly ever for others."""
    return hash(
        (
            frozenset(_decoded(message).items()),
            message.born_timestamp,
            message.born_host,
            message.flag,
            message.reconsume_times,
            len(message.body),
            zlib.crc32(message.body),
        )
    )


class _Level:
    """The entries of one level from its next offset on, read ahead as needed."""

    def __init__(self, store: StoreProtocol, queue_id: int, offset: int) -> None:
        self._store = store
        self._queue_id = queue_id
        self.offset = offset
        self._read_to = offset
        self._ahead: deque[int] = deque()
        self._places: dict[int, deque[int]] = {}

    @property
    def waits(self) -> bool:
        """Whether it has messages that may have been delivered or not."""
        return self.offset < self._store.max_offset(SCHEDULE_TOPIC, self._queue_id)

    @property
    def due(self) -> int:
        """When the first of them is due, in ms since 1970."""
        _, entries = self._store.queue_entries(SCHEDULE_TOPIC, self._queue_id, self.offset, 1)
        due = ENTRY_STRUCT.unpack_from(entries)[2] if entries else 0
        return int(due) if due > HIGHEST_EXT_ADDRESS else 0

    def pass_copy(self, print_: int, place: int) -> None:
        """Continue behind the message with this copy at a position in the log, if it is one of the next ones."""
        if print_ not in self._places:
            self._read_ahead(place)
        places = self._places.get(print_)
        if not places:
            return
        found = places[0]
        while self.offset <= found and self._ahead:
            passed = self._ahead.popleft()
            of_it = self._places[passed]
            self.offset = of_it.popleft() + 1
            if not of_it:
                del self._places[passed]

    def _read_ahead(self, place: int) -> None:
        """Read the messages that waited already when the log ended at a position."""
        while len(self._ahead) < _AHEAD:
            first, entries = self._store.queue_entries(
                SCHEDULE_TOPIC, self._queue_id, self._read_to, _AHEAD - len(self._ahead)
            )
            if not entries:
                return
            for number, (offset, size, _) in enumerate(ENTRY_STRUCT.iter_unpack(entries), start=first):
                if offset >= place:
                    return
                self._read_to = number + 1
                print_ = self._print_of(offset, size)
                if print_ is not None:
                    self._ahead.append(print_)
                    self._places.setdefault(print_, deque()).append(number)

    def _print_of(self, offset: int, size: int) -> int | None:
        record = self._store.record_at(offset, size)
        if record is None:
            return None
        try:
            return _print(restore_delayed(bytes(record)))
        except DestinationInvalid:
            return None
