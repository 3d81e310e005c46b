"""Simple Arrow arrays, made of their buffers.

`pa.array`, `pa.scalar` and `pa.repeat` would do, but they import pandas at their first use, to ask whether what they
were given is one of its values. That takes a worker of Spark's longer than all that a read needs, and 30 MiB.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocketwire.wire.java import INT64_MAX, INT64_MIN

_MICROSECONDS: Final = 1000
#: The last time, in ms before and after 1970, that Arrow's microseconds hold.
_LAST_TIME: Final = INT64_MAX // _MICROSECONDS
_KINDS = {np.dtype(np.int32): pa.int32(), np.dtype(np.int64): pa.int64()}


def of_numbers(values: NDArray[np.signedinteger[Any]]) -> pa.Array:
    """Numbers of 32 or 64 bits, none of them null. The array shares their memory if they are contiguous.

    Raises:
        KeyError: they are of another kind.
    """
    found = np.ascontiguousarray(values)
    return pa.Array.from_buffers(_KINDS[found.dtype], len(found), [None, pa.py_buffer(found.data)])


def of_texts(values: Iterable[str | None]) -> pa.Array:
    """Strings; None becomes null."""
    encoded = [None if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *(len(value or b"") for value in encoded)], dtype=np.int32)
    present = np.fromiter((value is not None for value in encoded), bool, len(encoded))
    bits = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little").data)
    return _strings(ends, b"".join(filter(None, encoded)), bits)


def of_times(ms: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Timestamps in microseconds, of those in ms; what is out of their range becomes the first or the last."""
    found = microseconds(ms)
    return pa.Array.from_buffers(kind, len(found), [None, pa.py_buffer(found.data)])


def microseconds(ms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Times in ms as microseconds; what is out of their range becomes the first or the last."""
    times = ms * _MICROSECONDS
    if int(ms.max(initial=0)) > _LAST_TIME or int(ms.min(initial=0)) < -_LAST_TIME:
        times[ms > _LAST_TIME] = INT64_MAX
        times[ms < -_LAST_TIME] = INT64_MIN
    return times


def repeated(value: str, count: int) -> pa.Array:
    """One string so many times; together they are to be less than 2 GiB."""
    encoded = value.encode()
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(encoded))
    return _strings(ends, encoded * count)


def _strings(ends: NDArray[np.int32], data: bytes, present: pa.Buffer | None = None) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(ends) - 1, [present, pa.py_buffer(ends.data), pa.py_buffer(data)])
