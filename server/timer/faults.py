"""What the timer's stages do when the disk refuses: say it once, and try again a little later."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

import trio

from rocketwire.store.errors import StoreError

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 0.5

T = TypeVar("T")


class Faults:
    """The faults of one job."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._told = False

    def note(self, error: Exception) -> None:
        """Say that the job failed, if it did not fail before."""
        if not self._told:
            log.error("%s: %s", self._job, error)
        self._told = True

    def over(self) -> None:
        """The job is done: its next fault is told again."""
        self._told = False

    @asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """Do the job; after a fault go on a little later, to try again."""
        try:
            yield
        except (OSError, StoreError) as error:
            self.note(error)
            await trio.sleep(RETRY_SECONDS)
        else:
            self._told = False

    async def until_done(self, job: Callable[[], T]) -> T:
        """Do the job, again after each fault until it is done; what it gives."""
        while True:
            async with self.told():
                return job()
