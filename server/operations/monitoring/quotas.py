"""Metrics of quotas: what each allows, and what was taken from it.

How full a quota is shows in the rate of the second over the first. Quotas that the configuration names are all told of,
from the start. Of those by `*` clients may make very many, by inventing names: the most used ones are told of.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from operator import itemgetter
from typing import Final

from prometheus_client import Metric

from rocketwire.server.guards.throttle.throttle import Throttle
from rocketwire.server.operations.monitoring.families import counters, gauges

MOST_UNWRITTEN: Final = 1000
"""So many of those by `*` have a series."""
_LABELS: Final = ("direction", "kind", "name")
_TAKEN: Final = itemgetter(4)


def families(throttle: Throttle) -> Iterator[Metric]:
    """What quotas there are."""
    found = [*throttle.written(), *nlargest(MOST_UNWRITTEN, throttle.unwritten(), key=_TAKEN)]
    yield gauges(
        "quota_messages_per_second",
        "Converted messages a second that a quota allows; name: the topic's or group's, none of the instance.",
        _LABELS,
        ((labels, rate) for *labels, rate, _ in found),
    )
    yield counters(
        "quota_used_messages",
        "Converted messages that were taken from a quota.",
        _LABELS,
        ((labels, taken) for *labels, _, taken in found),
    )
