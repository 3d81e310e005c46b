"""Decodes the property texts of many records.

They are gathered into one sequence of bytes in which every text begins with a separator: `0x02 name 0x01 value 0x02
name` and so on. Then every item begins behind a separator, and no item reaches from one text into the next. The rules
are those of wire.properties: an item without a name or a value is ignored, the last of equal names wins. As both
separators are ASCII, a text can be cut before it is decoded. Only texts that are not UTF-8, and those with duplicate
names if a map is made of them, are decoded by wire.properties, and encoded again in the plain form.
"""

from __future__ import annotations

import codecs
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.spark.columns.twin.doubled import WORD, rows_with_doubled_names
from rocketwire.spark.columns.twin.gathering import gathered, octets_of, offsets_of
from rocketwire.store.records.columns import Buffer, gather
from rocketwire.wire.facts.properties import ITEM_SEP, KEY_SEP, NAME_SEP
from rocketwire.wire.properties import decode_stored_properties

_ITEM_SEP: Final = ord(ITEM_SEP)
_NAME_SEP: Final = ord(NAME_SEP)
_KEY_SEP: Final = ord(KEY_SEP)
_LAST_ASCII: Final = 0x7F
_WORD: Final = 4
#: Bytes behind the last text that may be read with it.
_PAD: Final = WORD


class Parts(NamedTuple):
    """Parts of the texts: the row each belongs to (rising), and where it begins and ends in `Texts.octets`."""

    row: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


class Texts:
    """The property texts of some records.

    Attributes:
        octets: All of them, each behind a separator, and some bytes more.
    """

    def __init__(self, octets: NDArray[np.uint8], begins: NDArray[np.int64]) -> None:
        """Of bytes in which the texts begin at these places with their separators; one place more is where they end."""
        self.octets = octets
        self._begins = begins
        self._end = int(begins[-1])
        self.count = len(begins) - 1

    def in_utf8(self) -> Texts:
        """The same, with U+FFFD in place of bytes that are not UTF-8."""
        odd = self._not_utf8()
        return self._rewritten(odd) if len(odd) else self

    def last_of(self, name: str) -> Parts:
        """The values of a property with a name of four characters or more, one a row at most."""
        wanted = np.frombuffer((name + NAME_SEP).encode(), np.uint8)
        begins, ends = self._items
        found = np.flatnonzero(self._words == int.from_bytes(wanted[:_WORD].tobytes(), "little"))
        begins, ends = begins[found], ends[found]
        long = begins + len(wanted) < ends
        if not long.all():
            begins, ends = begins[long], ends[long]
        rest = gather(self.octets, begins + _WORD, np.dtype(f"V{len(wanted) - _WORD}"))
        same = rest.view(np.uint8).reshape(len(begins), len(wanted) - _WORD) == wanted[_WORD:]
        if not same.all():
            chosen = same.all(axis=1)
            begins, ends = begins[chosen], ends[chosen]
        if self._one_a_row(begins):
            return Parts(np.arange(self.count), begins + len(wanted), ends)
        rows = np.searchsorted(self._begins, begins, side="right") - 1
        last = np.append(rows[1:] != rows[:-1], np.ones(min(1, len(rows)), bool))
        return Parts(rows[last], begins[last] + len(wanted), ends[last])

    def words_of(self, name: str) -> tuple[NDArray[np.int32], pa.Array]:
        """The words of a property's values: where those of each row begin, and where the last ends, and the words."""
        values = self.last_of(name)
        column = gathered(self.octets, values.begin - 1, values.end, pa.binary())
        octets, offsets = octets_of(column), offsets_of(column)
        octets[offsets[:-1]] = _KEY_SEP
        octets = octets[: offsets[-1]] if len(offsets) else octets
        begins = np.flatnonzero(octets == _KEY_SEP) + 1
        ends = np.append(begins[1:] - 1, len(octets))[: len(begins)]
        some = begins < ends
        begins, ends = begins[some], ends[some]
        counts = np.zeros(self.count, np.int32)
        if len(values.row):
            counts[values.row] = np.diff(np.searchsorted(begins, offsets))
        return _sums(counts), gathered(octets, begins, ends, pa.string())

    def map(self, *, plain: bool = False) -> tuple[NDArray[np.int32], pa.Array, pa.Array]:
        """All properties: where those of each row begin, and where the last ends, their names and their values.

        Names of a row are unique; with `plain` those in the texts are, too.
        """
        begins, middles, ends = self._pairs()
        offsets = np.searchsorted(begins, self._begins).astype(np.int32)
        odd = begins[:0] if plain else rows_with_doubled_names(self.octets, begins, middles, np.diff(offsets))
        if len(odd):
            return self._rewritten(odd).map(plain=True)
        names = gathered(self.octets, begins, middles, pa.string())
        return offsets, names, gathered(self.octets, middles + 1, ends, pa.string())

    @cached_property
    def _items(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where all items begin and end."""
        begins = np.flatnonzero(self.octets[: self._end] == _ITEM_SEP) + 1
        return begins, np.append(begins[1:] - 1, self._end)[: len(begins)]

    @cached_property
    def _words(self) -> NDArray[np.uint32]:
        """The first bytes of each item, as a number."""
        words: NDArray[np.uint32] = np.ndarray((len(self.octets) - _WORD + 1,), "<u4", self.octets, strides=(1,))
        return words[self._items[0]]

    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Items that have a name and a value: where they begin, where the name ends, where they end."""
        begins, ends = self._items
        seps = np.append(np.flatnonzero(self.octets[: self._end] == _NAME_SEP), self._end)
        # Mostly there is one in each item.
        middles = seps[:-1]
        if len(middles) != len(begins) or not ((begins <= middles) & (middles < ends)).all():
            middles = seps[np.searchsorted(seps, begins)]
        whole = (begins < middles) & (middles + 1 < ends)
        if whole.all():
            return begins, middles, ends
        return begins[whole], middles[whole], ends[whole]

    def _one_a_row(self, places: NDArray[np.int64]) -> bool:
        """Whether each row has one of these places, which rise: mostly it is so."""
        begins = self._begins
        return len(places) == self.count and bool(((begins[:-1] < places) & (places < begins[1:])).all())

    def _not_utf8(self) -> NDArray[np.int64]:
        """The rows whose text is not UTF-8."""
        octets = self.octets[: self._end]
        if not len(octets) or int(octets.max()) <= _LAST_ASCII:
            return np.empty(0, np.int64)
        if _is_utf8(octets):
            return np.empty(0, np.int64)
        rows = np.unique(np.searchsorted(self._begins, np.flatnonzero(octets > _LAST_ASCII), side="right") - 1)
        bad = [not _is_utf8(octets[self._begins[row] : self._begins[row + 1]]) for row in rows.tolist()]
        return rows[bad]

    def _rewritten(self, rows: NDArray[np.int64]) -> Texts:
        """The same, with the texts of some rows in the plain form."""
        pieces: list[Any] = []
        lengths = np.diff(self._begins)
        done = 0
        for row in rows.tolist():
            begin, end = int(self._begins[row]), int(self._begins[row + 1])
            properties = decode_stored_properties(self.octets[begin + 1 : end].tobytes())
            items = [f"{name}{NAME_SEP}{value}" for name, value in properties.items()]
            plain = (ITEM_SEP + ITEM_SEP.join(items)).encode()
            pieces += [self.octets[done:begin], plain]
            lengths[row] = len(plain)
            done = end
        pieces += [self.octets[done : self._end], bytes(_PAD)]
        return Texts(np.frombuffer(b"".join(pieces), np.uint8), np.concatenate([[0], np.cumsum(lengths)]))


def texts_of(buffer: Buffer, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> Texts:
    """The texts between these places of a buffer, each with another byte before it."""
    # One part more behind the last makes sure that what is read there is memory.
    column = gathered(buffer, np.append(begins - 1, 0), np.append(ends, _PAD), pa.binary())
    octets, offsets = octets_of(column), offsets_of(column)[:-1].astype(np.int64)
    octets[offsets[:-1]] = _ITEM_SEP
    return Texts(octets, offsets).in_utf8()


def _is_utf8(octets: NDArray[np.uint8]) -> bool:
    try:
        codecs.utf_8_decode(octets.data, "strict", True)  # noqa: FBT003 - it takes no keywords
    except UnicodeDecodeError:
        return False
    return True


def _sums(counts: NDArray[np.int32]) -> NDArray[np.int32]:
    sums = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=sums[1:])
    return sums
