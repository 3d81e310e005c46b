"""/metrics: all metrics, in Prometheus's text format.

Long work is done in slices before and while the text is written; one scrape is made at a time.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence

import trio
from prometheus_client import CollectorRegistry, GCCollector, Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily

from rocketwire.server.http.messages import HttpRequest, HttpResponse
from rocketwire.server.monitoring import groups, quotas, stored, traffic
from rocketwire.server.monitoring.families import CONTENT_TYPE, build_info, format_family
from rocketwire.server.monitoring.groups import ScrapeSlices
from rocketwire.server.monitoring.sources import MonitoringSources


class Scrape:
    """Answers /metrics; its `registry` is its own, so that two servers in a process stay separate."""

    def __init__(self, sources: MonitoringSources) -> None:
        self._sources = sources
        self._progress = groups.LagMeasurement(sources.services)
        self._behind: Sequence[groups.QueueLag] = ()
        self._one_at_a_time = trio.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    async def metrics(self, _: HttpRequest) -> HttpResponse:
        """/metrics."""
        async with self._one_at_a_time:
            slices = ScrapeSlices()
            self._behind = await self._progress.lags(slices)
            parts = []
            for family in self.registry.collect():
                parts.append(format_family(family))
                await slices.pause()
        return HttpResponse(body=b"".join(parts), content_type=CONTENT_TYPE)

    def collect(self) -> Iterator[Metric]:
        """All families, in the form that prometheus_client calls for."""
        of = self._sources
        services = of.services
        for hub in of.hubs:
            of.latencies.take(hub)
        yield build_info()
        yield from traffic.requests(services.metrics, of.latencies)
        yield from traffic.clients(of.listeners, services.long_poll.held, services.pops.held, of.in_flight.total)
        yield from traffic.descriptors(of.descriptors)
        yield from traffic.tls(services.metrics)
        yield from traffic.refusals(services.metrics, 0 if of.faults is None else of.faults.rules.active_rules)
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
