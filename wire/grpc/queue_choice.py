"""Which queue the messages of a message group go to: Guava's consistent hash of Java's hash of the group."""

from __future__ import annotations

from typing import Final

from rocketwire.wire.java import string_hash

_MULTIPLIER: Final = 2862933555777941757
_MASK: Final = (1 << 64) - 1
_HIGH_BITS: Final = 33
_ONE: Final = float(1 << 31)


def queue_of_group(group: str, queues: int) -> int:
    """The place of a message group's queue among the writable ones, which are at least one.

    With one queue more, few groups go to another queue.
    """
    return consistent_hash(string_hash(group), queues)


def consistent_hash(value: int, buckets: int) -> int:
    """The bucket of a 64-bit value, as Guava's `Hashing.consistentHash` finds it: a jump consistent hash."""
    state = value & _MASK
    bucket = 0
    while True:
        state = (state * _MULTIPLIER + 1) & _MASK
        drawn = (state >> _HIGH_BITS) + 1
        if drawn == _ONE:  # overflows in Java, where it ends the search
            return bucket
        jump = int((bucket + 1) / (drawn / _ONE))
        if jump >= buckets:
            return bucket
        bucket = jump
