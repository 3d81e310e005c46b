"""Makes an Arrow column of parts of a buffer; Arrow copies the parts.

A column over the buffer itself, whose offsets are begin, end, begin, end and so on, has the parts as its even elements,
and what is between them as its odd ones. Arrow's `take` copies the even ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.store.records.columns import Buffer
from rocketwire.wire.java import INT32_MAX

_COUNTS_KEPT: Final = 8


def gathered(data: Buffer | NDArray[np.uint8], begins: NDArray[Any], ends: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """The parts of the data from each begin to its end, as strings or binaries.

    Raises:
        ValueError: they have 2 GiB or more.
    """
    count = len(begins)
    if not count:
        return pa.array([], kind)
    total = int((ends - begins).sum())
    if total > INT32_MAX:
        raise ValueError(f"{count} values have 2 GiB or more")
    source = pa.py_buffer(data)
    size = len(data)
    # Arrow makes room for the mean of all elements, and copies what it has to twice as much when that does not do. So
    # where the parts are most of the data, the last element, which is not taken, seems to make up for the others.
    reserved = int(begins[0]) + 2 * total + 2
    if size < reserved <= INT32_MAX:
        size = reserved
        source = pa.foreign_buffer(source.address, size, source)
    # The last offset is the end of all: Arrow wants none before the first one there.
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2] = begins
    offsets[1::2] = ends
    offsets[-1] = size
    parts = pa.Array.from_buffers(kind, 2 * count, [None, pa.py_buffer(offsets), source])
    return parts.take(_evens(1 << (count - 1).bit_length()).slice(0, count))


def offsets_of(column: pa.Array) -> NDArray[np.int32]:
    """Where the values of a column that was gathered begin in its data, and where the last one ends."""
    offsets: NDArray[np.int32] = np.frombuffer(column.buffers()[1], np.int32)
    return offsets[: len(column) + 1]


def octets_of(column: pa.Array) -> NDArray[np.uint8]:
    """The data of a column that was gathered, to be written to before the column is given away."""
    data = column.buffers()[2]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def column_of(kind: pa.DataType, values: NDArray[Any]) -> pa.Array:
    """A column of numbers, or of times, over the memory of an array."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def with_nulls(column: pa.Array, present: NDArray[np.bool_]) -> pa.Array:
    """The same column with nulls where nothing is present."""
    valid = pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(column.type, len(column), [valid, *column.buffers()[1:]])


@lru_cache(_COUNTS_KEPT)
def _evens(count: int) -> pa.Array:
    return pa.array(np.arange(0, 2 * count, 2, dtype=np.uint32))
