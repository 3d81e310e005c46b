"""Java arithmetic that RocketMQ's formats depend on."""

from typing import Final

_UINT32_MASK: Final = 0xFFFFFFFF
_INT32_SIGN: Final = 0x80000000
_HASH_FACTOR: Final = 31


def to_int32(value: int) -> int:
    """Cut an integer to the low 32 bits, read as signed."""
    return ((value & _UINT32_MASK) ^ _INT32_SIGN) - _INT32_SIGN


def string_hash(text: str) -> int:
    """Give Java's ``String.hashCode``: over UTF-16 units, so two for a character beyond U+FFFF; int32."""
    result = 0
    if text.isascii():
        for unit in text.encode():
            result = (_HASH_FACTOR * result + unit) & _UINT32_MASK
    else:
        data = text.encode("utf-16-le", "surrogatepass")
        for low, high in zip(data[::2], data[1::2], strict=True):
            result = (_HASH_FACTOR * result + (high << 8 | low)) & _UINT32_MASK
    return (result ^ _INT32_SIGN) - _INT32_SIGN
