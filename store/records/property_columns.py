"""The hashes of tags and keys in the properties of a batch of records, computed for all of them at once with numpy.

The texts are concatenated, padded to one length if their lengths are close. Java's hash of any part is then the
difference of two sums: with S[i] = sum of unit[k] * 31^-k for k < i (31 has an inverse modulo 2^32), the hash of i..j
is (S[j] - S[i]) * 31^(j-1).

The rules are those of wire.properties: an item without a name or a value is ignored, the last of equal names wins.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.records.columns import Buffer, RecordColumns, gather
from rocketwire.wire.facts import properties as names
from rocketwire.wire.facts.properties import ITEM_SEP, KEY_SEP, NAME_SEP
from rocketwire.wire.java import INT32_MAX

_FACTOR: Final = 31
_INVERSE: Final = pow(_FACTOR, -1, 1 << 32)
_UINT32: Final = 0xFFFFFFFF
_CONTINUATION: Final = 0x80
_LEAD_OF_TWO_UNITS: Final = 0xF0
_LAST_ASCII: Final = 0x7F
#: Texts are padded to the longest one's length if that makes them at most this much longer.
_MOST_FILL: Final = 1.5


class HashedTexts(NamedTuple):
    """Parts of the records' properties: the record each belongs to, its Java hash and its length in UTF-16 units."""

    record: NDArray[np.int64]
    hash: NDArray[np.uint32]
    length: NDArray[np.int64]


class HashedProperties(NamedTuple):
    """Of a batch: tags in the order of their records, one a record at most; keys in the order they are indexed."""

    tags: HashedTexts
    keys: HashedTexts

    def tags_codes(self, count: int) -> NDArray[np.int64]:
        """The tags code of each of `count` records, 0 where there is no tag."""
        codes = np.zeros(count, np.int64)
        codes[self.tags.record] = self.tags.hash.astype(np.int32)
        return codes


class _Powers:
    """31^n and 31^-n modulo 2^32 for n = 0, 1, 2 ..., extended on demand."""

    def __init__(self) -> None:
        self._tables = {_FACTOR: np.ones(1, np.uint32), _INVERSE: np.ones(1, np.uint32)}

    def __call__(self, base: int, count: int) -> NDArray[np.uint32]:
        table = self._tables[base]
        while len(table) < count:
            table = np.concatenate([table, table * np.uint32(pow(base, len(table), 1 << 32))])
        self._tables[base] = table
        return table


_powers: Final = _Powers()


def hashed_properties(buffer: Buffer, records: RecordColumns) -> HashedProperties:
    """Read the properties of a batch of records."""
    rows = _rows(buffer, records)
    if rows is not None:
        return _Parser(rows.reshape(-1), np.arange(len(rows)) * rows.shape[1], rows.shape[1]).properties()
    view = memoryview(buffer)
    starts = records.properties_position
    ends = starts + records.properties_length
    parts = [view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return _Parser(*_units(parts, records.properties_length)).properties()


def _rows(buffer: Buffer, records: RecordColumns) -> NDArray[np.uint8] | None:
    """A row for each text, with a separator behind it and at its end; None if lengths differ much, or not ASCII."""
    lengths = records.properties_length
    count = len(lengths)
    longest = int(lengths.max()) if count else 0
    if not longest or longest * count > _MOST_FILL * int(lengths.sum()):
        return None
    octets = np.frombuffer(buffer, np.uint8)
    if int(records.properties_position.max()) + longest > len(octets):
        return None
    rows = np.empty((count, longest + 1), np.uint8)
    texts = gather(octets, records.properties_position, np.dtype(f"V{longest}"))
    rows[:, :longest] = texts.view(np.uint8).reshape(count, longest)
    if int(lengths.min()) < longest:
        rows[np.arange(longest + 1) >= lengths[:, None]] = 0
        rows[np.arange(count), lengths] = ord(ITEM_SEP)
    rows[:, longest] = ord(ITEM_SEP)
    return rows if int(rows.max()) <= _LAST_ASCII else None


def _units(parts: list[memoryview], lengths: NDArray[np.int32]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All texts as UTF-16 units with a separator behind each, and where each begins."""
    data = ITEM_SEP.encode().join([*parts, b""])
    if data.isascii():
        return np.frombuffer(data, np.uint8), _begins(lengths)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        texts = [bytes(part).decode("utf-8", "replace") for part in parts]
        units = [text.encode("utf-16-le") for text in texts]
        joined = ITEM_SEP.encode("utf-16-le").join([*units, b""])
        return np.frombuffer(joined, "<u2"), _begins(np.array([len(unit) // 2 for unit in units], np.int64))
    octets = np.frombuffer(data, np.uint8)
    widths = ((octets & 0xC0) != _CONTINUATION).astype(np.int64) + (octets >= _LEAD_OF_TWO_UNITS)
    before = np.concatenate([[0], np.cumsum(widths)])
    return np.frombuffer(text.encode("utf-16-le"), "<u2"), before[_begins(lengths)]


def _begins(lengths: NDArray[Any]) -> NDArray[np.int64]:
    ends = np.cumsum(lengths.astype(np.int64) + 1)
    return np.concatenate([[0], ends[:-1]]) if len(ends) else ends


class _Parser:
    """Takes the joined texts apart."""

    def __init__(self, units: NDArray[Any], begins: NDArray[np.int64], width: int = 0) -> None:
        """Take texts that begin at these units, each `width` units behind the one before if that is not 0."""
        self._units = units
        self._begins = begins
        self._width = width
        marks = np.flatnonzero((units == ord(ITEM_SEP)) | (units == ord(NAME_SEP)))
        last = np.flatnonzero(units[marks] == ord(ITEM_SEP))
        first = np.concatenate([[0], last[:-1] + 1]) if len(last) else last
        ends, middles = marks[last], marks[first]
        starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
        whole = (first < last) & (middles > starts) & (middles + 1 < ends)
        self._starts, self._middles, self._ends = starts[whole], middles[whole], ends[whole]
        self._name_lengths = self._middles - self._starts
        weighted = units * _powers(_INVERSE, len(units))[: len(units)]
        self._sums: NDArray[np.uint32] = np.concatenate([np.zeros(1, np.uint32), np.cumsum(weighted, dtype=np.uint32)])

    def properties(self) -> HashedProperties:
        """Tags and keys of all records."""
        tags = self._texts(*self._last(names.TAGS))
        unique = self._last(names.UNIQ_KEY)
        words = self._words(*self._last(names.KEYS))
        if not len(words[0]):
            return HashedProperties(tags, self._texts(*unique))
        if not len(unique[0]):
            return HashedProperties(tags, self._texts(*words))
        record, start, end = (np.concatenate(columns) for columns in zip(unique, words, strict=True))
        order = np.argsort(record, kind="stable")
        return HashedProperties(tags, self._texts(record[order], start[order], end[order]))

    def _last(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Records that have a property, and where the last value of each begins and ends."""
        found = np.flatnonzero(self._name_lengths == len(name))
        if len(found) and self._units.dtype == np.uint8:
            letters = gather(self._units, self._starts[found], np.dtype(f"<u{len(name)}"))
            found = found[letters == int.from_bytes(name.encode(), "little")]
        else:
            for place, letter in enumerate(name.encode()):
                found = found[self._units[self._starts[found] + place] == letter]
        starts = self._starts[found]
        records = starts // self._width if self._width else np.searchsorted(self._begins, starts, side="right") - 1
        if len(records):
            last = np.append(records[1:] != records[:-1], True)
            found, records = found[last], records[last]
        return records, self._middles[found] + 1, self._ends[found]

    def _words(
        self, records: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The words of values: record, begin and end of each."""
        if not len(records):
            return records, starts, ends
        blanks = np.flatnonzero(self._units == ord(KEY_SEP))
        low = np.searchsorted(blanks, starts)
        several = np.searchsorted(blanks, ends) - low
        if not several.any():
            return records, starts, ends
        value = np.repeat(np.arange(len(records)), several + 1)
        number = np.arange(len(value)) - np.repeat(np.cumsum(several + 1) - several - 1, several + 1)
        at = np.append(blanks, [0, 0])
        begin = np.where(number == 0, starts[value], at[low[value] + number - 1] + 1)
        end = np.where(number == several[value], ends[value], at[low[value] + number])
        some = end > begin
        return records[value[some]], begin[some], end[some]

    def _texts(self, record: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> HashedTexts:
        powers = _powers(_FACTOR, len(self._units))
        return HashedTexts(record, (self._sums[end] - self._sums[start]) * powers[end - 1], end - start)


def index_hashes(prefixes: NDArray[np.uint32], hashes: NDArray[np.uint32], lengths: NDArray[Any]) -> NDArray[np.int32]:
    """The index's hashes of keys, each behind a prefix such as `topic#` that is given by its Java hash."""
    longest = int(lengths.max()) if len(lengths) else 0
    whole = prefixes * _powers(_FACTOR, longest + 1)[lengths] + hashes
    positive = np.abs(whole.astype(np.int32).astype(np.int64))
    positive[positive > INT32_MAX] = 0
    result: NDArray[np.int32] = positive.astype(np.int32)
    return result
