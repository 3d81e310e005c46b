"""A message that waited, as it is to be stored next: read out of its record in one go, with no more than is needed.

Messages wait for a delay level in the schedule topic; `timer.records` reads those that wait for a set time. Delivery
comes in bursts of thousands, so records as this broker writes them are read here in one go; `stored_message` reads all
others. The kernel is tried first: it gives None for a record that it does not know.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from rocketwire import native
from rocketwire.server.messages.real_queue import real_queue
from rocketwire.server.messages.stored_message import stored_message
from rocketwire.store.append.drafts import Draft
from rocketwire.store.records.lost_pages import guard_against_lost_pages
from rocketwire.wire import names
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.record import HOST_BITS, MAX_PROPERTIES_LENGTH, RECORD_HEADS
from rocketwire.wire.java import INT32_MAX
from rocketwire.wire.properties import property_reader
from rocketwire.wire.stored_properties import tags_code

#: Of the head with IPv4 hosts: flag, sysFlag, born timestamp, born host, reconsume times, length of the body.
_HEAD: Final = struct.Struct(">16xi16xiq8s16xi8xi")
_BODY_AT: Final = RECORD_HEADS[0].size
_HALF_TOPIC: Final = names.TRANS_HALF_TOPIC
_NOT_HOST_BITS: Final = ~HOST_BITS
_unpack_head = _HEAD.unpack_from
_kernel: Final = native.kernel
_unique_key: Final = property_reader(property_names.UNIQ_KEY.encode())
_keys: Final = property_reader(property_names.KEYS.encode())
_tags: Final = property_reader(property_names.TAGS.encode())


class DestinationInvalid(Exception):
    """A message that can never be delivered; the text has the reason."""


class WaitingTopic(NamedTuple):
    """The topic that messages wait in, its field in records, and what reads that and the properties' length."""

    topic: str
    field: bytes
    middle: struct.Struct


def waiting_topic(topic: str) -> WaitingTopic:
    """The topic of that name."""
    field = bytes([len(topic)]) + topic.encode()
    return WaitingTopic(topic, field, struct.Struct(f">{len(field)}sh"))


_SCHEDULE: Final = waiting_topic(names.SCHEDULE_TOPIC)


def restore_delayed(record: bytes) -> Draft:
    """The message that waits for a delay level in a record, with all its properties.

    Raises:
        Undeliverable: the record is damaged, or names no queue that a message can be delivered to.
    """
    if _kernel is not None:
        found: Draft | None = _kernel.restored_delayed(Draft, record)
        if found is not None:
            return found
    draft = restore_waiting(record, _SCHEDULE)
    draft.topic, draft.queue_id = destination(draft.properties)
    return with_storable_properties(draft)


def restore_waiting(record: bytes, origin: WaitingTopic) -> Draft:
    """The message in a record, as it waits, with the names that the store is to know of it.

    Args:
        record: A whole record.
        origin: The topic that it most likely is of.

    Raises:
        Undeliverable: the record is damaged.
    """
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
        topic = origin.topic
        body = record[_BODY_AT:body_end]
        properties = record[body_end + origin.middle.size :]
    else:
        try:
            message = stored_message(memoryview(record))
        except RecordInvalid as error:
            raise DestinationInvalid(str(error)) from error
        topic, flag, sys_flag = message.topic, message.flag, message.sys_flag
        body, properties = bytes(message.body), message.properties
        born_timestamp, born_host, reconsume_times = message.born_timestamp, message.born_host, message.reconsume_times
    unique_key, keys, tags = _unique_key(properties), _keys(properties), _tags(properties)
    return Draft(
        topic,
        0,
        body,
        properties,
        flag,
        sys_flag & _NOT_HOST_BITS,
        born_timestamp,
        born_host,
        reconsume_times,
        0,
        0 if tags is None else tags_code(text_of(tags)),
        None if unique_key is None else text_of(unique_key),
        None if keys is None else text_of(keys),
    )


def destination(properties: bytes) -> tuple[str, int]:
    """Topic and queue that a message with these properties is to be delivered to.

    Raises:
        Undeliverable: they name none.
    """
    found = real_queue(properties)
    if found is None:
        raise DestinationInvalid("it does not say where it is to go")
    topic, queue_id = found
    if topic == _HALF_TOPIC:
        raise DestinationInvalid("it is a half message")
    if queue_id > INT32_MAX:
        raise DestinationInvalid("it names a queue that no topic can have")
    return topic, queue_id


def with_storable_properties(draft: Draft) -> Draft:
    """The same draft, with properties that can be stored.

    Raises:
        Undeliverable: there are none such.
    """
    properties = draft.properties
    if 0 in properties:  # Apache's broker accepts messages that this one refuses
        found = guard_against_lost_pages(properties)
        if found is None or len(found) > MAX_PROPERTIES_LENGTH:
            raise DestinationInvalid("its properties hold so many zero bytes that they would be taken for a lost page")
        draft.properties = found
    elif len(properties) > MAX_PROPERTIES_LENGTH:
        raise DestinationInvalid("its properties leave no room for the times of the timer")
    return draft


def text_of(value: bytes) -> str:
    """A property's value as text, which it may be not."""
    return str(value, "utf-8", "replace")
