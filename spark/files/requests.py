"""Merges the announced parts of a file into requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

#: Bytes between two parts that cost less than another request.
NEAR: Final = 128 << 10


def requests(ranges: Iterable[tuple[int, int]], size: int, largest: int) -> Iterator[tuple[int, int]]:
    """Begins and ends of requests, by begin and without overlap, of `largest` bytes at most.

    Args:
        ranges: Offsets and lengths of parts, by offset.
        size: Bytes that the file has.
        largest: Bytes of a request, at most.
    """
    begin = end = -NEAR - 1
    for offset, length in ranges:
        stop = min(offset + length, size)
        if stop <= max(offset, end):
            continue  # others contain it
        if offset <= end + NEAR:
            end = stop
        else:
            yield from _cut(begin, end, largest)
            begin, end = offset, stop
    yield from _cut(begin, end, largest)


def _cut(begin: int, end: int, largest: int) -> Iterator[tuple[int, int]]:
    while begin < end:
        yield begin, min(end, begin + largest)
        begin += largest
