"""The composition root of a server with several brokers: a name server here, and a process for each broker."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.announcing import ServerAddresses, access_lines, front_lines, reachable_address
from rocketwire.server.configuration import ServerConfig
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.faults.setup import banner_lines
from rocketwire.server.monitoring.health import healthy
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.listener import bind
from rocketwire.server.serving import serve_name_server
from rocketwire.server.supervisor.broker_process import BrokerCommand
from rocketwire.server.supervisor.supervisor import Supervisor
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from rocketwire.server.http.server import HttpServer

_REGISTERED_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """A server with several brokers.

    Attributes:
        base: Of the name server, and of the process.
        commands: How each broker is started.
        environment: The variables of the brokers' processes.
    """

    base: ServerConfig
    commands: Sequence[BrokerCommand]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersAddresses:
    """A server whose brokers are all ready.

    Attributes:
        config: Its configuration.
        name_server: Where its name server listens.
        brokers: The address of each broker for clients.
        grpc: The separate port for clients of 5.x; None: there is none.
        http: Where metrics and health are served; None: nowhere.
    """

    config: ServerConfig
    name_server: Address
    brokers: Mapping[str, str]
    grpc: Address | None
    http: Address | None

    def document(self) -> dict[str, object]:
        """All that a program needs to use it."""
        return {
            "namesrv": str(reachable_address(self.name_server)),
            "brokers": self.brokers,
            "http": None if self.http is None else str(reachable_address(self.http)),
            "grpc": None if self.grpc is None else str(self.grpc),
            "store": str(self.config.store.folder.absolute()),
        }

    def lines(self) -> list[str]:
        """The lines for people."""
        folder = self.config.store.folder
        return [
            f"rocketwire ready: name server {self.name_server}, {len(self.brokers)} brokers, stores in {folder}",
            f'  Java:  producer.setNamesrvAddr("{reachable_address(self.name_server)}");',
            *front_lines(self.grpc, self.http),
            *(f"  {name}: {address}" for name, address in self.brokers.items()),
            *access_lines(self.config, self.name_server),
            "  stop:  Ctrl-C",
            *banner_lines(self.config.faults),
        ]


async def serve_brokers(
    settings: ServerSettings,
    *,
    clock: Clock,
    run_sync: RunSync,
    ready: Callable[[BrokersAddresses], None],
) -> None:
    """Serve until cancelled; `ready` is called once all brokers are ready.

    Raises:
        AddressInUse, DescriptorsTooFew, TlsInvalid: as with `serve_name_server`.
        BrokerNotStarted: a broker ended before it was ready.
    """
    config, metrics, routes = settings.base, Metrics(), RouteTable()
    with contextlib.ExitStack() as stack:
        http = None if config.http is None else bind(config.http.host, config.http.port, option="--http")
        if http is not None:
            stack.enter_context(http)
        async with trio.open_nursery() as nursery:
            until_brokers_stopped = trio.CancelScope(shield=True)

            async def serve_names(*, task_status: trio.TaskStatus[ServerAddresses]) -> None:
                with until_brokers_stopped:
                    await serve_name_server(
                        config,
                        clock=clock,
                        run_sync=run_sync,
                        metrics=metrics,
                        routes=routes,
                        ready=task_status.started,
                    )

            addresses: ServerAddresses = await nursery.start(serve_names)
            name_server = addresses.name_server
            assert name_server is not None  # noqa: S101 - it is ready
            try:
                supervisor = Supervisor(settings.commands, reachable_address(name_server), settings.environment)
                async with trio.open_nursery() as brokers:
                    await brokers.start(supervisor.run)
                    await _registered(supervisor, routes)
                    address = None
                    if http is not None:
                        host, port = http.getsockname()[:2]
                        address = Address(host=host, port=port)
                        brokers.start_soon(_http_server(http, supervisor, metrics, clock, config).run)
                    ready(_addresses(config, name_server, supervisor, address))
            finally:
                until_brokers_stopped.cancel()


async def _registered(supervisor: Supervisor, routes: RouteTable) -> None:
    """Wait until clients find all brokers that run."""

    def missing() -> set[str]:
        running = {broker.name for broker in supervisor.brokers if broker.running is not None}
        return running - routes.clusters().broker_addr_table.keys()

    while missing():  # noqa: ASYNC110 - once, at the start
        await trio.sleep(_REGISTERED_SECONDS)


def _addresses(
    config: ServerConfig, name_server: Address, supervisor: Supervisor, http: Address | None
) -> BrokersAddresses:
    running = {broker.name: broker.running for broker in supervisor.brokers if broker.running is not None}
    return BrokersAddresses(
        config=config,
        name_server=name_server,
        brokers={name: str(each.address) for name, each in running.items()},
        grpc=next((each.grpc for each in running.values() if each.grpc is not None), None),
        http=http,
    )


def _http_server(
    sock: socket.socket, supervisor: Supervisor, metrics: Metrics, clock: Clock, config: ServerConfig
) -> HttpServer:
    # What these import costs memory and time, for those only who use it.
    from rocketwire.server.http.server import HttpServer  # noqa: PLC0415 - see above
    from rocketwire.server.supervisor.summed_metrics import SummedMonitoring  # noqa: PLC0415 - see above

    monitoring = SummedMonitoring(supervisor.brokers, metrics)
    routes = {
        ("GET", "/healthz"): healthy,
        ("GET", "/readyz"): monitoring.show_ready,
        ("GET", "/metrics"): monitoring.show_metrics,
    }
    return HttpServer(sock, routes, clock, hosts=config.http_port.hosts)
