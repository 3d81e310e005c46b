"""How long appends take, in Apache's classes of milliseconds.

Only groups of messages that took a millisecond or more are noted, each once: there are few. All other messages are in
the first class.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

LEAST_MS: Final = 1
"""Faster appends are not noted."""
_CLASSES: Final = (10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)
_SLOW: Final = len(_CLASSES) + 1
_NAMES: Final = (
    *("<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s"),
    *("1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~"),
)


class AppendTimes:
    """The appends of one broker: the longest one, and the distribution within the last whole minute.

    Attributes:
        longest_ms: The longest since the start.
    """

    def __init__(self) -> None:
        self.longest_ms = 0
        self._slow, self._last_slow = [0] * _SLOW, [0] * _SLOW
        self._messages = self._last_messages = 0

    def note(self, took_ms: float) -> None:
        """Note an append that was not fast."""
        milliseconds = int(took_ms)
        self.longest_ms = max(self.longest_ms, milliseconds)
        self._slow[bisect_right(_CLASSES, milliseconds)] += 1

    def end_minute(self, messages: int) -> None:
        """Begin a new minute; `messages` were stored since the start."""
        self._last_slow, self._slow = self._slow, [0] * _SLOW
        self._last_messages, self._messages = messages - self._messages, messages

    def counts(self) -> list[int]:
        """The distribution of the last whole minute."""
        return [max(0, self._last_messages - sum(self._last_slow)), *self._last_slow]

    def text(self) -> str:
        """The distribution as Apache prints it."""
        return "".join(f"[{name}]:{count} " for name, count in zip(_NAMES, self.counts(), strict=True))

    def percentile(self, part: float) -> float:
        """A time in ms that so much of the appends did not exceed: the bound of its class, the longest beyond all."""
        counts = self.counts()
        left = part * sum(counts)
        for count, bound in zip(counts, (0, *_CLASSES), strict=False):
            left -= count
            if left <= 0:
                return float(min(bound, self.longest_ms))
        return float(self.longest_ms)
