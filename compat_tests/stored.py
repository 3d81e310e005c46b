"""A minimal decoder of stored records, so that the store's tests do not depend on rocketwire's codec.

Only records of the first format (magic DAA320A7) with IPv4 hosts, which is what the tests' own traffic makes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rocketwire.wire.facts import properties as names

_FIXED: Final = struct.Struct(">iiiiiqqiq8sq8siqi")  # up to the length of the body
_MAGIC: Final = -626843481


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One record: all its bytes, and the fields that the tests need."""

    raw: bytes
    queue: int
    queue_offset: int
    physical_offset: int
    store_timestamp: int
    body: bytes
    topic: str
    properties: dict[str, str]

    @property
    def keys(self) -> list[str]:
        """The words of its keys."""
        return self.properties.get(names.KEYS, "").split()

    @property
    def unique_key(self) -> str:
        """Its unique key; "" when it has none."""
        return self.properties.get(names.UNIQ_KEY, "")


def records(data: bytes) -> Iterator[Stored]:
    """The adjacent records in `data`, as in a pull's answer."""
    start = 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 4], "big")
        yield record(data[start : start + size])
        start += size


def record(raw: bytes) -> Stored:
    """Decode a record; AssertionError when `raw` is not one whole record."""
    size, magic, _, queue, _, offset, physical, _, _, _, time, _, _, _, length = _FIXED.unpack_from(raw)
    assert (size, magic) == (len(raw), _MAGIC)
    body, topic_at = raw[_FIXED.size : _FIXED.size + length], _FIXED.size + length
    topic_end = topic_at + 1 + raw[topic_at]
    text = raw[topic_end + 2 :]
    assert len(text) == int.from_bytes(raw[topic_end : topic_end + 2], "big")
    pairs = (pair.partition("\x01")[::2] for pair in text.decode().split("\x02") if pair)
    return Stored(
        raw=raw,
        queue=queue,
        queue_offset=offset,
        physical_offset=physical,
        store_timestamp=time,
        body=body,
        topic=raw[topic_at + 1 : topic_end].decode(),
        properties=dict(pairs),
    )
