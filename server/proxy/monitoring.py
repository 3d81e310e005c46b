"""What a proxy tells over HTTP: /metrics, /healthz, /readyz, /faults."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.net.admission.descriptors import Descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.listener import Listener
from rocketwire.server.operations.faults.faulty import Faults
from rocketwire.server.operations.faults.http import fault_routes
from rocketwire.server.operations.http.messages import HttpRequest, HttpResponse
from rocketwire.server.operations.http.server import HttpServer
from rocketwire.server.operations.monitoring.health import Readiness, healthy, listeners_check
from rocketwire.server.upstream.cluster import Cluster
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from prometheus_client import Metric

_FAMILIES: Final = "rocketwire.server.operations.monitoring.families"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is measured.

    Attributes:
        relayed: Of the connections that the kernel relays frames and bytes to brokers, frames and bytes to clients, and
            how many are open; None: it relays none.
        listeners: The listeners by what they are; more may come.
    """

    clock: Clock
    cluster: Cluster
    descriptors: Descriptors
    faults: Faults | None
    in_flight: InFlight
    listeners: Mapping[str, Sequence[Listener]]
    metrics: Metrics
    relayed: Callable[[], tuple[int, int, int, int, int]] | None


class ProxyMonitoring:
    """The HTTP endpoint of a proxy.

    Args:
        sock: The bound socket to listen on.
        sources: What is measured.

    Attributes:
        address: The bound address.
    """

    def __init__(self, sock: socket.socket, sources: Sources) -> None:
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
        self._server = HttpServer(sock, routes, sources.clock, most=sources.descriptors.http)

    async def run(self) -> None:
        """Serve until cancelled."""
        await self._server.run()

    def _name_servers(self) -> str | None:
        cluster = self._sources.cluster
        if cluster.brokers:
            return None  # the last routes serve while no name server answers
        return "no broker is known: no name server has told of one"

    async def _metrics(self, _: HttpRequest) -> HttpResponse:
        # In a thread at first: what this imports takes a tenth of a second.
        families = await trio.to_thread.run_sync(import_module, _FAMILIES)
        found = b"".join(families.written(each) for each in self._families())
        return HttpResponse(body=found, content_type=families.CONTENT_TYPE)

    def _families(self) -> Iterator[Metric]:
        from rocketwire.server.operations.monitoring import traffic  # noqa: PLC0415 - it imports prometheus_client
        from rocketwire.server.operations.monitoring.families import build_info, counters, gauge  # noqa: PLC0415 - as above

        of = self._sources
        yield build_info()
        yield traffic.requests_by_code(of.metrics)
        yield from traffic.descriptors(of.descriptors)
        yield from traffic.tls(of.metrics)
        yield from traffic.refusals(of.metrics, 0 if of.faults is None else of.faults.rules.in_force)
        yield traffic.connections(of.listeners)
        yield traffic.bytes_in_flight(of.in_flight.total)
        yield gauge("proxied_brokers", "Brokers that are known, slaves too.", len(of.cluster.brokers))
        yield gauge("name_servers_answer", "Whether a name server answered last time.", float(of.cluster.reached))
        if of.relayed is not None:
            up, up_bytes, down, down_bytes, open_now = of.relayed()
            yield counters(
                "relayed_frames",
                "Frames that the kernel relayed, which are not among the requests.",
                ("to",),
                [(("broker",), up), (("client",), down)],
            )
            yield counters(
                "relayed_bytes", "Bytes of these frames.", ("to",), [(("broker",), up_bytes), (("client",), down_bytes)]
            )
            yield gauge("relayed_connections", "Open connections that the kernel relays.", open_now)
