"""A record of the commit log, read to be stored once more, elsewhere or with other properties.

What is delivered after a delay, committed by a transaction or sent back by a consumer is a message that the log holds
already. It is read here with only what its new record needs, and its body stays a view of the log.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.store.append.drafts import Draft
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.record import HOST_BITS, MAX_PROPERTIES_LENGTH, RECORD_HEADS, TOPIC_LENGTH_FORMATS
from rocketwire.wire.java import hash_map_order
from rocketwire.wire.properties import decode_stored_properties, encode_properties
from rocketwire.wire.stored_properties import tags_code

_HEAD: Final = RECORD_HEADS[0]
_SYS_FLAG: Final = 7  # its place among the fields of each head
_PROPERTIES_LENGTH: Final = struct.Struct(">h")
_NOT_HOST_BITS: Final = ~HOST_BITS


class StoredMessage(NamedTuple):
    """What a record holds; times in ms since 1970, hosts as records have them, the body as it is stored."""

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    body: memoryview
    properties: bytes
    flag: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    store_timestamp: int
    store_host: bytes
    reconsume_times: int
    prepared_offset: int

    def decoded_properties(self) -> dict[str, str]:
        """Its properties by name, in the order they are stored in."""
        return decode_stored_properties(self.properties)

    def draft(self, topic: str, queue_id: int, properties: Mapping[str, str]) -> Draft:
        """The same message for another queue; the caller may change further fields of the draft.

        Args:
            topic: Where it is to be stored.
            queue_id: A queue of that topic.
            properties: All that it is to have, in any order.

        Raises:
            PropertiesInvalid: a separator stands in a name or value.
        """
        return self.draft_with(
            topic,
            queue_id,
            stored_text(properties),
            tags_code(properties.get(names.TAGS)),
            properties.get(names.UNIQ_KEY),
            properties.get(names.KEYS),
        )

    def draft_with(
        self, topic: str, queue_id: int, text: bytes, tags: int, unique_key: str | None, keys: str | None
    ) -> Draft:
        """As `draft`, with the properties as they are to be stored and what the store is to know of them.

        Args:
            topic: Where it is to be stored.
            queue_id: A queue of that topic.
            text: The properties.
            tags: The hash of their TAGS.
            unique_key: Their UNIQ_KEY.
            keys: Their KEYS.
        """
        return Draft(
            topic,
            queue_id,
            self.body,
            text,
            self.flag,
            self.sys_flag & _NOT_HOST_BITS,
            self.born_timestamp,
            self.born_host,
            self.reconsume_times,
            0,
            tags,
            unique_key,
            keys,
        )


_new = tuple.__new__  # of a NamedTuple, without its checks


def stored_text(properties: Mapping[str, str]) -> bytes:
    """Properties as a 4.9.7 broker writes those that it has changed: in the order of Java's hash map.

    Raises:
        PropertiesInvalid: a separator stands in a name or value.
    """
    return encode_properties({name: properties[name] for name in hash_map_order(properties)}).encode()


def stored_message(record: memoryview) -> StoredMessage:
    """Read a whole record that the store gave. The body is not compared with its CRC: Apache does not do it either.

    Raises:
        RecordInvalid: the lengths in it do not add up, or its topic is no UTF-8.
    """
    try:
        head = _HEAD
        fields = head.unpack_from(record)
        if fields[_SYS_FLAG] & HOST_BITS:
            head = RECORD_HEADS[fields[_SYS_FLAG] & HOST_BITS]
            fields = head.unpack_from(record)
        (
            _size,
            magic,
            _crc,
            queue_id,
            flag,
            queue_offset,
            physical_offset,
            sys_flag,
            born_timestamp,
            born_host,
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_offset,
            body_length,
        ) = fields
        body_at = head.size
        tail = bytes(record[body_at + body_length :])  # topic and properties, each behind its length
        form = TOPIC_LENGTH_FORMATS[magic]
        topic_at = form.size
        properties_length_at = topic_at + form.unpack_from(tail)[0]
        properties_at = properties_length_at + _PROPERTIES_LENGTH.size
        properties_length = tail[properties_length_at] << 8 | tail[properties_length_at + 1]
        topic = str(tail[topic_at:properties_length_at], "utf-8")
    except (struct.error, IndexError, KeyError, UnicodeDecodeError) as error:
        raise RecordInvalid(f"message record of {len(record)} bytes is damaged: {error}") from error
    if (
        body_length < 0
        or properties_length_at < topic_at
        or properties_length > MAX_PROPERTIES_LENGTH
        or properties_at + properties_length != len(tail)
    ):
        raise RecordInvalid(f"the lengths in a message record of {len(record)} bytes do not add up")
    return _new(
        StoredMessage,
        (
            topic,
            queue_id,
            queue_offset,
            physical_offset,
            record[body_at : body_at + body_length],
            tail[properties_at:],
            flag,
            sys_flag,
            born_timestamp,
            born_host,
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_offset,
        ),
    )
