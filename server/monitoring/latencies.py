"""How long requests take: histograms by request code, kept only if monitoring is on.

A request's time runs from the arrival of the read that brought it to the moment when the answers of that read are sent;
each request of a read counts the whole time, because its client waited that long. A request that is set aside (a held
pull, a send that waits for a flush) counts until then. The kernel measures what it serves in the same way.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import trio

from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Request
from rocketwire.server.dispatch.caller import GrpcCaller
from rocketwire.server.net.hub import Hub
from rocketwire.server.net.session import Dispatcher, Session
from rocketwire.wire.connection import RawFrame

BOUNDS: Final = (
    *(0.000_010, 0.000_025, 0.000_063, 0.000_160, 0.000_400),
    *(0.001, 0.002_5, 0.006_3, 0.016, 0.040),
    *(0.1, 0.25, 0.63, 1.6, 4.0, 10.0),
)
"""The upper bounds of the buckets in seconds, inclusive; one more bucket is for all above."""
_NANO: Final = 1_000_000_000


CallerT = TypeVar("CallerT")
RequestsT = TypeVar("RequestsT")


class RequestDispatcher(Dispatcher, Protocol):
    """What serves frames and what serves requests that came in none."""

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Handle requests in order; return how many were handled before the connection had to pause."""


class Histogram:
    """Durations in buckets.

    Attributes:
        counts: The count of each bucket, without those below it.
        seconds: Their sum.
    """

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def note(self, seconds: float, times: int = 1) -> None:
        """Count a duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += times
        self.seconds += seconds * times

    def add(self, counts: Sequence[int], seconds: float) -> None:
        """Add counts from elsewhere."""
        for bucket, count in enumerate(counts):
            self.counts[bucket] += count
        self.seconds += seconds


class Latencies:
    """Histograms of a process.

    Attributes:
        requests: By request code, with the keys of `Metrics.requests`.
        flushes: Of flushes that a request waited for.
    """

    def __init__(self) -> None:
        self.requests: dict[int, Histogram] = {}
        self.flushes = Histogram()

    def take(self, hub: Hub) -> None:
        """Add what the kernel measured since the last call."""
        for code, (counts, nanoseconds) in hub.take_latencies().items():
            self.of(code).add(counts, nanoseconds / _NANO)

    def note(self, code: int, seconds: float, times: int) -> None:
        """Count requests that took so long each."""
        self.of(code).note(seconds, times)

    def of(self, code: int) -> Histogram:
        """The histogram of a request code."""
        found = self.requests.get(code)
        if found is None:
            found = self.requests[code] = Histogram()
        return found


class TimedDispatcher:
    """Measures how long a dispatcher takes."""

    def __init__(
        self,
        dispatcher: RequestDispatcher,
        metrics: Metrics,
        latencies: Latencies,
        *,
        now: Callable[[], float] = trio.current_time,
    ) -> None:
        self._dispatcher = dispatcher
        self._requests = metrics.requests
        self._latencies = latencies
        self._now = now
        self.settle = dispatcher.settle
        self.send_request = dispatcher.send_request

    def serve(self, session: Session, frames: list[RawFrame]) -> int:
        """Serve the frames of one read."""
        return self._timed(self._dispatcher.serve, session, frames)

    def serve_requests(self, caller: GrpcCaller, requests: Sequence[Request[Any]]) -> int:
        """Serve requests that came in no frame."""
        return self._timed(self._dispatcher.serve_requests, caller, requests)

    def _timed(self, serve: Callable[[CallerT, RequestsT], int], caller: CallerT, requests: RequestsT) -> int:
        """Serve what came in one read; the increase of each code's counter shows which codes it had."""
        before = dict(self._requests)
        began = self._now()
        try:
            return serve(caller, requests)
        finally:
            took = self._now() - began
            for code, count in self._requests.items():
                times = count - before.get(code, 0)
                if times:
                    self._latencies.note(code, took, times)


def timed(dispatcher: RequestDispatcher, metrics: Metrics, latencies: Latencies | None) -> RequestDispatcher:
    """The dispatcher, measured if `latencies` is given."""
    return dispatcher if latencies is None else TimedDispatcher(dispatcher, metrics, latencies)
