"""The bits of a group's filter of a topic in Apache's Bloom filter, as in consumerFilter.json.

A broker with a consume queue extension stores such bits for the filters that match each message. This broker does not;
but Apache ignores a file of filters whose bits are missing or differ in number from its own. So they are those of its
default settings: 20 % of errors, 32 consumers.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final

from rocketwire.wire.java import to_int32

#: The bits of one filter, and those among which they are chosen.
_HASHES: Final = 3
_BITS: Final = 112

_MASK: Final = (1 << 64) - 1
_FIRST: Final = 0x87C37B91114253D5
_SECOND: Final = 0x4CF5AD432745937F
_BLOCK: Final = Struct("<QQ")


def bloom_bits(group: str, topic: str) -> dict[str, Any]:
    """The bits of a group's filter of a topic, in the file's form."""
    digest = murmur3(f"{group}#{topic}".encode())
    low, high = to_int32(digest), to_int32(digest >> 32)
    combined = [to_int32(low + number * high) for number in range(1, _HASHES + 1)]
    return {"bitNum": _BITS, "bitPos": [(each if each >= 0 else ~each) % _BITS for each in combined]}


def murmur3(data: bytes) -> int:
    """The lower 64 bits of MurmurHash3 (x64, 128 bits, seed 0)."""
    first = second = 0
    whole = len(data) - len(data) % _BLOCK.size
    for one, two in _BLOCK.iter_unpack(data[:whole]):
        first ^= _mixed_first(one)
        first = ((_rotated(first, 27) + second) * 5 + 0x52DCE729) & _MASK
        second ^= _mixed_second(two)
        second = ((_rotated(second, 31) + first) * 5 + 0x38495AB5) & _MASK
    one, two = _BLOCK.unpack(data[whole:].ljust(_BLOCK.size, b"\0"))  # zeros add nothing
    first ^= _mixed_first(one) ^ len(data)
    second ^= _mixed_second(two) ^ len(data)
    first = (first + second) & _MASK
    second = (second + first) & _MASK
    return (_finished(first) + _finished(second)) & _MASK


def _mixed_first(word: int) -> int:
    return _rotated(word * _FIRST & _MASK, 31) * _SECOND & _MASK


def _mixed_second(word: int) -> int:
    return _rotated(word * _SECOND & _MASK, 33) * _FIRST & _MASK


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK


def _finished(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33
