"""The ends of consume queues as rows of one buffer, and reading what was appended to all of them at once.

The kernel does it if there is one (`kernel/records/queue_tails.c`), else the twin here.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Final

import numpy as np

from rocketwire import native
from rocketwire.store.layout.consume_queue import ENTRY, ENTRY_SIZE, ENTRY_STRUCT
from rocketwire.store.layout.derive import dtype_fields

#: A row. `at` is the position of the queue's last entry in its last file, and `room` that behind the file's end; `min`
#: and `end` are those of `Queue`; `fd` is the open file, -1 without one; `last` is the last entry, as it is stored.
ROW: Final = np.dtype(
    [("at", "i8"), ("room", "i8"), ("min", "i8"), ("end", "i8"), ("fd", "i4"), ("last", dtype_fields(ENTRY))]
)
ROW_STRUCT: Final = struct.Struct(f"=qqqqi{ENTRY_SIZE}s")
#: Bytes read first: the last entry and some behind it; how many of them must be zeros to know the end; bytes read next.
_FIRST: Final = 33 * ENTRY_SIZE
_LEFT: Final = 8 * ENTRY_SIZE
_NEXT: Final = 512 * ENTRY_SIZE


def follow_rows_by_python(rows: bytearray | memoryview) -> bool:
    """Bring the rows of open files up to date.

    Returns:
        whether that was possible: no file was removed, cut or full, or has another entry in place of the last one.
    """
    try:
        return all(_follow(rows, place) for place in range(0, len(rows), ROW.itemsize))
    except OSError:
        return False


def _follow(rows: bytearray | memoryview, place: int) -> bool:
    at, room, least, end, fd, last = ROW_STRUCT.unpack_from(rows, place)
    if fd < 0:
        return True
    former, data = at, os.pread(fd, _FIRST, at)
    if data[:ENTRY_SIZE] != last:
        return False
    while True:
        # An entry ends with its tags code, which may be zeros, behind its size, which is not zero.
        new = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE) - 1
        at += new * ENTRY_SIZE
        end += new
        last = data[new * ENTRY_SIZE : (new + 1) * ENTRY_SIZE]
        if at + ENTRY_SIZE >= room or len(last) < ENTRY_SIZE or ENTRY_STRUCT.unpack(last)[1] <= 0:
            return False
        left = len(data) - (new + 1) * ENTRY_SIZE
        if left >= _LEFT or at + ENTRY_SIZE + left >= room:
            break
        data = os.pread(fd, _NEXT, at)
        if len(data) <= ENTRY_SIZE + left or data[:ENTRY_SIZE] != last:
            return False
    if at == former:
        return os.fstat(fd).st_nlink > 0  # a file that grows was not removed
    ROW_STRUCT.pack_into(rows, place, at, room, least, end, fd, last)
    return True


follow_rows: Final[Callable[[bytearray | memoryview], bool]] = (
    follow_rows_by_python if native.kernel is None else native.kernel.follow_queue_tails
)
