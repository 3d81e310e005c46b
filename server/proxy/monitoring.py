"""The proxy's HTTP resources: /metrics, /healthz, /readyz, /faults."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.faults.faulty import FaultInjection
from rocketwire.server.faults.http import fault_routes
from rocketwire.server.http.messages import HttpRequest, HttpResponse
from rocketwire.server.http.server import HttpServer
from rocketwire.server.monitoring.health import Readiness, healthy, listeners_check
from rocketwire.server.net.admission.descriptors import Descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.listener import Listener
from rocketwire.server.proxy.edge.usage import SEND, UsageMeter
from rocketwire.server.proxy.kernel import KernelRelays
from rocketwire.server.proxy.shadow import ShadowCluster
from rocketwire.server.proxy.times import RelayHistograms
from rocketwire.server.proxy.tunnels import RelayCounts
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.upstream.cluster import BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from prometheus_client import Metric

_FAMILIES: Final = "rocketwire.server.monitoring.families"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySources:
    """What is measured.

    Attributes:
        relays: The connections that the kernel relays; None: it relays none.
        connections: Of each broker the connections to it that clients have.
        pool: The connections that routes and calls share.
        listeners: The listeners by what they are; more may come.
        passed: What sessions passed on.
        shadow: Copies sends to a second cluster; None: there is none.
        throttle: The quotas.
        times: How long requests take; None: it is not measured.
        usage: The use of topics by accounts.
    """

    clock: Clock
    cluster: UpstreamCluster
    connections: Callable[[], Iterable[tuple[BrokerKey, int]]]
    descriptors: Descriptors
    faults: FaultInjection | None
    in_flight: InFlight
    pool: ConnectionPool
    listeners: Mapping[str, Sequence[Listener]]
    metrics: Metrics
    passed: RelayCounts
    relays: KernelRelays | None
    shadow: ShadowCluster | None
    throttle: Throttle
    times: RelayHistograms | None
    usage: UsageMeter


class ProxyMonitoring:
    """The HTTP endpoint of a proxy.

    Args:
        sock: The bound socket to listen on.
        sources: What is measured.
        hosts: Names with a dot by which the port may be called.

    Attributes:
        address: The bound address.
    """

    def __init__(self, sock: socket.socket, sources: ProxySources, *, hosts: frozenset[str]) -> None:
        host, port = sock.getsockname()[:2]
        self.address = Address(host=host, port=port)
        self._sources = sources
        readiness = Readiness(
            {"listeners": lambda: listeners_check(sources.listeners), "name servers": self._name_servers}
        )
        routes = {
            ("GET", "/healthz"): healthy,
            ("GET", "/readyz"): readiness.ready,
            ("GET", "/metrics"): self._metrics,
            **fault_routes(sources.faults),
        }
        self._server = HttpServer(sock, routes, sources.clock, most=sources.descriptors.http, hosts=hosts)

    async def run(self) -> None:
        """Serve until cancelled."""
        await self._server.run()

    def _name_servers(self) -> str | None:
        cluster = self._sources.cluster
        if cluster.brokers:
            return None  # the last routes serve while no name server answers
        return "no broker is known: no name server has listed one"

    async def _metrics(self, _: HttpRequest) -> HttpResponse:
        # In a thread at first: what this imports takes a tenth of a second.
        families = await trio.to_thread.run_sync(import_module, _FAMILIES)
        found = b"".join(families.format_family(each) for each in self._families())
        return HttpResponse(body=found, content_type=families.CONTENT_TYPE)

    def _families(self) -> Iterator[Metric]:
        from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector  # noqa: PLC0415 - see `_metrics`

        from rocketwire.server.monitoring import quotas, traffic  # noqa: PLC0415 - as above
        from rocketwire.server.monitoring.families import build_info, counter, counters, gauge  # noqa: PLC0415 - as above

        of = self._sources
        yield build_info()
        relayed = {} if of.relays is None else of.relays.times()
        yield traffic.requests_by_code(
            Counter(of.metrics.requests) + Counter({code: count for code, (count, _, _) in relayed.items()})
        )
        if of.times is not None:
            yield traffic.durations(
                "request_duration_seconds",
                "From the arrival of a request, or of the read that brought it, to its answer, long polls among them.",
                of.times.requests(relayed),
            )
            yield traffic.durations(
                "upstream_duration_seconds",
                "From a request to a broker or a name server to its answer; the proxy's own requests are among them.",
                of.times.upstream(relayed),
            )
        yield from traffic.descriptors(of.descriptors)
        yield from traffic.tls(of.metrics)
        yield from traffic.refusals(of.metrics, 0 if of.faults is None else of.faults.rules.active_rules)
        yield from quotas.families(of.throttle)
        yield traffic.connections(of.listeners)
        yield traffic.bytes_in_flight(of.in_flight.total + (0 if of.relays is None else of.relays.unsent))
        yield gauge("proxied_brokers", "Brokers that are known, slaves too.", len(of.cluster.brokers))
        yield gauge("name_servers_answer", "Whether a name server answered last time.", float(of.cluster.reached))
        yield from self._upstream()
        yield from self._used()
        if of.shadow is not None:
            yield counter("shadow_sampled", "Sends that were chosen for the second cluster.", of.shadow.sampled)
            yield counters(
                "shadow_sends",
                "Their outcomes: same or different answers, not_compared (one did not answer), dropped (too many "
                "waited).",
                ("outcome",),
                (((name,), count) for name, count in of.shadow.outcomes.items()),
            )
            reached = float(of.shadow.cluster.reached)
            yield gauge("shadow_name_servers_answer", "Whether a name server of it answered last time.", reached)
        process = CollectorRegistry()
        ProcessCollector(registry=process)
        GCCollector(registry=process)
        yield from process.collect()

    def _upstream(self) -> Iterator[Metric]:
        """Connections to brokers, and what passes."""
        from rocketwire.server.monitoring.families import counters, gauge, gauges  # noqa: PLC0415 - as above

        of = self._sources
        yield gauges(
            "upstream_connections",
            "Connections to a broker that clients have.",
            ("broker", "id"),
            (((key.name, str(key.broker_id)), count) for key, count in of.connections()),
        )
        yield gauge("shared_connections", "Connections that routes and calls of 5.x clients share.", of.pool.open)
        passed = of.passed
        frames = {("session", "broker"): passed.up, ("session", "client"): passed.down}
        sizes = {("session", "broker"): passed.up_bytes, ("session", "client"): passed.down_bytes}
        open_now = 0
        if of.relays is not None:
            up, up_bytes, down, down_bytes, open_now, _ = of.relays.counts()
            frames |= {("kernel", "broker"): up, ("kernel", "client"): down}
            sizes |= {("kernel", "broker"): up_bytes, ("kernel", "client"): down_bytes}
        yield counters(
            "relayed_frames",
            "Frames that were passed on; by: kernel or session; to: broker or client.",
            ("by", "to"),
            frames.items(),
        )
        yield counters("relayed_bytes", "Bytes of these frames.", ("by", "to"), sizes.items())
        yield gauge("relayed_connections", "Open connections that the kernel relays.", open_now)

    def _used(self) -> Iterator[Metric]:
        """The use of topics by accounts."""
        from rocketwire.server.monitoring.families import counters  # noqa: PLC0415 - as above

        used = list(self._sources.usage.used())
        labels = ("account", "topic", "kind")
        yield counters(
            "usage_requests",
            "Sends and pulls that were admitted; kind: send or pull.",
            labels,
            ((each[:3], each.requests) for each in used),
        )
        yield counters(
            "usage_bytes",
            "Bytes of the bodies of these sends.",
            labels,
            ((each[:3], each.size) for each in used if each.kind == SEND),
        )
