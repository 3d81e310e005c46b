"""Background work: what nobody waits for at this moment, carried out in slices beside the requests.

Back-checks, messages that are overdue, expiry and the like may pile up in any number. Each such task gives its work to
the one `BackgroundBudget` of the broker, as a generator that yields after each small piece. The budget runs one slice
at a time, whichever tasks have work. While requests come, all slices together take `SHARE` of the event loop's time,
and besides what the loop would have waited in, up to `MOST_SHARE`; while none come, they take all of it.

How busy requests keep the loop is measured, not declared: by the count of requests served, whatever way they came in,
and by the time that the loop spends waiting for its sockets.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from typing import Final, TypeVar

import trio

T = TypeVar("T")

SHARE: Final = 0.2
"""The part of the loop's time that background work may take while requests keep the loop busy."""
MOST_SHARE: Final = 0.5
"""The part that it may take while requests come and leave the loop idle for most of the time: then the rest between two
slices is as long as a slice, enough to serve a request that arrived meanwhile in all of its steps."""
BUSY_SLICE_SECONDS: Final = 0.000_15
"""How long a slice is while requests come: less than the time that a client waits for its answer anyway."""
QUIET_SLICE_SECONDS: Final = 0.002
"""How long a slice is while none come: the first request waits for it."""
_QUIET_SECONDS: Final = 0.02
"""After this time without a request the loop is quiet."""
OVERDUE_MS: Final = 1000
"""A delivery that is later than this is background work. Before, it is what requests asked for, and is done in time."""
_SMOOTHING: Final = 0.1
"""How much of the estimate of the idle time each new measurement replaces."""


class IdleTime(trio.abc.Instrument):
    """Measures how long the event loop waits for its sockets, in seconds by `now`."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.seconds = 0.0
        self._now = now
        self._began = math.inf

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002 - trio's interface
        """Note when a wait begins."""
        self._began = self._now()

    def after_io_wait(self, timeout: float) -> None:  # noqa: ARG002 - trio's interface
        """Add the wait that ended."""
        self.seconds += max(0.0, self._now() - self._began)


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
        self._tasks = 0
        self._idle = IdleTime(now)
        #: The part of the time that the loop was idle lately, and what it is measured from.
        self._idle_part = 0.0
        self._measured: tuple[float, float] | None = None

    def is_busy(self) -> bool:
        """Whether requests came just now, so that slices are short: pieces of work should be small then."""
        self._look(self.now())
        return self.now() < self._quiet_from

    async def carry_out(self, steps: Generator[None, None, T]) -> T:
        """Run a generator to its end in slices; return its value.

        Other tasks run at least once before it begins and between two slices. What it does between two yields should
        take a part of `BUSY_SLICE_SECONDS`; a longer piece is followed by a longer rest.

        Raises:
            Exception: what the generator raises.
        """
        with contextlib.closing(steps), self._measuring():
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
        while (left := self._rests_until - self.now()) > 0:
            await self._sleep(left)

    def _look(self, now: float) -> None:
        count = self._requests()
        if count != self._seen:
            self._seen = count
            self._quiet_from = now + _QUIET_SECONDS

    def _note_slice(self, began: float) -> None:
        """Decide how long the rest is that follows a slice which ends now."""
        now = self.now()
        self._measure(now)
        self._quiet_from += now - began  # no request could be served meanwhile
        if not self.is_busy():
            self._rests_until = now
            return
        share = min(MOST_SHARE, SHARE + self._idle_part)
        self._rests_until = now + (now - began) * (1 / share - 1)

    def _measure(self, now: float) -> None:
        """Update the part of the time that the loop is idle, from the end of the slice before."""
        if self._measured is not None:
            since, idle = self._measured
            if now > since:
                part = (self._idle.seconds - idle) / (now - since)
                self._idle_part += _SMOOTHING * (part - self._idle_part)
        self._measured = now, self._idle.seconds

    @contextlib.contextmanager
    def _measuring(self) -> Iterator[None]:
        """Measure idle time while there is background work: it costs a little in each pass of the loop."""
        self._tasks += 1
        if self._tasks == 1:
            trio.lowlevel.add_instrument(self._idle)
        try:
            yield
        finally:
            self._tasks -= 1
            if not self._tasks:
                trio.lowlevel.remove_instrument(self._idle)
                self._measured = None


def as_steps(steps: Iterable[None]) -> Generator[None, None, None]:
    """The steps of an iterator as `carry_out` takes them."""
    yield from steps


def _once(function: Callable[[], T]) -> Generator[None, None, T]:
    yield from ()
    return function()
