"""What the index has yet to take: messages that were appended, in the order of the log.

The appender leaves what is needed of each message in a queue. When the queue does not begin where the index has to go
on (after a start, or because it was dropped to bound its memory), the missing part is read from the log. So nothing
has to be saved at a stop.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from rocketwire.store.commit_log import CommitLog
from rocketwire.store.property_text import key_of, value_of
from rocketwire.wire import properties as names
from rocketwire.wire.codes import SysFlag
from rocketwire.wire.java import string_hash
from rocketwire.wire.properties import KEY_SEP

if TYPE_CHECKING:
    from mmap import mmap

    from rocketwire.store.columns import Records

#: Columns of a message in a batch: hash of `topic#`, unique key, keys, physical offset, store timestamp.
_COLUMNS: Final = 5
#: Messages taken by one step; more pending ones than the second are dropped and read from the log later.
_STEP: Final = 1024
_MOST_PENDING: Final = 1 << 16
_UNIQUE_KEY: Final = key_of(names.UNIQ_KEY)
_KEYS: Final = key_of(names.KEYS)


class Backlog:
    """The messages from `next_offset` to the end of the log. `add` is called by one thread, all else by another."""

    def __init__(self, log: CommitLog) -> None:
        self.next_offset = 0
        self._log = log
        self._pending: deque[tuple[int, int, list[Any]]] = deque()
        # Values that were added, dropped again, and taken: each counted by one thread only.
        self._added = self._dropped = self._taken = 0

    def add(self, start: int, end: int, columns: list[Any]) -> None:
        """Note a group of messages: the part of the log from `start` to `end`, the columns of each message."""
        self._pending.append((start, end, columns))
        self._added += len(columns)
        if self._added - self._dropped - self._taken > _MOST_PENDING * _COLUMNS:
            with contextlib.suppress(IndexError):  # the other thread may take the last ones meanwhile
                while True:
                    self._dropped += len(self._pending.popleft()[2])

    @property
    def behind(self) -> bool:
        """Whether anything is to be indexed."""
        return self.next_offset < self._log.position

    def take(self) -> tuple[list[Any], int]:
        """Columns of some messages, and where the next ones are: `next_offset`, once these are in the index."""
        columns: list[Any] = []
        end = self.next_offset
        while len(columns) < _STEP * _COLUMNS:
            try:
                start, stop, group = self._pending.popleft()
            except IndexError:
                break
            if start > end:
                self._pending.appendleft((start, stop, group))
                break
            self._taken += len(group)
            if stop > end:
                columns += group
                end = stop
        if not columns and end < self._log.position:
            end = self._read_log(columns)
        return columns, end

    def _read_log(self, columns: list[Any]) -> int:
        """Take messages from the log itself; give where the next ones are."""
        from rocketwire.store.walk import Stop, walk  # noqa: PLC0415 - needs numpy, as the index files do

        log = self._log
        end = max(self.next_offset, log.start)
        limit = log.position
        with contextlib.suppress(IndexError):
            limit = self._pending[0][0]
        while end < limit and len(columns) < _STEP * _COLUMNS:
            segment = log.segments.find(end)
            if segment is None:
                end = log.next_file(end)
                continue
            buffer = segment.mapping
            walked = walk(
                buffer,
                base=segment.start,
                position=end - segment.start,
                end=min(limit, segment.end) - segment.start,
                whole=segment.end <= limit,
                check_crc=False,
                most=_STEP,
            )
            self._add_columns(columns, buffer, walked.records)
            end = segment.start + walked.position
            if walked.stop is not Stop.FULL and end < limit:
                end = log.next_file(end)
        return min(end, limit)

    def _add_columns(self, columns: list[Any], buffer: mmap, records: Records) -> None:
        from rocketwire.store.columns import topics_of  # noqa: PLC0415 - see _read_log

        codes, topics = topics_of(buffer, records)
        prefixes = [string_hash(topic + "#") for topic in topics]
        rolled_back = records.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.TRANSACTION_ROLLBACK
        starts = records.properties_position
        for code, passed, start, stop, offset, timestamp in zip(
            codes.tolist(),
            rolled_back.tolist(),
            starts.tolist(),
            (starts + records.properties_length).tolist(),
            records.physical_offset.tolist(),
            records.store_timestamp.tolist(),
            strict=True,
        ):
            text = b"" if passed else buffer[start:stop]
            unique_key = value_of(text, _UNIQUE_KEY).decode("utf-8", "replace") or None
            keys = value_of(text, _KEYS).decode("utf-8", "replace") or None
            columns += (prefixes[code], unique_key, keys, offset, timestamp)


def last_offset(columns: list[Any]) -> int:
    """Physical offset of the last message of a batch."""
    return int(columns[-2])


def flatten(columns: list[Any]) -> tuple[list[int], list[str], list[int], list[int]]:
    """Prefix hash, key, offset and timestamp of each key of a batch: a message's unique key first, then its keys."""
    prefixes = columns[0::_COLUMNS]
    unique = columns[1::_COLUMNS]
    words = columns[2::_COLUMNS]
    offsets = columns[3::_COLUMNS]
    timestamps = columns[4::_COLUMNS]
    if None not in unique and not any(words):
        return prefixes, unique, offsets, timestamps
    out: tuple[list[int], list[str], list[int], list[int]] = ([], [], [], [])
    for prefix, single, several, offset, timestamp in zip(prefixes, unique, words, offsets, timestamps, strict=True):
        keys = [] if single is None else [single]
        if several:
            keys += [word for word in several.split(KEY_SEP) if word]
        for key in keys:
            out[0].append(prefix)
            out[1].append(key)
            out[2].append(offset)
            out[3].append(timestamp)
    return out
