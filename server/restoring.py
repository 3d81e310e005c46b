"""A message that waited, as it is to be stored next: read out of its record in one go, with no more than is needed.

Messages wait for a delay level in the schedule topic, and for a set time in the timer's topic. Delivery comes in bursts
of thousands, so records as this broker writes them do not go the general way of `stored_message`; others do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from rocketwire.server.real_queue import real_queue
from rocketwire.server.stored_message import stored_message
from rocketwire.store.layout.consume_queue import ENTRY_STRUCT
from rocketwire.store.layout.record import HOST_BITS, head_of, properties_of
from rocketwire.store.lost_pages import fenced
from rocketwire.store.reader import LogPart
from rocketwire.store.store import Draft
from rocketwire.store.timer.waiting import Waiting
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.fast import tags_code
from rocketwire.wire.java import INT32_MAX, natural_number, string_hash
from rocketwire.wire.message import MAX_PROPERTIES_LENGTH
from rocketwire.wire.property_edits import reader_of, with_items

#: Of the head with IPv4 hosts: flag, sysFlag, born timestamp, born host, reconsume times, length of the body.
_HEAD: Final = struct.Struct(">16xi16xiq8s16xi8xi")
_BODY_AT: Final = head_of(0).size
_HALF_TOPIC: Final = names.TRANS_HALF_TOPIC
_NOT_HOST_BITS: Final = ~HOST_BITS
_unpack_head = _HEAD.unpack_from
_unique_key: Final = reader_of(property_names.UNIQ_KEY.encode())
_keys: Final = reader_of(property_names.KEYS.encode())
_tags: Final = reader_of(property_names.TAGS.encode())
_out: Final = reader_of(property_names.TIMER_OUT_MS.encode())
_cancelled: Final = reader_of(property_names.TIMER_DEL_UNIQ_KEY.encode())
_roll_times: Final = reader_of(property_names.TIMER_ROLL_TIMES.encode())
_real_topic: Final = reader_of(property_names.REAL_TOPIC.encode())
_ENQUEUE_MS: Final = property_names.TIMER_ENQUEUE_MS.encode()
_DEQUEUE_MS: Final = property_names.TIMER_DEQUEUE_MS.encode()
_ROLL_TIMES: Final = property_names.TIMER_ROLL_TIMES.encode()
#: What both names of times end with.
_QUEUE_MS: Final = b"QUEUE_MS"
_TIMES: Final = b"\x02%b\x01%%d\x02%b\x01%%d" % (_ENQUEUE_MS, _DEQUEUE_MS)
_ITEM_SEP_BYTE: Final = property_names.ITEM_SEP.encode()[0]
_LONGEST_TIME: Final = 20
TIMER_ROOM: Final = sum(len(name) + _LONGEST_TIME + 2 for name in (_ENQUEUE_MS, _DEQUEUE_MS, _ROLL_TIMES))
"""Bytes that the properties of a timer message have to leave free, for what it gets while it waits."""


class Undeliverable(Exception):
    """A message that can never be delivered; the text says why."""


class Due(NamedTuple):
    """Where the record of a timer message that is due stands.

    Attributes:
        physical_offset: Its place in the log.
        record_size: Its size in bytes.
        enqueued: When it was put into the index of the timer, in ms since 1970: its unit's write time.
    """

    physical_offset: int
    record_size: int
    enqueued: int


class _Origin(NamedTuple):
    """The topic that messages wait in, as records name it: the field, and what reads it and the properties' length."""

    field: bytes
    middle: struct.Struct


def _origin(topic: str) -> _Origin:
    field = bytes([len(topic)]) + topic.encode()
    return _Origin(field, struct.Struct(f">{len(field)}sh"))


_SCHEDULE: Final = _origin(names.SCHEDULE_TOPIC)
_TIMER: Final = _origin(names.TIMER_TOPIC)


def restored(record: bytes) -> Draft:
    """The message that waits for a delay level in a record, with all its properties.

    Raises:
        Undeliverable: the record is damaged, or names no queue that a message can be delivered to.
    """
    draft = _read(record, _SCHEDULE)
    draft.topic, draft.queue_id = _destination(draft.properties)
    return _storable(draft)


def restored_timer(record: bytes, *, physical_offset: int, enqueued: int, now: int) -> Draft:
    """The copy of a timer message that is due: what its real topic gets.

    Args:
        record: Where it waits.
        physical_offset: That record's place in the log; the copy says it as its prepared offset.
        enqueued: When it was put into the timer's index, in ms since 1970.
        now: The time, likewise.

    Raises:
        Undeliverable: the record is damaged, or names no queue that a message can be delivered to.
    """
    draft = _read(record, _TIMER)
    draft.topic, draft.queue_id = _destination(draft.properties)
    if draft.topic == names.TIMER_TOPIC:
        raise Undeliverable("it is to go where it waits")
    draft.properties = _with_times(draft.properties, enqueued, now)
    draft.prepared_offset = physical_offset
    return _storable(draft)


def rolled_timer(record: bytes, *, physical_offset: int, enqueued: int, now: int) -> Draft:
    """A timer message that is not due yet, to wait in a new record: with the number of laps it has waited.

    Args:
        record: Where it waits.
        physical_offset: That record's place in the log; the new one says it as its prepared offset.
        enqueued: When it was put into the timer's index, in ms since 1970.
        now: The time, likewise.

    Raises:
        Undeliverable: the record is damaged, or has no room for the number.
    """
    draft = _read(record, _TIMER)
    times = (natural_number(_roll_times(draft.properties) or b"", INT32_MAX - 1) or 0) + 1
    draft.topic, draft.queue_id = names.TIMER_TOPIC, 0
    properties = with_items(draft.properties, ((_ROLL_TIMES, b"%d" % times),))
    draft.properties = _with_times(properties, enqueued, now)
    draft.prepared_offset = physical_offset
    return _storable(draft)


def restored_timers(part: LogPart, due: Sequence[Due], now: int) -> list[Draft | Undeliverable]:
    """The copies of timer messages whose records stand in one part of the log, as `restored_timer` makes each.

    Args:
        part: Holds all those records.
        due: Which they are.
        now: The time in ms since 1970.

    Returns:
        One for each: the copy, or why there can be none.
    """
    data, start, end = part
    result: list[Draft | Undeliverable] = []
    for offset, size, enqueued in due:
        try:
            if not start <= offset <= end - size:
                raise Undeliverable("it is not in the log any more")  # noqa: TRY301 - said as all other reasons are
            record = data[offset - start : offset - start + size]
            result.append(restored_timer(record, physical_offset=offset, enqueued=enqueued, now=now))
        except Undeliverable as error:
            result.append(error)
    return result


def waiting_of(record: bytes, physical_offset: int) -> Waiting | None:
    """What the timer's index takes of a record; None for one that says neither when it is due nor where it is to go.

    Args:
        record: Where a timer message waits.
        physical_offset: That record's place in the log.
    """
    properties = properties_of(memoryview(record))
    out, topic = natural_number(_out(properties) or b""), _real_topic(properties)
    if out is None or topic is None:
        return None
    deletes = _cancelled(properties) is not None
    return Waiting(out, physical_offset, len(record), string_hash(_text(topic)), deletes)


def waiting_in(part: LogPart, entries: bytes) -> list[Waiting | None]:
    """What `waiting_of` says of the records that entries of the timer's consume queue lead to.

    Args:
        part: A part of the log.
        entries: Of the consume queue.

    Returns:
        One for each entry, up to the first whose record is not in the part.
    """
    data, start, end = part
    result: list[Waiting | None] = []
    for offset, size, _ in ENTRY_STRUCT.iter_unpack(entries):
        if not start <= offset <= end - size:
            break
        result.append(waiting_of(data[offset - start : offset - start + size], offset))
    return result


def cancels(record: bytes) -> str | None:
    """The unique key of the message that a marker cancels; None when the record is no marker.

    Args:
        record: Where a timer message waits.
    """
    key = _cancelled(properties_of(memoryview(record)))
    return None if key is None else _text(key)


def _read(record: bytes, origin: _Origin) -> Draft:
    """The message in a record, with the names that the store is to know of it; the caller says where it goes."""
    try:
        flag, sys_flag, born_timestamp, born_host, reconsume_times, body_length = _unpack_head(record)
        body_end = _BODY_AT + body_length
        topic_field, length = origin.middle.unpack_from(record, body_end)
    except struct.error:
        topic_field = b""
    if (
        topic_field == origin.field
        and length == len(record) - body_end - origin.middle.size
        and body_length >= 0
        and not sys_flag & HOST_BITS
    ):
        body = record[_BODY_AT:body_end]
        properties = record[body_end + origin.middle.size :]
    else:
        try:
            message = stored_message(memoryview(record))
        except RecordInvalid as error:
            raise Undeliverable(str(error)) from error
        body, properties, flag, sys_flag = bytes(message.body), message.properties, message.flag, message.sys_flag
        born_timestamp, born_host, reconsume_times = message.born_timestamp, message.born_host, message.reconsume_times
    unique_key, keys, tags = _unique_key(properties), _keys(properties), _tags(properties)
    return Draft(
        "",
        0,
        body,
        properties,
        flag,
        sys_flag & _NOT_HOST_BITS,
        born_timestamp,
        born_host,
        reconsume_times,
        0,
        0 if tags is None else tags_code(_text(tags)),
        None if unique_key is None else _text(unique_key),
        None if keys is None else _text(keys),
    )


def _destination(properties: bytes) -> tuple[str, int]:
    """Topic and queue that a message is to be delivered to."""
    found = real_queue(properties)
    if found is None:
        raise Undeliverable("it does not say where it is to go")
    topic, queue_id = found
    if topic == _HALF_TOPIC:
        raise Undeliverable("it is a half message")
    if queue_id > INT32_MAX:
        raise Undeliverable("it names a queue that no topic can have")
    return topic, queue_id


def _with_times(properties: bytes, enqueued: int, now: int) -> bytes:
    """Properties that say when a message was put into the timer's index, and when it was taken out."""
    if properties and properties[-1] != _ITEM_SEP_BYTE and _QUEUE_MS not in properties:
        return properties + _TIMES % (enqueued, now)
    return with_items(properties, ((_ENQUEUE_MS, b"%d" % enqueued), (_DEQUEUE_MS, b"%d" % now)))


def _storable(draft: Draft) -> Draft:
    """The same draft, with properties that can be stored."""
    properties = draft.properties
    if 0 in properties:  # Apache's broker takes what this one does not
        found = fenced(properties)
        if found is None or len(found) > MAX_PROPERTIES_LENGTH:
            raise Undeliverable("its properties hold so many zero bytes that they would be taken for a lost page")
        draft.properties = found
    elif len(properties) > MAX_PROPERTIES_LENGTH:
        raise Undeliverable("its properties leave no room for the times of the timer")
    return draft


def _text(value: bytes) -> str:
    return str(value, "utf-8", "replace")
