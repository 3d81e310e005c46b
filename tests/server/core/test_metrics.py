from __future__ import annotations

from rocketwire.server.core.metrics import Metrics


def test_what_was_served_is_counted() -> None:
    metrics = Metrics()
    metrics.requests[310] += 6
    metrics.stored(2, 300)
    metrics.stored(1, 50)
    metrics.delivered(3, 350)
    assert metrics.requests == {310: 6}
    assert (metrics.messages_in, metrics.bytes_in) == (3, 350)
    assert (metrics.messages_out, metrics.bytes_out) == (3, 350)
