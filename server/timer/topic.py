"""The topic in which timer messages wait, as the stages read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from rocketwire.server.timer.records import CancelledMessage, cancelled_message, index_entries
from rocketwire.store.layout.consume_queue import ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.timer.units import TimerRecord
from rocketwire.wire.names import TIMER_TOPIC

QUEUE: Final = (TIMER_TOPIC, 0)
"""Topic and queue id."""


class TimerEntries(NamedTuple):
    """What some entries of the queue lead to.

    Attributes:
        waiting: The messages.
        end: The offset behind all of the entries.
        lost: How many of them have a record that the log does not have any more.
        unreadable: How many have one without the time or topic of a timer message.
    """

    waiting: list[TimerRecord]
    end: int
    lost: int = 0
    unreadable: int = 0


class TimerTopicReader:
    """Reads the queue of the timer's topic."""

    def __init__(self, store: StoreProtocol) -> None:
        self._store = store

    @property
    def end(self) -> int:
        """Offset of the next message."""
        return self._store.max_offset(*QUEUE)

    def read(self, offset: int, most: int) -> TimerEntries:
        """The messages from an offset on, of `most` entries at most; none when the queue ends there."""
        first, entries = self._store.queue_entries(*QUEUE, offset, most)
        if not entries:
            return TimerEntries([], max(offset, first))
        place = ENTRY_STRUCT.unpack_from(entries)[0]
        part = self._store.log_part(place)
        found = index_entries(part, _first_of(entries)) if part is not None else []
        before = first - min(offset, first)  # entries whose files were removed
        if not found:
            return TimerEntries([], first + 1, lost=before + 1)
        waiting = [each for each in found if each is not None]
        return TimerEntries(waiting, first + len(found), lost=before, unreadable=len(found) - len(waiting))

    def cancelled_by(self, physical_offset: int, size: int) -> CancelledMessage | None:
        """The message that the marker at a place in the log cancels; None for a marker that is lost."""
        record = self._store.record_at(physical_offset, size)
        return None if record is None else cancelled_message(bytes(record))


def _first_of(entries: bytes) -> bytes:
    """As many of the entries as have records that are read in one go."""
    room = GROUP_BYTES
    for number, (_, size, _) in enumerate(ENTRY_STRUCT.iter_unpack(entries)):
        room -= size
        if room < 0:
            return entries[: max(1, number) * ENTRY_SIZE]
    return entries


GROUP_BYTES: Final = 512 << 10
"""Most bytes of a group's records, unless it is a single one."""

T = TypeVar("T")


def split_into_groups(items: list[T], sizes: Iterable[int]) -> Iterator[list[T]]:
    """Divide items, in their order, into as few groups as possible; see `GROUP_BYTES`.

    Args:
        items: Any number of them.
        sizes: How many bytes each takes.
    """
    first = together = 0
    for number, size in enumerate(sizes):
        together += size
        if together > GROUP_BYTES and number > first:
            yield items[first:number]
            first, together = number, size
    if items:
        yield items[first:]
