"""How many messages a second groups get, by topic: the mean of the last minute, in samples of 10 s as Apache's.

Pulls count what they hand out; a sample is taken of those counts only. A pair that got nothing for a minute is
forgotten with its count.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import trio

_SAMPLE_SECONDS: Final = 10.0
_SAMPLES: Final = 7  # six intervals make a minute


class _Sample(NamedTuple):
    at: float
    total: int


class ConsumeRates:
    """The rates of all groups."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._samples: dict[tuple[str, str], deque[_Sample]] = {}

    def delivered(self, group: str, topic: str, messages: int) -> None:
        """Count messages that were handed to a group."""
        key = (group, topic)
        self._counts[key] = self._counts.get(key, 0) + messages

    def per_second(self, group: str, topic: str) -> float:
        """Messages a second of the last minute; 0 before the second sample."""
        samples = self._samples.get((group, topic))
        if samples is None or len(samples) == 1:
            return 0.0
        first, last = samples[0], samples[-1]
        return (last.total - first.total) / (last.at - first.at)

    def sample(self) -> None:
        """Take a sample of every count, and forget what stood still for a minute."""
        now = trio.current_time()
        for key, count in list(self._counts.items()):
            samples = self._samples.setdefault(key, deque(maxlen=_SAMPLES))
            samples.append(_Sample(now, count))
            if len(samples) == _SAMPLES and samples[0].total == count:
                del self._counts[key], self._samples[key]

    async def run(self) -> None:
        """Take samples for ever."""
        while True:
            await trio.sleep(_SAMPLE_SECONDS)
            self.sample()
