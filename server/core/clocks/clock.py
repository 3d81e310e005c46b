"""The one source of wall time.

Time stamps in records and bodies are milliseconds since the epoch. Waiting and expiry use the event loop's monotonic
clock (`trio.current_time`, seconds), which tests replace with a mock.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns milliseconds since 1970-01-01 UTC."""


def system_clock() -> int:
    """The machine's wall time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def hour_of_day(moment: int) -> int:
    """The local hour, 0 to 23, at a time in milliseconds since the epoch."""
    return time.localtime(moment // 1000).tm_hour


def local_text(moment: int) -> str:
    """The local time of milliseconds since the epoch, as Apache's bodies have it: 2023-11-14#22:13:20:000."""
    seconds, milliseconds = divmod(moment, 1000)
    return f"{time.strftime('%Y-%m-%d#%H:%M:%S', time.localtime(seconds))}:{milliseconds:03d}"


def http_date(moment: int) -> str:
    """The time of milliseconds since the epoch as HTTP has it: Tue, 14 Nov 2023 22:13:20 GMT."""
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(moment // 1000))
