"""Records as numpy columns, decoded from a buffer; `checked_batch` finds which bytes are records."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rocketwire.store.layout.record import head_dtype

Buffer: TypeAlias = bytes | bytearray | memoryview | mmap.mmap

_HEAD: Final = np.dtype(head_dtype(0))
#: Columns that come from the head: the head's name for them, and their type in the columns.
_FIELDS: Final[dict[str, tuple[str, type[np.signedinteger[Any]]]]] = {
    "magic": ("magic", np.int32),
    "physical_offset": ("physical_offset", np.int64),
    "size": ("total_size", np.int32),
    "body_crc": ("body_crc", np.int32),
    "queue_id": ("queue_id", np.int32),
    "flag": ("flag", np.int32),
    "sys_flag": ("sys_flag", np.int32),
    "queue_offset": ("queue_offset", np.int64),
    "born_timestamp": ("born_timestamp", np.int64),
    "store_timestamp": ("store_timestamp", np.int64),
    "reconsume_times": ("reconsume_times", np.int32),
    "prepared_offset": ("prepared_transaction_offset", np.int64),
    "body_length": ("body_length", np.int32),
}
#: Those whose place depends on the size of a host.
_BEHIND_A_HOST: Final = ("store_timestamp", "reconsume_times", "prepared_offset", "body_length")


class RecordColumns:
    """Whole records in the order of the log: columns of one length, in native byte order.

    Positions are those in the buffer; times are in ms, lengths in bytes. Columns that stand in the records' heads are
    made when they are first read: most readers need few of them.
    """

    position: NDArray[np.int64]
    magic: NDArray[np.int32]
    physical_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    version: NDArray[np.uint8]
    body_crc: NDArray[np.int32]
    queue_id: NDArray[np.int32]
    flag: NDArray[np.int32]
    sys_flag: NDArray[np.int32]
    reconsume_times: NDArray[np.int32]
    queue_offset: NDArray[np.int64]
    born_timestamp: NDArray[np.int64]
    store_timestamp: NDArray[np.int64]
    prepared_offset: NDArray[np.int64]
    body_position: NDArray[np.int64]
    body_length: NDArray[np.int32]
    topic_position: NDArray[np.int64]
    topic_length: NDArray[np.int32]
    properties_position: NDArray[np.int64]
    properties_length: NDArray[np.int32]

    def __init__(self, heads: NDArray[np.void], columns: dict[str, NDArray[Any]]) -> None:
        """Of the heads, as they are stored, and of all columns that do not stand in them, or were made of them."""
        self.heads = heads
        self._columns = columns

    if not TYPE_CHECKING:  # the type of each column is declared above

        def __getattr__(self, name: str) -> NDArray[Any]:
            try:
                return self._columns[name]
            except KeyError:
                return self._made(name)

    def _made(self, name: str) -> NDArray[Any]:
        if name not in _FIELDS:
            raise AttributeError(name)
        field, kind = _FIELDS[name]
        column = self._columns[name] = self.heads[field].astype(kind)
        return column

    def put(self, **columns: NDArray[Any]) -> None:
        """Set columns that do not stand in the heads."""
        self._columns.update(columns)

    def put_heads(self, chosen: NDArray[np.intp], heads: NDArray[np.void]) -> None:
        """Take what stands behind longer hosts out of other heads, for some records."""
        for name in _BEHIND_A_HOST:
            getattr(self, name)[chosen] = heads[_FIELDS[name][0]]

    def part(self, chosen: slice | NDArray[np.intp] | NDArray[np.bool_]) -> RecordColumns:
        """Some of them."""
        return RecordColumns(self.heads[chosen], {name: column[chosen] for name, column in self._columns.items()})


#: No records.
NO_RECORDS: Final = RecordColumns(
    np.empty(0, _HEAD),
    {
        "position": np.empty(0, np.int64),
        "version": np.empty(0, np.uint8),
        **{f"{part}_position": np.empty(0, np.int64) for part in ("body", "topic", "properties")},
        **{f"{part}_length": np.empty(0, np.int32) for part in ("topic", "properties")},
    },
)


def gather(octets: NDArray[np.uint8], positions: NDArray[np.int64], kind: np.dtype[Any]) -> NDArray[Any]:
    """Copies of the items of one kind that begin at these positions, all of which lie within the octets."""
    opaque = np.dtype((np.void, kind.itemsize))
    windows: NDArray[np.void] = np.ndarray((len(octets) - kind.itemsize + 1,), opaque, octets, strides=(1,))
    return windows[positions].view(kind)


def by_length(lengths: NDArray[np.int32]) -> Iterator[tuple[int, slice | NDArray[np.intp]]]:
    """Each length that occurs, and which items are of that length."""
    counts = np.bincount(lengths)
    for length in np.flatnonzero(counts).tolist():
        yield length, slice(None) if counts[length] == len(lengths) else np.flatnonzero(lengths == length)


class _Codes(dict[bytes, int]):
    """A number for each key, assigned in the order of arrival."""

    def __missing__(self, key: bytes) -> int:
        code = self[key] = len(self)
        return code


def topics_of(buffer: Buffer, records: RecordColumns) -> tuple[NDArray[np.int32], list[str]]:
    """A code for each record's topic, and the topics by their codes."""
    codes = np.empty(len(records.position), np.int32)
    known = _Codes()
    octets = np.frombuffer(buffer, np.uint8)
    for length, chosen in by_length(records.topic_length):
        names = gather(octets, records.topic_position[chosen], np.dtype(f"S{length}"))
        # Usually many in a row have one topic.
        bounds = np.concatenate([[0], np.flatnonzero(names[1:] != names[:-1]) + 1, [len(names)]])
        found = list(map(known.__getitem__, names[bounds[:-1]].tolist()))
        codes[chosen] = np.repeat(found, np.diff(bounds))
    return codes, [name.decode() for name in known]
