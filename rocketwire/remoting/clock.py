"""The wall time, for what is sent: when messages were born, and what their ids are made of."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Milliseconds since 1970."""


def system_clock() -> int:
    """The time of this machine."""
    return time.time_ns() // 1_000_000
