"""The queue of keys between append and index: `KeyColumn`, the kernel's or its Python twin.

The kernel's column hashes keys when they are added, and the kernel's appends add to it directly; the twin keeps what it
gets, and hashes the keys when they are taken.
"""

from __future__ import annotations

import contextlib
from array import array
from collections import deque
from typing import Any, Final, NamedTuple

from rocketwire import native
from rocketwire.wire.java import INT32_MAX, string_hash
from rocketwire.wire.properties import split_keys

#: Values of a message in a group: hash of `topic#`, unique key, keys, physical offset, store timestamp.
_VALUES: Final = 5


class KeyRows(NamedTuple):
    """Keys to be entered into the index, as rows of 64-bit numbers: hash, physical offset, store timestamp in ms.

    They are those of the messages before `end` in the log, of which the last one may have none.
    """

    hashes: memoryview
    offsets: memoryview
    timestamps: memoryview
    end: int
    last_offset: int
    last_timestamp: int


class PythonKeyColumn:
    """Groups of messages, in the order of the log. `add` is called by one thread, `take` by another.

    Groups are dropped when more than about `most` messages are pending.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._groups: deque[tuple[int, int, list[Any]]] = deque()
        # Values that were added, dropped again, and taken: each counted by one thread only.
        self._added = self._dropped = self._taken = 0

    def add(self, start: int, end: int, values: list[Any]) -> None:
        """Add a group of messages: the part of the log from `start` to `end`, the values of each message."""
        self._groups.append((start, end, values))
        self._added += len(values)
        if self._added - self._dropped - self._taken > self._most * _VALUES:
            with contextlib.suppress(IndexError):  # the other thread may take the last ones meanwhile
                while True:
                    self._dropped += len(self._groups.popleft()[2])

    @property
    def start(self) -> int | None:
        """Physical offset at which the first group begins; None if there is none."""
        try:
            return self._groups[0][0]
        except IndexError:
            return None

    @property
    def pending(self) -> int:
        """About how many keys can be taken; the twin always returns 0, because a thread would not make it faster."""
        return 0

    def take(self, end: int, most: int) -> tuple[memoryview, memoryview, memoryview, int, int, int] | None:
        """Keys (see `KeyRows`) of the groups that continue at `end` in the log, of about `most` messages at most.

        None if there are none. Groups before `end` are dropped.
        """
        values: list[Any] = []
        while len(values) < most * _VALUES:
            try:
                start, stop, group = self._groups.popleft()
            except IndexError:
                break
            if start > end:
                self._groups.appendleft((start, stop, group))
                break
            self._taken += len(group)
            if stop > end:
                values += group
                end = stop
        return (*hash_keys(values, end),) if values else None


def hash_keys(values: list[Any], end: int) -> KeyRows:
    """The keys of messages, of each its unique key first; `values` are those of one message at least."""
    hashes, offsets, timestamps = array("q"), array("q"), array("q")
    for prefix, unique, words, offset, timestamp in zip(*(values[n::_VALUES] for n in range(_VALUES)), strict=True):
        for key in (*(() if unique is None else (unique,)), *split_keys(words)):
            hashes.append(positive_hash(key, prefix))
            offsets.append(offset)
            timestamps.append(timestamp)
    return KeyRows(memoryview(hashes), memoryview(offsets), memoryview(timestamps), end, values[-2], values[-1])


def positive_hash(key: str, prefix: int = 0) -> int:
    """The hash by which index files know a key: Java's, made positive. `prefix` is the hash of a text before the key.

    The one Java hash that has no positive twin gives 0 (Apache: IndexFile.indexKeyHashMethod).
    """
    value = abs(string_hash(key, prefix))
    return value if value <= INT32_MAX else 0


KeyColumn: type[PythonKeyColumn] = PythonKeyColumn if native.kernel is None else native.kernel.KeyColumn
