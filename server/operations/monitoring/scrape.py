"""/metrics: all metrics, in Prometheus's text format.

Long work is done in slices before and while the text is written; one scrape is made at a time.
"""

from __future__ import annotations

import platform
import resource
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import trio
from prometheus_client import CollectorRegistry, GCCollector, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from rocketwire import __version__, native
from rocketwire.server.operations.http.messages import HttpRequest, HttpResponse
from rocketwire.server.operations.monitoring import groups, quotas, stored, traffic
from rocketwire.server.operations.monitoring.families import gauges
from rocketwire.server.operations.monitoring.slices import Slices
from rocketwire.server.operations.monitoring.sources import Sources

_BUILD: Final = {
    "version": __version__,
    "kernel": "python" if native.kernel is None else "native",
    "python": platform.python_version(),
}


class Scrape:
    """Answers /metrics; its `registry` is its own, so that two servers in a process stay separate."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._progress = groups.Progress(sources.services)
        self._behind: Sequence[groups.Behind] = ()
        self._one_at_a_time = trio.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    async def metrics(self, _: HttpRequest) -> HttpResponse:
        """/metrics."""
        async with self._one_at_a_time:
            slices = Slices()
            self._behind = await self._progress.behind(slices)
            parts = []
            for family in self.registry.collect():
                parts.append(generate_latest(_One(family)))
                await slices.pause()
        return HttpResponse(body=b"".join(parts), content_type=CONTENT_TYPE_PLAIN_0_0_4)

    def collect(self) -> Iterator[Metric]:
        """All families, in the form that prometheus_client calls for."""
        of = self._sources
        services = of.services
        for hub in of.hubs:
            of.latencies.take(hub)
        yield gauges("build_info", "Always 1; the labels say what runs.", tuple(_BUILD), [(tuple(_BUILD.values()), 1)])
        yield from traffic.requests(services.metrics, of.latencies)
        yield from traffic.clients(of.listeners, services.long_poll.held, services.pops.held, of.in_flight.total)
        yield from traffic.descriptors(of.descriptors)
        yield from traffic.tls(services.metrics)
        yield from traffic.refusals(services.metrics, 0 if of.faults is None else of.faults.rules.in_force)
        yield from quotas.families(services.throttle)
        yield from groups.families(self._behind)
        yield from stored.store(services)
        if services.timer is not None:
            yield from stored.timer(services.timer)
        if services.pops.reviver is not None:
            yield from stored.pop(services.pops.reviver)
        yield from stored.delay(of.delays)
        yield from stored.transactions(services.transactions.state, services.store, services.clock)
        yield CounterMetricFamily(
            "process_major_page_faults",
            "Page faults that waited for the disk.",
            value=resource.getrusage(resource.RUSAGE_SELF).ru_majflt,
        )


class _One(Collector):
    """One family, as a registry of its own."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)
