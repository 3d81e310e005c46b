"""Java arithmetic that RocketMQ's formats depend on."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated, Final

import msgspec

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1

Int32 = Annotated[int, msgspec.Meta(ge=INT32_MIN, le=INT32_MAX)]
"""Java's int, for the fields of msgspec structs."""
Int64 = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)]
"""Java's long."""

_INT64_DIGITS: Final = 19
_UINT32_MASK: Final = 0xFFFFFFFF
_INT32_SIGN: Final = 0x80000000
_HASH_FACTOR: Final = 31
_BUCKETS: Final = 16
_LOAD_FACTOR: Final = 0.75
_ORDERS_KEPT: Final = 256


def to_int32(value: int) -> int:
    """Cut an integer to the low 32 bits, read as signed."""
    return ((value & _UINT32_MASK) ^ _INT32_SIGN) - _INT32_SIGN


def parse_natural_number(text: str | bytes, most: int = INT64_MAX) -> int | None:
    """The number in a text of ASCII digits; None for any other text, and for one above `most`.

    So a text from outside never becomes a number that Java cannot hold, nor one too long for Python to parse.
    """
    if not text.isascii() or not text.isdigit() or len(text) > _INT64_DIGITS:
        return None
    number = int(text)
    return number if number <= most else None


def string_hash(text: str, before: int = 0) -> int:
    """Give Java's ``String.hashCode``: over UTF-16 units, so two for a character beyond U+FFFF; int32.

    `before` is the hash of a text that the text is appended to.
    """
    result = before & _UINT32_MASK
    if text.isascii():
        for unit in text.encode():
            result = (_HASH_FACTOR * result + unit) & _UINT32_MASK
    else:
        data = text.encode("utf-16-le", "surrogatepass")
        for low, high in zip(data[::2], data[1::2], strict=True):
            result = (_HASH_FACTOR * result + (high << 8 | low)) & _UINT32_MASK
    return (result ^ _INT32_SIGN) - _INT32_SIGN


def hash_map_order(keys: Iterable[str]) -> tuple[str, ...]:
    """Give the iteration order of a ``HashMap`` of default size, into which the keys were put in the given order."""
    return _hash_map_order(tuple(keys))


# Similar messages have the same property names in the same order.
@lru_cache(maxsize=_ORDERS_KEPT)
def _hash_map_order(keys: tuple[str, ...]) -> tuple[str, ...]:
    found = list(dict.fromkeys(keys))
    buckets = _BUCKETS
    while len(found) > buckets * _LOAD_FACTOR:
        buckets *= 2

    def bucket(key: str) -> int:
        value = string_hash(key) & _UINT32_MASK
        return (value ^ value >> 16) & buckets - 1

    return tuple(sorted(found, key=bucket))
