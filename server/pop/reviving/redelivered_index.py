"""What another broker made visible again before it was killed: Apache's writes no acknowledgement with it.

So after a stop that was not clean, a message of a check point that was due by then is looked for in its retry topic
before it is stored there. Its copy has the same key, time of birth and body, and one more try.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Generator
from typing import Final, NamedTuple

from rocketwire.server.messages.stored_message import StoredMessage, stored_message
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.protocol import StoreProtocol
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.pop_records import CheckPoint
from rocketwire.wire.properties import property_reader

_QUEUE: Final = 0
#: Records that are read in one step.
_READ_AT_ONCE: Final = 32
_unique_key: Final = property_reader(property_names.UNIQ_KEY.encode())


class _Copy(NamedTuple):
    """What the copies of a message have in common with it, and its tries."""

    unique_key: bytes | None
    born_timestamp: int
    body: int
    tries: int


class RedeliveredIndex:
    """Knows the copies that existed at the start.

    Args:
        store: The store.
        until: The time of the start, in ms since 1970; None: the stop before it was clean.
    """

    def __init__(self, store: StoreProtocol, until: int | None) -> None:
        self._store = store
        self._until = until
        #: Of each retry topic the copies, and from which time on they were read.
        self._copies: dict[str, tuple[int, Counter[_Copy]]] = {}

    def was_redelivered(self, message: StoredMessage, point: CheckPoint, retry: str) -> bool:
        """Whether a message of a check point was redelivered before the start; each copy counts once.

        The topic's copies from that point on have to be read before: see `read`.
        """
        if self._until is None or point.due >= self._until:
            return False
        copies = self._copies[retry][1]
        copy = _copy(message, message.reconsume_times + (0 if point.suspend else 1))
        if not copies[copy]:
            return False
        copies[copy] -= 1
        return True

    def read(self, point: CheckPoint, retry: str) -> Generator[None, None, None]:
        """Read the copies that a check point's messages may have in a retry topic, in steps, unless that was done."""
        since = point.due
        if self._until is None or since >= self._until:
            return
        known = self._copies.get(retry)
        if known is not None and known[0] <= since:
            return
        copies: Counter[_Copy] = Counter()
        offset, end = self._store.offset_by_time(retry, _QUEUE, since), self._store.max_offset(retry, _QUEUE)
        while offset < end:
            first, entries = self._store.queue_entries(retry, _QUEUE, offset, min(_READ_AT_ONCE, end - offset))
            if not entries:
                break
            for place, size, _ in ENTRY_STRUCT.iter_unpack(entries):
                record = self._store.record_at(place, size)
                if record is not None:
                    _count(copies, record)
            offset = first + len(entries) // ENTRY_STRUCT.size
            yield
        self._copies[retry] = since, copies


def _count(copies: Counter[_Copy], record: memoryview) -> None:
    try:
        message = stored_message(record)
    except RecordInvalid:
        return
    copies[_copy(message, message.reconsume_times)] += 1


def _copy(message: StoredMessage, tries: int) -> _Copy:
    return _Copy(_unique_key(message.properties), message.born_timestamp, zlib.crc32(message.body), tries)
