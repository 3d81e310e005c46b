"""A message that waited, as it is to be delivered: read out of its record in one go, with no more than is needed.

Delivery comes in bursts of thousands, so records as this broker writes them do not go the general way of
`stored_message`; others do.
"""

from __future__ import annotations

import struct
from typing import Final

from rocketwire.server.real_queue import real_queue
from rocketwire.server.stored_message import StoredMessage, stored_message
from rocketwire.store.layout.record import HOST_BITS, head_of
from rocketwire.store.lost_pages import fenced
from rocketwire.store.store import Draft
from rocketwire.wire import names
from rocketwire.wire import properties as property_names
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.fast import tags_code
from rocketwire.wire.java import INT32_MAX
from rocketwire.wire.message import MAX_PROPERTIES_LENGTH
from rocketwire.wire.property_edits import reader_of

#: Of the head with IPv4 hosts: flag, sysFlag, born timestamp, born host, reconsume times, length of the body.
_HEAD: Final = struct.Struct(">16xi16xiq8s16xi8xi")
_BODY_AT: Final = head_of(0).size
_TOPIC_FIELD: Final = bytes([len(names.SCHEDULE_TOPIC)]) + names.SCHEDULE_TOPIC.encode()
_HALF_TOPIC: Final = names.TRANS_HALF_TOPIC
#: What is behind the body: the topic with its length, and the length of the properties.
_MIDDLE: Final = struct.Struct(f">{len(_TOPIC_FIELD)}sh")
_MIDDLE_SIZE: Final = _MIDDLE.size
_NOT_HOST_BITS: Final = ~HOST_BITS
_unpack_head = _HEAD.unpack_from
_unpack_middle = _MIDDLE.unpack_from
_unique_key: Final = reader_of(property_names.UNIQ_KEY.encode())
_keys: Final = reader_of(property_names.KEYS.encode())
_tags: Final = reader_of(property_names.TAGS.encode())


class Undeliverable(Exception):
    """A message that can never be delivered; the text says why."""


def restored(record: bytes) -> Draft:
    """The message that waits in a record, with all its properties.

    Raises:
        Undeliverable: the record is damaged, or names no queue that a message can be delivered to.
    """
    try:
        flag, sys_flag, born_timestamp, born_host, reconsume_times, body_length = _unpack_head(record)
        body_end = _BODY_AT + body_length
        topic_field, length = _unpack_middle(record, body_end)
    except struct.error:
        topic_field = b""
    if (
        topic_field == _TOPIC_FIELD
        and length == len(record) - body_end - _MIDDLE_SIZE
        and body_length >= 0
        and not sys_flag & HOST_BITS
    ):
        body = record[_BODY_AT:body_end]
        properties = record[body_end + _MIDDLE_SIZE :]
    else:
        message = _message(record)
        body, properties, flag, sys_flag = bytes(message.body), message.properties, message.flag, message.sys_flag
        born_timestamp, born_host, reconsume_times = message.born_timestamp, message.born_host, message.reconsume_times
    topic, queue_id = _destination(properties)
    if 0 in properties:
        properties = _fenced(properties)
    unique_key, keys, tags = _unique_key(properties), _keys(properties), _tags(properties)
    return Draft(
        topic,
        queue_id,
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


def _message(record: bytes) -> StoredMessage:
    try:
        return stored_message(memoryview(record))
    except RecordInvalid as error:
        raise Undeliverable(str(error)) from error


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


def _fenced(properties: bytes) -> bytes:
    """Properties with zero bytes as they can be stored: Apache's broker takes what this one does not."""
    found = fenced(properties)
    if found is None or len(found) > MAX_PROPERTIES_LENGTH:
        raise Undeliverable("its properties hold so many zero bytes that they would be taken for a page the disk lost")
    return found


def _text(value: bytes) -> str:
    return str(value, "utf-8", "replace")
