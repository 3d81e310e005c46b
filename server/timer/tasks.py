"""What the timer's tasks share: how one wakes another, and how they continue after an error of the disk."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import trio

from rocketwire.server.core.background import BackgroundBudget
from rocketwire.store.errors import StoreError

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 0.5

T = TypeVar("T")


class WakeSignal:
    """Wakes another task: rung any number of times, heard once."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def wake(self) -> None:
        """Wake the task; if it does not wait now, its next wait ends at once."""
        self._rung.set()

    async def wait(self, seconds: float = math.inf) -> None:
        """Wait until it rings, or rang since the last call, `seconds` at most."""
        if seconds == math.inf:
            await self._rung.wait()
        else:
            with trio.move_on_after(seconds):
                await self._rung.wait()
        self._rung = trio.Event()


class JobFaults:
    """The errors of one job: one that repeats is logged once, and the job retried a little later."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._logged = False

    def note(self, error: Exception) -> None:
        """Log that the job failed, unless it failed before."""
        if not self._logged:
            log.error("%(job)s: %(reason)s", {"job": self._job, "reason": error})
        self._logged = True

    def clear(self) -> None:
        """The job succeeded: its next error is logged again."""
        self._logged = False

    @asynccontextmanager
    async def log_and_pause(self) -> AsyncIterator[None]:
        """Do the job; after an error, wait a little before the next try."""
        try:
            yield
        except (OSError, StoreError) as error:
            self.note(error)
            await trio.sleep(RETRY_SECONDS)
        else:
            self._logged = False

    async def until_done(self, job: Callable[[], T], budget: BackgroundBudget | None = None) -> T:
        """Do the job, again after each error until it succeeds; return its result. With `budget` it is background work.

        Args:
            job: What to do, in one small piece.
            budget: None: the job is done at once.
        """
        while True:  # not by `log_and_pause`, which costs as much as many a job
            try:
                result = job() if budget is None else await budget.call(job)
            except (OSError, StoreError) as error:
                self.note(error)
                await trio.sleep(RETRY_SECONDS)
            else:
                self._logged = False
                return result
