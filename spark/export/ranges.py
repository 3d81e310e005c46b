"""Ranges of physical offsets: which are done, and which are not. A range has its first offset and the one behind it."""

from __future__ import annotations

from collections.abc import Iterable

Range = tuple[int, int]


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The same offsets in as few ranges as can be, in order."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def missing(start: int, end: int, done: Iterable[Range]) -> list[Range]:
    """The parts of `start` to `end` that are in none of the merged ranges."""
    found: list[Range] = []
    for first, last in done:
        if last <= start or first >= end:
            continue
        if first > start:
            found.append((start, first))
        start = last
    return [*found, (start, end)] if start < end else found
