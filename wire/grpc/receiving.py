"""A stored message as a 5.x client gets it: in ReceiveMessage, to verify it, or to decide its transaction."""

from __future__ import annotations

import hashlib
from typing import Final

from rocketwire.wire.addresses import Address
from rocketwire.wire.compression import ZLIB, compression_type, decompress
from rocketwire.wire.errors import WireError
from rocketwire.wire.facts import properties as property_names
from rocketwire.wire.facts.codes import SysFlag
from rocketwire.wire.facts.properties import (
    BORN_HOST,
    DLQ_ORIGIN_MESSAGE_ID,
    DLQ_ORIGIN_TOPIC,
    KEY_SEP,
    LITE_TOPIC,
    PRIORITY,
    RESERVED_NAMES,
    TRACE_CONTEXT,
)
from rocketwire.wire.grpc import definition_pb2
from rocketwire.wire.grpc.message_types import type_of
from rocketwire.wire.grpc.times import put_timestamp
from rocketwire.wire.hosts import encode_host
from rocketwire.wire.java import INT32_MAX, parse_natural_number
from rocketwire.wire.message import MessageRecord
from rocketwire.wire.message_id import offset_message_id
from rocketwire.wire.properties import decode_stored_properties

MOST_INFLATED: Final = 16 * 1024 * 1024
"""Bytes of a body that is decompressed for clients that cannot do it; a larger one stays as it is."""

_MESSAGE_TYPES: Final = {
    "NORMAL": definition_pb2.NORMAL,
    "FIFO": definition_pb2.FIFO,
    "DELAY": definition_pb2.DELAY,
    "TRANSACTION": definition_pb2.TRANSACTION,
    "PRIORITY": definition_pb2.PRIORITY,
    "LITE": definition_pb2.LITE,
}


def delivered_message(
    record: MessageRecord, *, topic: str, receipt_handle: str = "", reconsume_times: int | None = None
) -> definition_pb2.Message:
    """Translate a message.

    Args:
        record: As it is stored.
        topic: The topic that the client requested: the record may lie in a retry topic.
        receipt_handle: Of this delivery; empty: there is none, the client only views the message.
        reconsume_times: How often it was delivered before, where that is not the record's number (order mode).
    """
    properties = decode_stored_properties(record.properties)
    body, encoding = _body(record)
    message = definition_pb2.Message(body=body)
    message.topic.name = topic
    user = {name: value for name, value in properties.items() if name not in RESERVED_NAMES}
    if user:
        message.user_properties.update(user)
    times = record.reconsume_times if reconsume_times is None else reconsume_times
    system = message.system_properties
    system.message_id = properties.get(property_names.UNIQ_KEY) or offset_id(record)
    system.body_digest.type = definition_pb2.MD5
    system.body_digest.checksum = hashlib.md5(body, usedforsecurity=False).hexdigest().upper()
    system.body_encoding = encoding
    system.message_type = _MESSAGE_TYPES[type_of(properties)]
    put_timestamp(system.born_timestamp, record.born_timestamp)
    put_timestamp(system.store_timestamp, record.store_timestamp)
    system.born_host = properties.get(BORN_HOST) or record.born_host[0]
    system.store_host = str(Address(host=record.store_host[0], port=record.store_host[1]))
    system.queue_id = record.queue_id
    system.queue_offset = record.queue_offset
    system.delivery_attempt = min(times + 1, INT32_MAX)
    if receipt_handle:
        system.receipt_handle = receipt_handle
    _put_optional(system, properties)
    return message


def offset_id(record: MessageRecord) -> str:
    """The id of a message that has no unique key: where it is stored."""
    return offset_message_id(encode_host(*record.store_host), record.physical_offset)


def _body(record: MessageRecord) -> tuple[bytes, definition_pb2.Encoding]:
    """The body and its encoding. The protocol knows only GZIP, by which SDKs mean zlib as well: others are undone."""
    sys_flag = record.sys_flag
    if not sys_flag & SysFlag.COMPRESSED:
        return record.body, definition_pb2.IDENTITY
    try:
        if compression_type(sys_flag) != ZLIB:
            return decompress(record.body, sys_flag, max_size=MOST_INFLATED), definition_pb2.IDENTITY
    except WireError:
        pass  # the client may do what cannot be done here; Apache's proxy always leaves it to the client
    return record.body, definition_pb2.GZIP


def _put_optional(system: definition_pb2.SystemProperties, properties: dict[str, str]) -> None:
    get = properties.get
    if (tag := get(property_names.TAGS)) is not None:
        system.tag = tag
    if (keys := get(property_names.KEYS)) is not None:
        system.keys.extend(keys.rstrip(KEY_SEP).split(KEY_SEP))
    if (group := get(property_names.SHARDING_KEY)) is not None:
        system.message_group = group
    if (trace := get(TRACE_CONTEXT)) is not None:
        system.trace_context = trace
    # Of a message with a delay instead of a time, the timer has set when it was due.
    if (due := get(property_names.TIMER_DELIVER_MS) or get(property_names.TIMER_OUT_MS)) is not None:
        ms = parse_natural_number(due)
        if ms is not None:
            put_timestamp(system.delivery_timestamp, ms)
    if (priority := parse_natural_number(get(PRIORITY, ""), INT32_MAX)) is not None:
        system.priority = priority
    if (lite_topic := get(LITE_TOPIC)) is not None:
        system.lite_topic = lite_topic
    origin, origin_id = get(DLQ_ORIGIN_TOPIC), get(DLQ_ORIGIN_MESSAGE_ID)
    if origin is not None and origin_id is not None:
        system.dead_letter_queue.topic = origin
        system.dead_letter_queue.message_id = origin_id
