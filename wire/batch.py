"""The body of a batch send: a sequence of messages without topic, queue or times, which the header has.

``BATCH_ITEM`` is the authority.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as struct_error
from typing import Final, NamedTuple

import construct as cs

from rocketwire.wire.errors import BatchInvalid, BatchTooLarge

BATCH_ITEM: Final = cs.Struct(
    "total_size" / cs.Rebuild(cs.Int32sb, lambda this: 22 + len(this.body) + len(this.properties)),
    "magic" / cs.Default(cs.Int32sb, 0),
    "body_crc" / cs.Default(cs.Int32sb, 0),
    "flag" / cs.Int32sb,
    "body" / cs.Prefixed(cs.Int32sb, cs.GreedyBytes),
    "properties" / cs.Prefixed(cs.Int16sb, cs.GreedyBytes),
)
"""One message of a batch; clients leave magic number and CRC 0, and brokers ignore them."""

_HEAD: Final = Struct(">iiiii")
_INT16: Final = Struct(">h")
_ITEM_SEP: Final = b"\x02"
_LEAST: Final = _HEAD.size + _INT16.size


class BatchItem(NamedTuple):
    """One message of a batch."""

    flag: int
    body: bytes | memoryview
    properties: bytes


def encode_batch(items: Iterable[BatchItem]) -> bytes:
    """Write a batch.

    Raises:
        BatchInvalid: a flag is no 32-bit number, or properties are longer than 32767 bytes.
    """
    parts: list[bytes | memoryview] = []
    for flag, body, properties in items:
        try:
            total = _LEAST + len(body) + len(properties)
            parts += (
                _HEAD.pack(total, 0, 0, flag, len(body)),
                body,
                _INT16.pack(len(properties)),
                properties,
            )
        except struct_error as error:
            raise BatchInvalid(f"message of a batch cannot be written: {error}") from error
    return b"".join(parts)


def decode_batch(
    body: bytes | memoryview, *, most_messages: int | None = None, most_properties: int | None = None
) -> list[BatchItem]:
    """Read a batch; the bodies are slices of the data given.

    Args:
        body: The batch.
        most_messages: How many messages it may have; None: any number.
        most_properties: How many properties all its messages may have together; None: any number.

    Raises:
        BatchTooLarge: it has more.
        BatchInvalid: a message is cut short, or its lengths do not add up.
    """
    result: list[BatchItem] = []
    at, end = 0, len(body)
    head, short = _HEAD.unpack_from, _INT16.unpack_from
    separators = 0
    while at < end:
        if len(result) == most_messages:
            raise BatchTooLarge("batchMessages", most_messages)
        if end - at < _LEAST:
            raise BatchInvalid(f"batch is cut short: {end - at} bytes are left for message {len(result)}")
        total, _, _, flag, body_length = head(body, at)
        body_at = at + _HEAD.size
        properties_at = body_at + body_length + _INT16.size
        item_end = at + total
        if body_length < 0 or not properties_at <= item_end <= end:
            raise BatchInvalid(f"message {len(result)} of a batch has lengths that do not fit: {total}, {body_length}")
        (properties_length,) = short(body, properties_at - _INT16.size)
        if properties_at + properties_length != item_end:
            raise BatchInvalid(f"message {len(result)} of a batch has properties of {properties_length} bytes: no fit")
        item = BatchItem(flag, body[body_at : body_at + body_length], bytes(body[properties_at:item_end]))
        separators += item.properties.count(_ITEM_SEP)
        if most_properties is not None and separators > most_properties:
            raise BatchTooLarge("batchProperties", most_properties)
        result.append(item)
        at = item_end
    return result
