"""What the kernel shows of any bytes that shall be records of a log: those that the store believes, as JSON."""

from __future__ import annotations

import contextlib
import ctypes
import json
from array import array

from rocketwire import _kernel as kernel
from rocketwire.cli.shown_message import json_object
from rocketwire.store.offline.read.selected import with_properties
from rocketwire.store.records.walk import walk
from rocketwire.wire.message import decode_record

_PLACES = 8


def json_lines(data: bytes) -> None:
    """Records one behind the other, up to what is none; and lines of whatever is at other places."""
    log = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
    records = walk(data, base=None, whole=False, check_crc=False, most=len(data) + 1).records
    positions, sizes = records.position.tolist(), records.size.tolist()
    count, lines = kernel.record_lines(log, array("q", positions))
    for at, size, line in zip(positions[:count], sizes[:count], lines.split(b"\n")[:-1], strict=True):
        message = decode_record(data[at : at + size], check_crc=False)
        assert json.loads(line) == json_object(with_properties(message, size), print)
    for at in range(-1, len(data) + 1, max(1, len(data) // _PLACES)):
        with contextlib.suppress(ValueError):  # nothing is read that is not there
            kernel.record_lines(log, array("q", [at]))
