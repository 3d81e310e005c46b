"""The fast path of deliveries: from a stored message to the payload of a ReceiveMessage answer, without protobuf.

It writes plain messages itself: a body that is not compressed, few properties, none of them rare. All others take the
declared way, `receiving.delivered_message`; a property test proves the two equal.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from rocketwire.wire.addresses import Address
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.facts import properties as names
from rocketwire.wire.grpc.answers import message_response
from rocketwire.wire.grpc.numbers import NUMBERS, NUMBERS_KEPT, number
from rocketwire.wire.grpc.property_names import (
    BORN_HOST,
    DLQ_ORIGIN_MESSAGE_ID,
    DLQ_ORIGIN_TOPIC,
    LITE_TOPIC,
    PRIORITY,
    RESERVED,
    TRACE_CONTEXT,
)
from rocketwire.wire.grpc.receiving import delivered_message, offset_id
from rocketwire.wire.grpc.times import written_timestamp
from rocketwire.wire.java import INT32_MAX
from rocketwire.wire.message import Message
from rocketwire.wire.properties import items_of

_TOPICS_KEPT: Final = 1024
_HOSTS_KEPT: Final = 1024
_MOST_TEXT: Final = NUMBERS_KEPT - 16  # bytes, with room for what stands before a property
_NOT_PLAIN: Final = SysFlag.COMPRESSED

_RESERVED: Final = frozenset(name.encode() for name in RESERVED)
RARE_NAMES: Final = frozenset(
    {
        DLQ_ORIGIN_MESSAGE_ID,
        DLQ_ORIGIN_TOPIC,
        LITE_TOPIC,
        PRIORITY,
        TRACE_CONTEXT,
        names.DELAY,
        names.START_DELIVER_TIME,
        names.TIMER_DELAY_MS,
        names.TIMER_DELAY_SEC,
        names.TIMER_DELIVER_MS,
        names.TIMER_OUT_MS,
        names.TRANSACTION_PREPARED,
    }
)
"""Properties that change the type, or become a field that few messages have."""
_RARE: Final = frozenset(name.encode() for name in RARE_NAMES)
_TAGS: Final = names.TAGS.encode()
_KEYS: Final = names.KEYS.encode()
_UNIQ_KEY: Final = names.UNIQ_KEY.encode()
_SHARDING_KEY: Final = names.SHARDING_KEY.encode()
_BORN_HOST: Final = BORN_HOST.encode()

# A field begins with its number and, in the lower three bits, the form of its value.
_TOPIC, _USER, _SYSTEM, _BODY = b"\x0a", b"\x12", b"\x1a", b"\x22"  # of Message
_RESPONSE_MESSAGE: Final = b"\x12"
_RESOURCE_NAME: Final = b"\x12"
_ENTRY_KEY, _ENTRY_VALUE = b"\x0a", b"\x12"
_TAG, _KEY, _MESSAGE_ID, _BORN, _HOST, _STORED, _STORE = b"\x0a", b"\x12", b"\x1a", b"\x3a", b"\x42", b"\x4a", b"\x52"
_HANDLE, _QUEUE, _OFFSET, _ATTEMPT, _GROUP = b"\x62", b"\x68", b"\x70", b"\x80\x01", b"\x8a\x01"
_MD5_OF_BODY: Final = b"\x22\x24\x08\x02\x12\x20"  # body_digest of 36 bytes: type MD5, a checksum of 32 characters
_NORMAL: Final = b"\x28\x01\x30\x01"  # body_encoding IDENTITY, message_type NORMAL
_FIFO: Final = b"\x28\x01\x30\x02"


def delivered_payload(record: Message, *, topic: str, receipt_handle: str, reconsume_times: int | None = None) -> bytes:
    """The payload of a `ReceiveMessageResponse` with a message; the arguments are those of `delivered_message`."""
    payload = _plain(record, topic, receipt_handle, reconsume_times)
    return _declared(record, topic, receipt_handle, reconsume_times) if payload is None else payload


def _declared(record: Message, topic: str, receipt_handle: str, reconsume_times: int | None) -> bytes:
    message = delivered_message(record, topic=topic, receipt_handle=receipt_handle, reconsume_times=reconsume_times)
    return message_response(message).SerializeToString()


def _plain(record: Message, topic: str, receipt_handle: str, reconsume_times: int | None) -> bytes | None:
    """The payload; None if the record is not plain."""
    attempt = min((record.reconsume_times if reconsume_times is None else reconsume_times) + 1, INT32_MAX)
    handle, properties, body = receipt_handle.encode(), record.properties, record.body
    if (
        record.sys_flag & _NOT_PLAIN
        or not handle
        or min(record.queue_id, record.queue_offset, attempt) < 0
        or max(len(properties), len(handle)) > _MOST_TEXT
        or not _is_utf8(properties)
    ):
        return None
    items = items_of(properties)
    if not _RARE.isdisjoint(items):
        return None
    size = NUMBERS  # all that is sized by it is shorter than `NUMBERS_KEPT`
    get = items.get
    tag, keys, group, host = get(_TAGS), get(_KEYS), get(_SHARDING_KEY), get(_BORN_HOST)
    message_id = get(_UNIQ_KEY) or offset_id(record).encode()
    system = b"".join(
        (
            b"" if tag is None else _TAG + size[len(tag)] + tag,
            b"" if keys is None else b"".join([_KEY + size[len(key)] + key for key in keys.rstrip(b" ").split(b" ")]),
            _MESSAGE_ID,
            size[len(message_id)],
            message_id,
            _MD5_OF_BODY,
            hashlib.md5(body, usedforsecurity=False).hexdigest().upper().encode(),
            _NORMAL if group is None else _FIFO,
            _BORN,
            written_timestamp(record.born_timestamp),
            _born(record.born_host) if host is None else _HOST + size[len(host)] + host,
            _STORED,
            written_timestamp(record.store_timestamp),
            _store(record.store_host),
            _HANDLE,
            size[len(handle)],
            handle,
            _QUEUE,
            number(record.queue_id),
            _OFFSET,
            number(record.queue_offset),
            _ATTEMPT,
            number(attempt),
            b"" if group is None else _GROUP + size[len(group)] + group,
        )
    )
    message = [_topic(topic)]
    for name, value in items.items():
        if name not in _RESERVED:
            entry = _ENTRY_KEY + size[len(name)] + name + _ENTRY_VALUE + size[len(value)] + value
            message += (_USER, size[len(entry)], entry)
    message += (_SYSTEM, number(len(system)), system, _BODY, number(len(body)), body)
    payload = b"".join(message)
    return _RESPONSE_MESSAGE + number(len(payload)) + payload


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sized(field: bytes, value: bytes) -> bytes:
    return field + number(len(value)) + value


@lru_cache(maxsize=_TOPICS_KEPT)
def _topic(name: str) -> bytes:
    return _sized(_TOPIC, _sized(_RESOURCE_NAME, name.encode()))


@lru_cache(maxsize=_HOSTS_KEPT)
def _born(host: tuple[str, int]) -> bytes:
    return _sized(_HOST, host[0].encode())


@lru_cache(maxsize=_HOSTS_KEPT)
def _store(host: tuple[str, int]) -> bytes:
    return _sized(_STORE, str(Address(host=host[0], port=host[1])).encode())
