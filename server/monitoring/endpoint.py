"""The monitoring endpoint: one table of routes, one listening socket."""

from __future__ import annotations

import ipaddress
import logging
import socket
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.core.clocks.movable_clock import MovableClock
from rocketwire.server.faults.http import fault_routes
from rocketwire.server.http.messages import HttpRequest, HttpResponse
from rocketwire.server.http.server import HttpServer
from rocketwire.server.monitoring.clock import clock_routes
from rocketwire.server.monitoring.health import Readiness, healthy, listeners_check, store_check, timer_check
from rocketwire.server.monitoring.sources import MonitoringSources
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from rocketwire.server.monitoring.scrape import Scrape

_SCRAPE: Final = "rocketwire.server.monitoring.scrape"

log = logging.getLogger(__name__)


class _Metrics:
    """/metrics. What it imports takes a tenth of a second, and many servers never need it: the first scrape waits."""

    def __init__(self, sources: MonitoringSources) -> None:
        self._sources = sources
        self._scrape: Scrape | None = None

    async def show(self, request: HttpRequest) -> HttpResponse:
        if self._scrape is None:
            # In a thread, so that clients of the broker do not wait, too.
            module = await trio.to_thread.run_sync(import_module, _SCRAPE)
        if self._scrape is None:  # else another request was faster
            self._scrape = module.Scrape(self._sources)
        return await self._scrape.metrics(request)


class Monitoring:
    """The HTTP endpoint of one process.

    Args:
        sock: The bound socket to listen on.
        sources: What is measured.
        clock: The clock that can be moved, if there is one.
        hosts: Names with a dot by which the port may be called.

    Attributes:
        address: The bound address.
    """

    def __init__(
        self, sock: socket.socket, sources: MonitoringSources, clock: MovableClock | None, *, hosts: frozenset[str]
    ) -> None:
        services = sources.services
        host, port = sock.getsockname()[:2]
        self.address = Address(host=host, port=port)
        readiness = Readiness(
            {
                "listeners": lambda: listeners_check(sources.listeners),
                "store": lambda: store_check(services),
                "timer": lambda: timer_check(services),
            }
        )
        routes = {
            ("GET", "/healthz"): healthy,
            ("GET", "/readyz"): readiness.ready,
            ("GET", "/metrics"): _Metrics(sources).show,
            **clock_routes(clock),
            **fault_routes(sources.faults),
        }
        self._server = HttpServer(sock, routes, services.clock, most=sources.descriptors.http, hosts=hosts)

    async def run(self) -> None:
        """Serve until cancelled."""
        log.info("HTTP listens on %(address)s", {"address": self.address})
        if not ipaddress.ip_address(self.address.host.partition("%")[0]).is_loopback:
            log.warning(
                "HTTP on %(address)s is open to all who reach it: it knows no passwords", {"address": self.address}
            )
        await self._server.run()
