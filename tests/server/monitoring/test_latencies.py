from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rocketwire.server.core.metrics import UNSERVED, Metrics
from rocketwire.server.monitoring.latencies import BOUNDS, Histogram, Latencies, TimedDispatcher, timed


def test_bounds_differ_by_a_factor_of_two_and_a_half() -> None:
    assert (BOUNDS[0], BOUNDS[-1]) == (10e-6, 10.0)
    assert [round(high / low, 1) for low, high in pairwise(BOUNDS)] == pytest.approx([2.5] * 15, abs=0.1)


def test_a_bucket_counts_values_up_to_its_bound() -> None:
    histogram = Histogram()
    histogram.note(10e-6)
    histogram.note(11e-6, times=3)
    histogram.note(10.1)
    assert histogram.counts == [1, 3, *[0] * 14, 1]
    assert histogram.seconds == pytest.approx(10.1 + 43e-6)
    histogram.add([0, 1, *[0] * 15], 0.5)
    assert histogram.counts[1] == 4
    assert histogram.seconds == pytest.approx(10.6 + 43e-6)


class Slow:
    """A dispatcher that counts a request of a code for each frame, and takes a while."""

    def __init__(self, metrics: Metrics) -> None:
        self.now = 5.0
        self.settled = 0
        self._metrics = metrics

    def serve(self, _session: Any, frames: list[Any]) -> int:
        for code in frames:
            self.now += 0.002
            self._metrics.requests[code] += 1
            if code == UNSERVED:
                raise LookupError
        return len(frames)

    def serve_requests(self, _caller: Any, requests: Any) -> int:
        return self.serve(None, requests)

    def settle(self) -> None:
        self.settled += 1

    def send_request(self, session: Any, header: Any, frame: bytes) -> None:
        self.sent = session, header, frame


def test_each_request_of_a_read_counts_the_whole_of_it() -> None:
    metrics, latencies = Metrics(), Latencies()
    slow = Slow(metrics)
    dispatcher = TimedDispatcher(slow, metrics, latencies, now=lambda: slow.now)
    session: Any = None
    frames: Any = [10, 11, 10]
    assert dispatcher.serve(session, frames) == 3
    assert latencies.of(10).counts[BOUNDS.index(0.0063)] == 2
    assert latencies.of(10).seconds == pytest.approx(0.012)
    assert latencies.of(11).seconds == pytest.approx(0.006)
    frames = [11, UNSERVED, 11]
    with pytest.raises(LookupError):
        dispatcher.serve(session, frames)
    assert sum(latencies.of(11).counts) == 2
    assert latencies.of(UNSERVED).seconds == pytest.approx(0.004)
    requests: Any = [200050]  # of a gRPC call
    assert dispatcher.serve_requests(session, requests) == 1
    assert latencies.of(200050).seconds == pytest.approx(0.002)
    dispatcher.settle()
    assert slow.settled == 1
    header: Any = 1
    dispatcher.send_request(session, header, b"x")
    assert slow.sent == (session, header, b"x")


def test_nothing_is_timed_unless_configured() -> None:
    metrics = Metrics()
    dispatcher = Slow(metrics)
    assert timed(dispatcher, metrics, None) is dispatcher
    assert isinstance(timed(dispatcher, metrics, Latencies()), TimedDispatcher)
