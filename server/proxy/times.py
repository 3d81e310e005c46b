"""How long requests take through a proxy, and how long the servers behind it take for their part: by request code.

They are kept only if metrics are on. The kernel measures what it relays. Both are the same there, for a frame is passed
on as soon as it has come.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from rocketwire.server.core.metrics import UNSERVED
from rocketwire.server.monitoring.latencies import Histogram, Latencies
from rocketwire.wire.facts.codes import RequestCode

CODES: Final = frozenset(map(int, RequestCode))
"""The codes that are counted separately."""
RelayTimeSums: TypeAlias = "Mapping[int, tuple[int, tuple[int, ...], int]]"
"""What the kernel measured: of each code how many requests, the counts of the buckets, and the sum in ns."""
_NANO: Final = 1_000_000_000


def sorted_codes() -> bytes:
    """The codes as the kernel takes them."""
    return array("i", sorted(CODES)).tobytes()


class RelayHistograms:
    """The histograms of what Python passes on.

    Args:
        now: The clock.

    Attributes:
        now: See above.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._requests = Latencies()
        self._upstream = Latencies()

    def answered(self, code: int, since: float) -> None:
        """A request is answered that came at a time."""
        self._requests.note(_kind(code), self.now() - since, 1)

    def upstream_answered(self, code: int, seconds: float) -> None:
        """A server behind has taken so long."""
        self._upstream.note(_kind(code), seconds, 1)

    def sent(self, seconds: float, times: int) -> None:
        """Sends of calls that the kernel passed on took so long each: the brokers as long as the requests."""
        for latencies in (self._requests, self._upstream):
            latencies.note(RequestCode.SEND_MESSAGE_V2, seconds, times)

    def requests(self, relayed: RelayTimeSums) -> Mapping[int, Histogram]:
        """Of requests that are answered, with those that the kernel relayed."""
        return _together(self._requests.requests, relayed)

    def upstream(self, relayed: RelayTimeSums) -> Mapping[int, Histogram]:
        """Of the servers behind, likewise."""
        return _together(self._upstream.requests, relayed)


def _kind(code: int) -> int:
    return code if code in CODES else UNSERVED


def _together(own: Mapping[int, Histogram], relayed: RelayTimeSums) -> Mapping[int, Histogram]:
    found: dict[int, Histogram] = {}
    for code in sorted({*own, *relayed}):
        found[code] = Histogram()
        if code in own:
            found[code].add(own[code].counts, own[code].seconds)
        if code in relayed:
            _, counts, nanoseconds = relayed[code]
            found[code].add(counts, nanoseconds / _NANO)
    return found
