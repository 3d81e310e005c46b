"""Metric families for prometheus_client: a name, a help text, and values by labels."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from rocketwire import __version__, native
from rocketwire.server.monitoring.latencies import BOUNDS, Histogram

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
"""Of what `format_family` gives."""
Labelled = Iterable[tuple[Sequence[str], float]]

_BUILD: Final = {"version": __version__, "kernel": native.name(), "python": platform.python_version()}
_BUCKETS: Final = (*map(str, BOUNDS), "+Inf")


def counter(name: str, text: str, value: float) -> CounterMetricFamily:
    """A counter; `_total` is added to its name."""
    return CounterMetricFamily(f"rocketwire_{name}", text, value=value)


def counters(name: str, text: str, labels: Sequence[str], values: Labelled) -> CounterMetricFamily:
    """Counters by labels; `_total` is added to their name."""
    family = CounterMetricFamily(f"rocketwire_{name}", text, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family


def gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    """A gauge."""
    return GaugeMetricFamily(f"rocketwire_{name}", text, value=value)


def gauges(name: str, text: str, labels: Sequence[str], values: Labelled) -> GaugeMetricFamily:
    """Gauges by labels."""
    family = GaugeMetricFamily(f"rocketwire_{name}", text, labels=labels)
    for of, value in values:
        family.add_metric(of, value)
    return family


def build_info() -> GaugeMetricFamily:
    """What runs."""
    return gauges("build_info", "Always 1; the labels say what runs.", tuple(_BUILD), [(tuple(_BUILD.values()), 1)])


def format_family(family: Metric) -> bytes:
    """A family in Prometheus's text format."""
    return generate_latest(_One(family))


class _One(Collector):
    """One family, as a separate registry."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def histograms(
    name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], Histogram]]
) -> HistogramMetricFamily:
    """Durations in seconds, by labels."""
    family = HistogramMetricFamily(f"rocketwire_{name}", text, labels=labels)
    for of, histogram in values:
        buckets = list(zip(_BUCKETS, map(float, accumulate(histogram.counts)), strict=True))
        family.add_metric(of, buckets, histogram.seconds)
    return family
