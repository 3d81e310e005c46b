"""Background work: work that no client waits for, carried out in slices beside the requests.

Back-checks, messages that are overdue, expiry and the like may pile up in any number. Each such task gives its work to
the one `BackgroundBudget` of the broker, as a generator that yields after each small piece. The budget runs one slice
at a time, whichever tasks have work. While requests come, all slices together take `SHARE` of the event loop's time;
while none come, they take all of it. Whether requests come is seen by the count of those served, whatever way they came
in.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Generator, Iterable
from typing import Final, TypeVar

import trio

T = TypeVar("T")

SHARE: Final = 0.2
"""The part of the loop's time that background work may take while requests come, even if they leave the loop idle. The
rest after a slice is four times as long: enough to serve a request in all of its steps, which waits for one slice."""
BUSY_SLICE_SECONDS: Final = 0.000_1
"""How long a slice is while requests come: less than the time that a client waits for its answer anyway."""
QUIET_SLICE_SECONDS: Final = 0.002
"""How long a slice is while none come: the first request waits for it."""
_QUIET_SECONDS: Final = 0.02
"""After this time without a request the loop is quiet."""
OVERDUE_MS: Final = 1000
"""A delivery that is later than this is background work. An earlier one was requested for that time, and is in time."""


class BackgroundBudget:
    """Shares the event loop between requests and the background work of one broker.

    Args:
        requests: How many requests were served since the start; it need only change with each.
        now: Gives a time in seconds.
        sleep: Waits so many seconds.

    Attributes:
        now: Gives that time.
    """

    def __init__(
        self,
        requests: Callable[[], int] = lambda: 0,
        *,
        now: Callable[[], float] = trio.current_time,
        sleep: Callable[[float], Awaitable[None]] = trio.sleep,
    ) -> None:
        self._requests = requests
        self.now = now
        self._sleep = sleep
        self._turn = trio.Lock()
        self._seen = requests()
        self._quiet_from = -math.inf
        self._rests_until = -math.inf

    def is_busy(self) -> bool:
        """Whether requests came just now, so that slices are short: pieces of work should be small then."""
        now = self.now()
        count = self._requests()
        if count != self._seen:
            self._seen = count
            self._quiet_from = now + _QUIET_SECONDS
        return now < self._quiet_from

    async def carry_out(self, steps: Generator[None, None, T]) -> T:
        """Run a generator to its end in slices; return its value.

        Other tasks run at least once before it begins and between two slices. What it does between two yields should
        take a part of `BUSY_SLICE_SECONDS`; a longer piece is followed by a longer rest.

        Raises:
            Exception: what the generator raises.
        """
        with contextlib.closing(steps):
            while True:
                async with self._turn:
                    await self._rest()
                    began = self.now()
                    until = began + (BUSY_SLICE_SECONDS if self.is_busy() else QUIET_SLICE_SECONDS)
                    try:
                        next(steps)
                        while self.now() < until:
                            next(steps)
                    except StopIteration as end:
                        result: T = end.value
                        return result
                    finally:
                        self._note_slice(began)

    async def call(self, function: Callable[[], T], *, overdue: bool = True) -> T:
        """Call a function that does one small piece of work; at once if it is not overdue.

        Raises:
            Exception: what the function raises.
        """
        return await self.carry_out(_once(function)) if overdue else function()

    async def _rest(self) -> None:
        while (rest := self._rests_until - self.now()) > 0:
            await self._sleep(rest)

    def _note_slice(self, began: float) -> None:
        """Decide how long the rest is that follows a slice which ends now."""
        now = self.now()
        self._quiet_from += now - began  # no request could be served meanwhile
        self._rests_until = now + (now - began) * (1 / SHARE - 1) if self.is_busy() else now


def as_steps(steps: Iterable[None]) -> Generator[None, None, None]:
    """The steps of an iterator as `carry_out` takes them."""
    yield from steps


def _once(function: Callable[[], T]) -> Generator[None, None, T]:
    yield from ()
    return function()
