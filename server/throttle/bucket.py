"""The token bucket of a quota: holds at most one second's messages, and is exact over any time.

Levels are whole numbers of nano-messages, so nothing is lost to rounding. A request passes while the level is above
zero, and may take more than there is; the debt is paid before the next one passes. So large and small requests are
refused alike, and the rate holds in the long run. But a debt is never greater than ten seconds' messages, so that one
request does not block others for longer; the rest is forgiven.
"""

from __future__ import annotations

from typing import Final

from rocketwire import native
from rocketwire.wire.java import INT32_MAX, INT64_MAX

RATE_MOST: Final = INT32_MAX
"""The highest rate of a bucket, in converted messages a second."""

_NANO: Final = 1_000_000_000
_DEBT_SECONDS: Final = 10
_DEBT_MOST: Final = 1 << 62
"""Nano-messages, at any rate: the kernel counts with 64 bits."""
_TAKEN_MOST: Final = INT64_MAX


class PythonBucket:
    """A token bucket of converted messages. It starts full, with one second's messages.

    Attributes:
        rate: Converted messages a second; 0: nothing passes.
        level: Nano-messages that may pass now; below zero: a debt.
        taken: Converted messages charged since the start.
    """

    __slots__ = ("_last", "_lowest", "level", "rate", "taken")

    def __init__(self, rate: int, now_ns: int) -> None:
        """Make a full bucket at a time in ns.

        Raises:
            ValueError: the rate is below 0 or above `RATE_MOST`.
        """
        if not 0 <= rate <= RATE_MOST:
            raise ValueError(f"a rate is between 0 and {RATE_MOST}")
        self.rate = rate
        self.taken = 0
        self.level = rate * _NANO
        self._lowest = -min(_DEBT_SECONDS * self.level, _DEBT_MOST)
        self._last = now_ns

    def ready(self, now_ns: int) -> bool:
        """Whether a request may pass at this time in ns. A time before the last one counts as the last one."""
        if now_ns > self._last:
            self.level = min(self.rate * _NANO, self.level + self.rate * (now_ns - self._last))
            self._last = now_ns
        return self.level > 0

    def take(self, cost: int) -> None:
        """Charge so many converted messages, at least 0."""
        if cost < 0:
            raise ValueError("a cost is not negative")
        self.taken = min(self.taken + cost, _TAKEN_MOST)
        self.level = max(self.level - cost * _NANO, self._lowest)


Bucket: type[PythonBucket] = PythonBucket if native.kernel is None else native.kernel.Bucket
