"""Metrics of quotas: the limit of each, and what was charged to it.

The rate of the second divided by the first is a quota's utilisation. All quotas that the configuration names are
reported from the start. Of those by `*`, which clients can multiply by inventing names, only the most used ones are
reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from operator import itemgetter
from typing import Final

from prometheus_client import Metric

from rocketwire.server.monitoring.families import counters, gauges
from rocketwire.server.throttle.throttle import Throttle

MOST_UNWRITTEN: Final = 1000
"""The most series of quotas by `*`."""
_LABELS: Final = ("direction", "kind", "name")
_TAKEN: Final = itemgetter(4)


def families(throttle: Throttle) -> Iterator[Metric]:
    """The quotas."""
    found = [*throttle.written(), *nlargest(MOST_UNWRITTEN, throttle.unwritten(), key=_TAKEN)]
    yield gauges(
        "quota_messages_per_second",
        "Converted messages a second that a quota allows; name: the topic's, group's or account's, none of the "
        "instance.",
        _LABELS,
        ((labels, rate) for *labels, rate, _ in found),
    )
    yield counters(
        "quota_used_messages",
        "Converted messages that were taken from a quota.",
        _LABELS,
        ((labels, taken) for *labels, _, taken in found),
    )
