"""What the kernel makes of any bytes that shall be records of a log: those that the store believes, as columns."""

from __future__ import annotations

import contextlib
import ctypes

from rocketwire import _kernel as kernel
from rocketwire.store.records.walk import walk
from tests.kernel.records.record_rows import NAMES, host_text, positions_of, row_of, rows_of, walked

_PLACES = 8


def columns(data: bytes) -> None:
    """Records one behind the other, up to what is none; and columns of whatever is at other places."""
    log = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
    expected = walk(data, base=None, whole=False, check_crc=False, most=len(data) + 1)
    positions, behind = walked(log)
    assert (positions.tolist(), behind) == (expected.records.position.tolist(), expected.position)
    ends = [*positions[1:], behind] if positions else []
    rows = [row_of(data[at:end]) for at, end in zip(positions, ends, strict=True)]
    assert rows_of(log, positions) == rows
    assert [row["tags"] for row in rows_of(log, positions, ("tags",))] == [row["tags"] for row in rows]
    good = bytearray(len(positions))
    kernel.check_bodies(log, positions, good)
    for at in range(-1, len(data) + 1, max(1, len(data) // _PLACES)):
        with contextlib.suppress(ValueError):  # nothing is read that is not there
            kernel.record_columns(log, positions_of([at]), NAMES, bytearray, host_text)
        with contextlib.suppress(ValueError):
            kernel.record_columns(log, positions_of([at]), ("flag", "store_host"), bytearray, host_text)
