"""The wire format of schema registries: a zero byte, the schema's id in four bytes, and then the value.

Confluent's serializers write it, and those of others that use such a registry. Between id and value Protobuf has the
path to the message's type in its file: zigzag varints, their number first; a single zero stands for the first type.
"""

from __future__ import annotations

from typing import Final

from rocketwire.spark.errors import BodyMalformed

_MAGIC: Final = 0
#: Bytes before the value.
HEAD: Final = 5
_REMEDY: Final = "Other producers may write to the topic without a schema registry"
_LONGEST_VARINT: Final = 10


def unframed(body: bytes) -> tuple[int, bytes]:
    """The schema's id, and the value.

    Raises:
        BodyMalformed: it is not in this format.
    """
    if len(body) < HEAD or body[0] != _MAGIC:
        raise BodyMalformed("a body does not begin with a zero byte and the id of a schema", _REMEDY)
    return int.from_bytes(body[1:HEAD], "big"), body[HEAD:]


def without_path(value: bytes) -> bytes:
    """A value of Protobuf without the path to its type.

    Raises:
        BodyMalformed: there is no path.
    """
    count, at = _varint(value, 0)
    for _ in range(count):
        _, at = _varint(value, at)
    return value[at:]


def _varint(value: bytes, at: int) -> tuple[int, int]:
    """The zigzag number at a place, and the place behind it."""
    number = 0
    for digit, byte in enumerate(value[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << (7 * digit)
        if byte < 0x80:
            # A negative count or index means nothing.
            if number & 1:
                break
            return number >> 1, at + digit + 1
    raise BodyMalformed("a body has no path to its type behind the id of its schema", _REMEDY)
