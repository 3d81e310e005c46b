"""How slow the machine is now: limits on processor time are set on one that does nothing else.

Its processors may be slower, and one that shares its core with a busy one takes twice the processor time for the same
work.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Final

_USUAL_SECONDS: Final = 0.008
"""What the work takes on the machine that the limits were set on."""
_ROUNDS: Final = 9


def within(seconds: float, limit: float) -> bool:
    """Whether processor time is below a limit, or would be on the machine that the limit was set on.

    How slow this one is takes 0.1 s to find out, which only a time above the limit is worth.
    """
    return seconds < limit or seconds < limit * slowness()


def slowness() -> float:
    """How many times as long the same work takes now; at least 1."""
    return max(1.0, median(_work() for _ in range(_ROUNDS)) / _USUAL_SECONDS)


def _work() -> float:
    began = time.process_time()
    table: dict[str, tuple[int, str]] = {}
    for number in range(20_000):
        table[str(number)] = number, str(number) * 2
    sum(len(name) + value[0] for name, value in table.items())
    return time.process_time() - began
