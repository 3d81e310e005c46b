"""The broker's rates over 10 s, 60 s and 10 minutes, and its totals at midnight, which code 28 returns.

The totals are sampled every second.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Final, NamedTuple

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.messages.page_cache import AppendTimes
from rocketwire.wire.facts.codes import RequestCode

_WINDOWS: Final = (10, 60, 600)
_MINUTE: Final = 60
_PULLS: Final = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)


class MessageTotals(NamedTuple):
    """Messages stored, pulls that found messages, pulls that found none, messages delivered."""

    stored: int = 0
    found: int = 0
    missed: int = 0
    delivered: int = 0


class _Sample(NamedTuple):
    at: float
    totals: MessageTotals


class Rates:
    """The rates of one broker.

    Attributes:
        today: The totals at the last midnight, local time; zeros if the broker was not running then.
        yesterday: Those one day before.
    """

    def __init__(self, metrics: Metrics, clock: Clock, append_times: AppendTimes) -> None:
        self.today = self.yesterday = MessageTotals()
        self._metrics = metrics
        self._clock = clock
        self._append_times = append_times
        self._minute_ends = trio.current_time() + _MINUTE
        self._day = self._local_day()
        self._samples: deque[_Sample] = deque(maxlen=_WINDOWS[-1] + 1)

    def totals(self) -> MessageTotals:
        """The totals since the start. A pull that is held counts as one that found nothing until it gets a message."""
        metrics = self._metrics
        missed = sum(metrics.requests[code] for code in _PULLS) - metrics.pulls_found
        before = self._samples[-1].totals.missed if self._samples else 0
        return MessageTotals(metrics.messages_in, metrics.pulls_found, max(before, missed), metrics.messages_out)

    def sample(self) -> None:
        """Take a sample, and note the totals if a day has begun."""
        totals, day = self.totals(), self._local_day()
        now = trio.current_time()
        self._samples.append(_Sample(now, totals))
        if now >= self._minute_ends:
            self._minute_ends = now + _MINUTE
            self._append_times.end_minute(totals.stored)
        if day > self._day:
            self.today, self.yesterday = totals, self.today
            self._day = day

    async def run(self) -> None:
        """Take samples without end."""
        while True:
            self.sample()
            await trio.sleep(1)

    def text(self, *names: str, without: str = "") -> str:
        """The three rates of the sum of some totals, as Apache prints them; `without` is for unknown ones."""
        known = (self._rate(names, seconds) for seconds in _WINDOWS)
        return " ".join(without if rate is None else str(rate) for rate in known)

    def _rate(self, names: tuple[str, ...], seconds: int) -> float | None:
        if len(self._samples) <= seconds:
            return None
        first, last = self._samples[-1 - seconds], self._samples[-1]
        more = sum(getattr(last.totals, name) - getattr(first.totals, name) for name in names)
        return float(more / (last.at - first.at))

    def _local_day(self) -> tuple[int, int]:
        moment = time.localtime(self._clock() // 1000)
        return moment.tm_year, moment.tm_yday
