"""Timer records: messages that wait in the timer's topic, decoded for its index and for storing them again.

When a message is due, a copy is stored in its real topic. One that waits for longer than the wheel covers is rolled:
stored again in the timer's topic. Both have properties with the times of the timer, and the physical offset of their
record as prepared offset. The kernel does this for groups, and returns None for a record that it cannot read.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from rocketwire import native
from rocketwire.server.messages.restoring import (
    DestinationInvalid,
    destination,
    restore_waiting,
    text_of,
    waiting_topic,
    with_storable_properties,
)
from rocketwire.store.append.drafts import Draft
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.layout.record import properties_of
from rocketwire.store.read.reader import LogPart
from rocketwire.store.timer.units import DueTimerUnit, TimerRecord
from rocketwire.wire import names
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.record import SMALLEST_RECORD
from rocketwire.wire.java import INT32_MAX, parse_natural_number, string_hash
from rocketwire.wire.properties import property_reader
from rocketwire.wire.property_edits import set_properties

_TIMER: Final = waiting_topic(names.TIMER_TOPIC)
#: Of any record: its size, and its place in the log.
_PLACE: Final = struct.Struct(">i24xq")
_kernel: Final = native.kernel
_out: Final = property_reader(property_names.TIMER_OUT_MS.encode())
_cancelled: Final = property_reader(property_names.TIMER_DEL_UNIQ_KEY.encode())
_roll_times: Final = property_reader(property_names.TIMER_ROLL_TIMES.encode())
_real_topic: Final = property_reader(property_names.REAL_TOPIC.encode())
_ENQUEUE_MS: Final = property_names.TIMER_ENQUEUE_MS.encode()
_DEQUEUE_MS: Final = property_names.TIMER_DEQUEUE_MS.encode()
_ROLL_TIMES: Final = property_names.TIMER_ROLL_TIMES.encode()
#: The common end of both names of times.
_QUEUE_MS: Final = b"QUEUE_MS"
_TIMES: Final = b"\x02%b\x01%%d\x02%b\x01%%d" % (_ENQUEUE_MS, _DEQUEUE_MS)
_ITEM_SEP_BYTE: Final = property_names.ITEM_SEP.encode()[0]
_LONGEST_TIME: Final = 20
TIMER_ROOM: Final = sum(len(name) + _LONGEST_TIME + 2 for name in (_ENQUEUE_MS, _DEQUEUE_MS, _ROLL_TIMES))
"""Bytes of properties that a timer message must leave free for those that the timer adds."""


class RecordLost(DestinationInvalid):
    """A timer message whose record is not in the log: there is another one at its offset, or none."""


class NotYetDue(DestinationInvalid):
    """A timer message whose own time is later than its unit's.

    Attributes:
        again: The draft to store for it, as for one that rolls.
    """

    def __init__(self, again: Draft) -> None:
        super().__init__("its time is still to come")
        self.again = again


def restored_draft(record: bytes, *, physical_offset: int, enqueued: int, now: int) -> Draft:
    """The copy of a timer message that is due, for its real topic.

    Args:
        record: Its record in the timer's topic.
        physical_offset: The record's physical offset, the copy's prepared offset.
        enqueued: When it was put into the timer's index, in ms since 1970.
        now: The time, likewise.

    Raises:
        Stale: the record is not that of a timer message.
        Early: its time is still to come.
        Undeliverable: the record is damaged, or has no topic and queue that a message can be delivered to.
    """
    draft = _read_timer(record, physical_offset)
    if (parse_natural_number(_out(draft.properties) or b"") or 0) > now:
        raise NotYetDue(rolled_draft(record, physical_offset=physical_offset, enqueued=enqueued, now=now))
    draft.topic, draft.queue_id = destination(draft.properties)
    if draft.topic == names.TIMER_TOPIC:
        raise DestinationInvalid("it is to go where it waits")
    draft.properties = _with_times(draft.properties, enqueued, now)
    return with_storable_properties(draft)


def rolled_draft(record: bytes, *, physical_offset: int, enqueued: int, now: int) -> Draft:
    """The new record of a timer message that rolls, with the number of its laps.

    Args:
        record: Its record in the timer's topic.
        physical_offset: The record's physical offset, the new one's prepared offset.
        enqueued: When it was put into the timer's index, in ms since 1970.
        now: The time, likewise.

    Raises:
        Stale: the record is not that of a timer message.
        Undeliverable: the record is damaged, or has no room for the number.
    """
    draft = _read_timer(record, physical_offset)
    times = (parse_natural_number(_roll_times(draft.properties) or b"", INT32_MAX - 1) or 0) + 1
    draft.topic, draft.queue_id = names.TIMER_TOPIC, 0
    properties = set_properties(draft.properties, ((_ROLL_TIMES, b"%d" % times),))
    draft.properties = _with_times(properties, enqueued, now)
    return with_storable_properties(draft)


def drafts_to_store(part: LogPart, due: list[DueTimerUnit], now: int) -> list[Draft | DestinationInvalid]:
    """The drafts to store for messages whose records are in one part of the log.

    Args:
        part: The part of the log.
        due: Their units.
        now: The time in ms since 1970.

    Returns:
        For each the draft of `restored_draft`, or of `rolled_draft` if the unit rolls, or the error.
    """
    drafts: list[Draft | DestinationInvalid | None] = [None] * len(due)
    if _kernel is not None:
        drafts = _kernel.stored_again(Draft, *part, due, now)
    result: list[Draft | DestinationInvalid] = []
    for draft, (offset, size, enqueued, _, rolls) in zip(drafts, due, strict=True):
        if draft is not None:
            result.append(draft)
            continue
        again = rolled_draft if rolls else restored_draft
        try:
            result.append(again(_record(part, offset, size), physical_offset=offset, enqueued=enqueued, now=now))
        except DestinationInvalid as error:
            result.append(error)
    return result


def index_entry(record: bytes, physical_offset: int) -> TimerRecord | None:
    """The fields of a record for the timer's index; None for one without a time or a destination.

    Args:
        record: A record in the timer's topic.
        physical_offset: Its physical offset.
    """
    properties = properties_of(memoryview(record))
    out, topic = parse_natural_number(_out(properties) or b""), _real_topic(properties)
    if out is None or topic is None:
        return None
    deletes = _cancelled(properties) is not None
    return TimerRecord(out, physical_offset, len(record), string_hash(text_of(topic)), deletes)


def index_entries(part: LogPart, entries: bytes) -> list[TimerRecord | None]:
    """The results of `index_entry` for the records that entries of the timer's consume queue point to.

    Args:
        part: A part of the log.
        entries: Of the consume queue.

    Returns:
        One for each entry, up to the first whose record is not in the part.
    """
    if _kernel is not None:
        found: list[TimerRecord | None] = _kernel.waiting_in(TimerRecord, *part, entries)
        for number, waiting in enumerate(found):
            if waiting is None:
                offset, size, _ = ENTRY_STRUCT.unpack_from(entries, number * ENTRY_STRUCT.size)
                found[number] = index_entry(_record(part, offset, size), offset)
        return found
    result: list[TimerRecord | None] = []
    for offset, size, _ in ENTRY_STRUCT.iter_unpack(entries):
        if not _holds(part, offset, size):
            break
        result.append(index_entry(_record(part, offset, size), offset))
    return result


class CancelledMessage(NamedTuple):
    """What a marker cancels: a message of the marker's topic only, so that the sender needs rights for that alone."""

    topic: str
    unique_key: str


def cancelled_message(record: bytes) -> CancelledMessage | None:
    """The message that a marker cancels; None if the record is not a marker.

    Args:
        record: A record in the timer's topic.
    """
    properties = properties_of(memoryview(record))
    key, topic = _cancelled(properties), _real_topic(properties)
    return None if key is None or topic is None else CancelledMessage(text_of(topic), text_of(key))


def _holds(part: LogPart, offset: int, size: int) -> bool:
    return part.start <= offset and 0 <= size <= part.end - offset


def _record(part: LogPart, offset: int, size: int) -> bytes:
    """The record at an offset, from a part of the log; no bytes if it is not in the part."""
    at = offset - part.start
    return part.data[at : at + size] if _holds(part, offset, size) else b""


def _read_timer(record: bytes, physical_offset: int) -> Draft:
    """The timer message of a record at a physical offset."""
    if len(record) < SMALLEST_RECORD or _PLACE.unpack_from(record) != (len(record), physical_offset):
        raise RecordLost("its record is not in the log any more")
    draft = restore_waiting(record, _TIMER)
    if draft.topic != names.TIMER_TOPIC:
        raise RecordLost("its record is not in the log any more")
    draft.prepared_offset = physical_offset
    return draft


def _with_times(properties: bytes, enqueued: int, now: int) -> bytes:
    """The properties with the times of entering and leaving the timer's index."""
    if properties and properties[-1] != _ITEM_SEP_BYTE and _QUEUE_MS not in properties:
        return properties + _TIMES % (enqueued, now)
    return set_properties(properties, ((_ENQUEUE_MS, b"%d" % enqueued), (_DEQUEUE_MS, b"%d" % now)))
