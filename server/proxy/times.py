"""How long requests take through a proxy, and how long the servers behind it take for their part: by request code.

They are kept only if metrics are on. The kernel measures what it relays by itself. Both are the same there, for a frame
is passed on as soon as it has come.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from rocketwire.server.core.metrics import UNSERVED
from rocketwire.server.operations.monitoring.latencies import Histogram
from rocketwire.wire.codes import RequestCode

CODES: Final = frozenset(map(int, RequestCode))
"""The codes that are told apart."""
RelayedTimes: TypeAlias = "Mapping[int, tuple[int, tuple[int, ...], int]]"
"""What the kernel measured: of each code how many requests, the counts of the buckets, and the sum in ns."""
_NANO: Final = 1_000_000_000


def sorted_codes() -> bytes:
    """The codes as the kernel takes them."""
    return array("i", sorted(CODES)).tobytes()


class Times:
    """The histograms of what Python passes on.

    Args:
        now: The clock.

    Attributes:
        now: See above.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._requests: dict[int, Histogram] = {}
        self._upstream: dict[int, Histogram] = {}

    def answered(self, code: int, since: float) -> None:
        """A request is answered that came at a time."""
        _note(self._requests, code, self.now() - since)

    def upstream_answered(self, code: int, seconds: float) -> None:
        """A server behind has taken so long."""
        _note(self._upstream, code, seconds)

    def sent(self, seconds: float, times: int) -> None:
        """Sends of calls that the kernel passed on took so long each: the brokers as long as the requests."""
        for histograms in (self._requests, self._upstream):
            _note(histograms, RequestCode.SEND_MESSAGE_V2, seconds, times)

    def requests(self, relayed: RelayedTimes) -> Mapping[int, Histogram]:
        """Of requests that are answered, with those that the kernel relayed."""
        return _together(self._requests, relayed)

    def upstream(self, relayed: RelayedTimes) -> Mapping[int, Histogram]:
        """Of the servers behind, likewise."""
        return _together(self._upstream, relayed)


def _note(histograms: dict[int, Histogram], code: int, seconds: float, times: int = 1) -> None:
    histograms.setdefault(code if code in CODES else UNSERVED, Histogram()).note(seconds, times)


def _together(own: Mapping[int, Histogram], relayed: RelayedTimes) -> Mapping[int, Histogram]:
    found: dict[int, Histogram] = {}
    for code in _codes(own, relayed):
        found[code] = Histogram()
        if code in own:
            found[code].add(own[code].counts, own[code].seconds)
        if code in relayed:
            _, counts, nanoseconds = relayed[code]
            found[code].add(counts, nanoseconds / _NANO)
    return found


def _codes(own: Iterable[int], relayed: Iterable[int]) -> Iterable[int]:
    return sorted({*own, *relayed})
