"""Gives memory back to the system after many bytes were in flight.

The C library keeps freed memory for its next use, all of it below the last block in use. That is right for a moment,
and wrong after clients made the process keep hundreds of MiB that it needs no more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final

LEAST: Final = 16 << 20
"""So many bytes less in flight than there were are worth the search for free pages. It takes 4 ms for these, and more
if more is free, so it is done often."""
AGAIN: Final = 8
"""How often it is searched after that: what was kept for clients that left is freed in steps."""


class FreedMemory:
    """Compares the bytes in flight from time to time, and gives back what was freed."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = give_back
        self._highest = 0
        self._again = 0

    def look(self, highest: int, now: int) -> None:
        """Say how many bytes are in flight now, and how many there were at most since the last time."""
        self._highest = max(self._highest, highest)
        if self._highest - now >= LEAST:
            self._highest, self._again = now, AGAIN
        if self._again:
            self._again -= 1
            self._give_back()


@cache
def _trim() -> Callable[[int], int] | None:
    """The function of GNU's C library; None: it is another one."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except AttributeError:
        return None
    trim.argtypes = [ctypes.c_size_t]
    return trim


def return_free_memory() -> None:
    """Have the C library give back free pages."""
    trim = _trim()
    if trim is not None:
        trim(0)
