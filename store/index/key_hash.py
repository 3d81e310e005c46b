"""The hash by which an index knows a key."""

from __future__ import annotations

from rocketwire.wire.java import INT32_MAX, string_hash


def positive_hash(key: str) -> int:
    """The hash an index keeps of a key text: Java's, made positive; the one value without a positive twin gives 0."""
    value = abs(string_hash(key))
    return value if value <= INT32_MAX else 0
