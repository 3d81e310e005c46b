"""Ids of messages that are sent, as clients make them: many at once.

An id is 32 or 56 hexadecimal digits, laid out as `wire.message_id.UNIQUE_KEY` says: the address of the machine, the
process, a number that tells programs of a process apart, the ms since the month began, and a counter.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa

from rocketwire.remoting.clock import Clock

_HEX: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_COUNTERS: Final = 1 << 16
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TAIL: Final = np.dtype([("elapsed", ">u4"), ("counter", ">u2")])


class UniqueKeys:
    """Makes ids that no other process makes.

    Args:
        host: The address from which this process speaks, as text.
        process_id: Its number.
        entropy: Gives random bytes. The number of the program in the id is made of them: of processes of the same
            address and number, in containers or one after the other, no two have the same ids.
        clock: The wall time.
    """

    def __init__(self, host: str, process_id: int, entropy: Callable[[int], bytes], clock: Clock) -> None:
        packed = ipaddress.ip_address(host.partition("%")[0]).packed
        head = packed + (process_id & 0xFFFF).to_bytes(2, "big") + entropy(4)
        self._head = np.frombuffer(head, np.uint8)
        self._clock = clock
        self._month = _EPOCH
        self._next = 0  # ms * 65536 + counter, of the next id

    def take(self, count: int) -> pa.Array:
        """So many new ids, as texts."""
        now = _EPOCH + self._clock() * _MILLISECOND
        month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        least = (now - month) // _MILLISECOND * _COUNTERS
        # Ids of a month rise, whatever the clock does; tools take the time of sending from them.
        self._next = least if month > self._month else max(self._next, least)
        self._month = max(month, self._month)
        numbers = np.arange(self._next, self._next + count, dtype=np.int64)
        self._next += count
        tail = np.empty(count, _TAIL)
        tail["elapsed"] = numbers // _COUNTERS
        tail["counter"] = numbers % _COUNTERS
        data = np.empty((count, len(self._head) + _TAIL.itemsize), np.uint8)
        data[:, : len(self._head)] = self._head
        data[:, len(self._head) :] = tail.view(np.uint8).reshape(count, _TAIL.itemsize)
        digits = np.empty((*data.shape, 2), np.uint8)
        digits[..., 0] = _HEX[data >> 4]
        digits[..., 1] = _HEX[data & 0xF]
        width = data.shape[1] * 2
        offsets = np.arange(0, (count + 1) * width, width, dtype=np.int64)
        return pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(digits))
