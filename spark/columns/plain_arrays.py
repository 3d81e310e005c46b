"""Simple Arrow arrays, made of their buffers.

`pa.array`, `pa.scalar` and `pa.repeat` would do, but they import pandas at their first use, to ask whether what they
were given is one of its values. That takes a worker of Spark's longer than all that a read needs, and 30 MiB.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_KINDS = {np.dtype(np.int32): pa.int32(), np.dtype(np.int64): pa.int64()}


def of_numbers(values: NDArray[np.signedinteger[Any]]) -> pa.Array:
    """Numbers of 32 or 64 bits, none of them null. The array shares their memory if they are contiguous.

    Raises:
        KeyError: they are of another kind.
    """
    found = np.ascontiguousarray(values)
    return pa.Array.from_buffers(_KINDS[found.dtype], len(found), [None, pa.py_buffer(found.data)])


def of_texts(values: Iterable[str]) -> pa.Array:
    """Strings, none of them null."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return _strings(ends, b"".join(encoded))


def repeated(value: str, count: int) -> pa.Array:
    """One string so many times; together they are to be less than 2 GiB."""
    encoded = value.encode()
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(encoded))
    return _strings(ends, encoded * count)


def _strings(ends: NDArray[np.int32], data: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(ends) - 1, [None, pa.py_buffer(ends.data), pa.py_buffer(data)])
