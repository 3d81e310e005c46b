"""Removing old records: a small step behind every hundredth message, so that no long transaction is needed.

Age is counted by the clock of the consumer that adds and removes: a database's own clock plays no part.
"""

from __future__ import annotations

import itertools
import logging
from typing import Final

from rocketwire.remoting.clock import Clock
from rocketwire.remoting.once.records import ConsumedRecords

EVERY: Final = 100
STEP: Final = 1000
_log: Final = logging.getLogger(__name__)


class Cleaner:
    """Removes a group's records that are older than `keep_ms`."""

    def __init__(self, records: ConsumedRecords, group: str, keep_ms: int, clock: Clock) -> None:
        self._records = records
        self._group = group
        self._keep_ms = keep_ms
        self._clock = clock
        self._turns = itertools.cycle(range(EVERY))

    def after_message(self) -> None:
        """Take a step if it is time, at a program's first message too; a failed one is logged, and made up for."""
        if next(self._turns) == 0:
            try:
                self._records.remove_before(self._group, self._clock() - self._keep_ms, STEP)
            except Exception as error:  # noqa: BLE001 - each driver has its own; the message is committed already
                _log.warning("old records of group %s were not removed: %s", self._group, error)
