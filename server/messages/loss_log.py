"""The log of messages that a job has to drop: there may be any number, so it has no line for each."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Final

import trio

SECONDS: Final = 10.0
"""The least time between two lines."""


class LossLog:
    """Logs the first loss at once, and then at intervals how many more there were.

    Args:
        log: Where to.
        level: The level of the lines.
        now: Gives a time in seconds.
    """

    def __init__(self, log: logging.Logger, level: int, *, now: Callable[[], float] = trio.current_time) -> None:
        self._log = log
        self._level = level
        self._now = now
        self._next = -math.inf
        self._more = 0
        self._last = ""

    @property
    def due(self) -> float:
        """When `log_if_due` should be called, in seconds by the clock given; infinite when there is nothing to log."""
        return self._next if self._more else math.inf

    def add(self, text: str) -> None:
        """Note a loss: log it, or count it."""
        self.log_if_due()
        if self._now() >= self._next:
            self._line(text)
        else:
            self._more += 1
            self._last = text

    def log_if_due(self) -> None:
        """Log the number of those that were counted, if it is time."""
        if self._more and self._now() >= self._next:
            self._line(f"{self._more} more, the last: {self._last}")
            self._more = 0

    def _line(self, text: str) -> None:
        self._log.log(self._level, "%(text)s", {"text": text})
        self._next = self._now() + SECONDS
