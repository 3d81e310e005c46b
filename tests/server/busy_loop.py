"""An event loop that requests keep busy, for tests of background work: the test decides how its time passes."""

from __future__ import annotations

from collections.abc import Generator

import trio

from rocketwire.server.core.background import BackgroundBudget


class BusyLoop:
    """An event loop whose time passes with pieces of background work, and in rests between them.

    Attributes:
        busy: Whether requests come: one in each rest.
        time: The time in seconds.
        requests: How many requests were served.
        rests: How long each rest was, in seconds.
        budget: Shares that time.
    """

    def __init__(self, tick: float = 0.0) -> None:
        """Begin quiet; each reading of the time takes `tick` seconds: a piece of work reads it once."""
        self.busy = False
        self.time = 100.0
        self.requests = 0
        self.rests: list[float] = []
        self._tick = tick
        self.budget = BackgroundBudget(lambda: self.requests, now=self.now, sleep=self.sleep)

    def now(self) -> float:
        self.time += self._tick
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.time += seconds
        self.serve()
        await trio.lowlevel.checkpoint()

    def keep_busy(self) -> None:
        """From now on requests come."""
        self.busy = True
        self.serve()

    def serve(self) -> None:
        """Serve a request if one comes."""
        if self.busy:
            self.requests += 1

    def pieces(self, count: int, seconds: float) -> Generator[None, None, int]:
        """Work in so many pieces, each of which takes that time."""
        for _ in range(count):
            self.time += seconds
            yield
        return count

    @property
    def rested(self) -> float:
        """Seconds of all rests together."""
        return sum(self.rests)
