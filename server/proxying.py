"""The composition root of a proxy: from its settings to one that stands in front of a cluster."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.access import access_control
from rocketwire.server.acl.access_rules import ACCESS_RULES
from rocketwire.server.banner import access_lines, reachable_address
from rocketwire.server.configuration import LiveConfig
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.dispatch.guard import RequestGuard
from rocketwire.server.faults.setup import allowed_faults, banner_lines
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.admission.descriptors import DescriptorBudget, divide_descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.listener import ConnectionTakeover, Http2Server, Listener, bind, listened_address
from rocketwire.server.net.session import Dispatcher, Session
from rocketwire.server.net.tls.contexts import loaded_contexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.proxy.edge.decided_codes import DecidedCodes
from rocketwire.server.proxy.edge.held_requests import EdgeAccounts
from rocketwire.server.proxy.edge.read_only import ReadOnly
from rocketwire.server.proxy.kernel import KernelRelays, PlainPort, relay_kernel
from rocketwire.server.proxy.name_server import ProxyNameServer
from rocketwire.server.proxy.ports import BrokerPorts, PortService
from rocketwire.server.proxy.quotas import ProxyQuotas
from rocketwire.server.proxy.relay import FrameRelay
from rocketwire.server.proxy.reloading import ConfigurationReloader
from rocketwire.server.proxy.settings import ProxySettings
from rocketwire.server.proxy.shadow import shadow_of
from rocketwire.server.proxy.times import RelayHistograms
from rocketwire.server.proxy.tunnels import RelayCounts
from rocketwire.server.proxy.usage import UsageMeter
from rocketwire.server.remote_calls.front import remote_grpc_server
from rocketwire.server.remote_calls.message_places import MessagePlaces
from rocketwire.server.remote_calls.queries import RemoteQueries
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.transactions.check_permission import allow_every_producer
from rocketwire.server.upstream.cluster import MASTER, MOST_BROKERS, BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.server.upstream.proxy_loops import ProxyLoopGuard
from rocketwire.server.upstream.resolving import Resolver
from rocketwire.server.upstream.self_connect import SelfConnectGuard
from rocketwire.server.upstream.signing import UpstreamAccount
from rocketwire.server.upstream.tls import DESCRIPTORS, TlsConnector, upstream_context
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from rocketwire.server.faults.faulty import FrameServer
    from rocketwire.server.proxy.monitoring import ProxyMonitoring


_PART_FOR_PORTS: Final = 4
"""This fraction of all descriptors is for brokers."""
_OF_A_BROKER: Final = 5
"""Descriptors: two ports, what waits for the new connections of each, and a connection that all calls share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyAddresses:
    """A proxy that is ready.

    Attributes:
        settings: Its settings.
        listened: Where it answers as a name server.
        brokers: Its address of each broker.
        grpc: Where clients of 5.x are served; None: nowhere.
        http: Where metrics and health are told; None: nowhere.
    """

    settings: ProxySettings
    listened: Address
    brokers: Mapping[BrokerKey, Address]
    grpc: Address | None
    http: Address | None

    def document(self) -> dict[str, object]:
        """All that a program needs to use it."""
        return {
            "namesrv": str(reachable_address(self.listened)),
            "brokers": {f"{key.name}:{key.broker_id}": str(self.brokers[key]) for key in sorted(self.brokers)},
            "grpc": None if self.grpc is None else str(reachable_address(self.grpc)),
            "http": None if self.http is None else str(reachable_address(self.http)),
        }

    def lines(self) -> list[str]:
        """The lines that tell people so."""
        settings, listened, grpc = self.settings, self.listened, self.grpc
        names, second = (";".join(map(str, each)) for each in (settings.upstream, settings.shadow))
        return [
            f"rocketwire proxy ready: {listened} in front of the name servers {names}",
            f'  Java:  producer.setNamesrvAddr("{reachable_address(listened)}");',
            *(
                []
                if grpc is None
                else [f'  5.x:   ClientConfiguration.newBuilder().setEndpoints("{reachable_address(grpc)}")']
            ),
            *([] if self.http is None else [f"  HTTP:  http://{reachable_address(self.http)}/metrics"]),
            *(f"  {_shown(key)}: {self.brokers[key]}" for key in sorted(self.brokers)),
            *([] if self.brokers else ["  no broker is known yet"]),
            *([f"  shadow: {settings.shadow_sample:g} % of sends go to {second}, too"] if second else []),
            *(["  read only: what changes something is refused"] if settings.read_only else []),
            *access_lines(settings.base, listened),
            "  stop:  Ctrl-C",
            *banner_lines(settings.base.faults),
        ]


def _shown(key: BrokerKey) -> str:
    return f"broker {key.name}" if key.broker_id == MASTER else f"slave {key.broker_id} of {key.name}"


async def serve_proxy(
    settings: ProxySettings,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: RunSync,
    ready: Callable[[ProxyAddresses], None],
) -> None:
    """Stand in front of the cluster until cancelled; `ready` is called once all listen.

    Raises:
        AddressInUse: a port of the proxy's own cannot be had.
        ConfigError: the accounts' file or the proxy's own account cannot be used.
        DescriptorsTooFew: the process may open too few files.
        TlsInvalid: TLS cannot be had as it is configured.
    """
    proxy = _Proxy(settings, clock=clock, choose=choose, run_sync=run_sync)
    with contextlib.ExitStack() as stack:
        await proxy.run(stack, ready)


class _Proxy:
    """The parts of a proxy."""

    def __init__(
        self, settings: ProxySettings, *, clock: Clock, choose: Callable[[int], int], run_sync: RunSync
    ) -> None:
        config = settings.base
        self._settings = settings
        self._clock = clock
        self._run_sync = run_sync
        live = LiveConfig(config, clock)
        self._metrics = Metrics()
        self._descriptors = divide_descriptors(http=config.http is not None)
        most = self._descriptors.connections.most
        self._most_brokers = max(1, min(MOST_BROKERS, most // _PART_FOR_PORTS // _OF_A_BROKER))
        self._in_flight = InFlight(Limits(live[LimitKeys], self._metrics))
        # Each connection of a client has one to its broker.
        context = upstream_context(config.upstream)
        each = 1 if context is None else DESCRIPTORS
        connections = DescriptorBudget((most - _OF_A_BROKER * self._most_brokers) // (1 + each))
        self._admission = Admission(self._in_flight, connections, self._descriptors.linger_budget)
        tls = loaded_contexts(config.tls, clock=clock, run_sync=run_sync)
        self._gate = TlsGate(tls, self._in_flight)
        self._resolver = Resolver()
        self._itself = SelfConnectGuard(self._resolver.connect_resolved())
        plain = self._itself.connect
        self._connecting = plain if context is None else TlsConnector(context, self._in_flight, plain).connect
        self._account = UpstreamAccount(live[UpstreamKeys], ACCESS_RULES)
        live.changed.subscribe(self._account.changed)
        self._times = (
            RelayHistograms(trio.current_time) if config.http is not None and config.upstream.request_times else None
        )
        took = None if self._times is None else self._times.upstream_answered
        self._rings = ProxyLoopGuard(token_hex(8), self._connecting)
        self._lines = ConnectionPool(
            self._connecting, self._account.signed, took, lambda: self._account.active, connections
        )
        self._cluster = UpstreamCluster(
            settings.upstream,
            self._lines,
            limits=self._in_flight.limits,
            most=self._most_brokers,
            run_sync=run_sync,
            remark=self._rings.add_own_mark(),
        )
        self._faults = allowed_faults(config.faults, choose, self._metrics)
        self._access = access_control(config, live, clock, self._metrics, owner_at=None)
        self._places = None if self._access is None else MessagePlaces(self._access, self._lines)
        throttle = Throttle(live[ThrottleKeys], {}, self._metrics, region=config.broker.region_id)
        live.changed.subscribe(throttle.changed)
        self._throttle = throttle
        self._quotas = ProxyQuotas(throttle, accounts=self._access is not None)
        self._reloading = (
            None
            if settings.file is None
            else ConfigurationReloader(
                settings.file, RealFileSystem(), live, fixed=settings.fixed_keys, run_sync=run_sync
            )
        )
        deciding: tuple[RequestGuard, ...] = (
            *(() if self._access is None else (self._access, DecidedCodes(self._metrics))),
            *((ReadOnly(),) if settings.read_only else ()),
            self._quotas,
        )
        self._usage = UsageMeter(
            lambda: self._account.active or any(each.active for each in deciding),
            accounts=self._access is not None,
        )
        self._guards = (*deciding, self._usage)
        self._passed = RelayCounts()
        self._connections: dict[BrokerKey, Callable[[], int]] = {}
        self._shadow = shadow_of(
            settings.shadow,
            self._lines.with_new_connections(),
            percent=settings.shadow_sample,
            choose=choose,
            limits=self._in_flight.limits,
        )
        kernel = relay_kernel()
        self._relays = (
            None
            if kernel is None
            else KernelRelays(
                kernel,
                self._in_flight,
                times=self._times is not None,
                shadow=self._shadow,
                seed=choose(1 << 32),
            )
        )
        self._front = remote_grpc_server(
            self._cluster,
            self._lines,
            clock=clock,
            metrics=self._metrics,
            in_flight=self._in_flight,
            works=LongTaskScheduler(run_sync, now=trio.current_time),
            keys=live[GrpcKeys],
            send_keys=live[SendKeys],
            upstream_keys=live[UpstreamKeys],
            guards=[each for each in self._guards if each.active or settings.file is not None],
            places=self._places,
            identify=None if self._access is None else self._access.identify,
            charging=self._quotas.charging,
            copying=None if self._shadow is None else self._shadow.around,
            may_hear=allow_every_producer if self._access is None else self._access.may_receive_as_producer,
            answered=None if self._times is None else self._times.answered,
            took=None if self._times is None else self._times.sent,
        )
        self._listeners: dict[str, list[Listener]] = {"name server": [], "broker": [], "gRPC": []}

    async def run(self, stack: contextlib.ExitStack, ready: Callable[[ProxyAddresses], None]) -> None:
        """Serve on sockets that the stack closes."""
        settings, cluster = self._settings, self._cluster
        own = stack.enter_context(bind(settings.listen.host, settings.listen.port, option="--listen"))
        ports = BrokerPorts(
            cluster,
            host=settings.listen.host,
            first=settings.first_port,
            advertised_host=settings.advertised_host,
            listen=self._offer,
            most=self._most_brokers,
            limits=self._in_flight.limits,
        )
        as_names = ProxyNameServer(
            cluster,
            ports,
            self._rings,
            guards=self._guards,
            metrics=self._metrics,
            now=trio.current_time,
            times=self._times,
        )
        self._listeners["name server"].append(self._names_listener(own, as_names))
        grpc = None
        if settings.grpc is not None:
            grpc = stack.enter_context(bind(settings.grpc.host, settings.grpc.port, option="--grpc"))
            self._listeners["gRPC"].append(self._names_listener(grpc, as_names))
        monitoring = self._monitoring(stack)
        async with trio.open_nursery() as nursery:
            delayed = None if self._faults is None else self._faults.delayed
            for each in (self._in_flight, self._lines, self._relays, self._reloading, self._shadow, delayed):
                if each is not None:
                    nursery.start_soon(each.run)
            if self._access is not None:
                nursery.start_soon(self._access.run, self._run_sync)
            await cluster.refresh()
            nursery.start_soon(cluster.run)
            await nursery.start(ports.run)
            nursery.start_soon(self._front.run, BackgroundBudget(self._metrics.requests.total))
            for listener in (*self._listeners["name server"], *self._listeners["gRPC"]):
                nursery.start_soon(listener.run)
            if monitoring is not None:
                nursery.start_soon(monitoring.run)
            known = {key: address for key in cluster.brokers if (address := ports.address_of(key)) is not None}
            ready(
                ProxyAddresses(
                    settings=settings,
                    listened=listened_address(own, settings.listen),
                    brokers=known,
                    grpc=None if grpc is None or settings.grpc is None else listened_address(grpc, settings.grpc),
                    http=None if monitoring is None else monitoring.address,
                )
            )

    def _offer(self, key: BrokerKey, sockets: Sequence[socket.socket], nursery: trio.Nursery) -> PortService:
        """Serve the port of a broker."""
        own = Address(host=self._settings.advertised_host, port=sockets[0].getsockname()[1])
        relays, faults = self._relays, self._faults
        relay = FrameRelay(
            key,
            self._cluster,
            own,
            nursery,
            guards=self._guards,
            quotas=self._quotas,
            metrics=self._metrics,
            passed=self._passed,
            now=trio.current_time,
            moved=(lambda _: None) if relays is None else relays.broker_moved,
            connecting=self._connect_relay,
            rings=self._rings,
            known=self._resolver.known,
            account=self._account,
            accounts=self._edge_accounts(),
            may_hear=allow_every_producer if self._access is None else self._access.may_receive_as_producer,
            times=self._times,
            shadow=self._shadow,
        )

        def plain() -> bool:
            return relay.plain and (faults is None or not faults.rules.active)

        def connecting(address: Address) -> Awaitable[socket.socket]:
            return self._connect_relay(address, nursery)

        early = (
            None
            if relays is None
            else PlainPort(
                relays,
                plain,
                where=lambda: relay.target,
                relocation=relay.relocation,
                adopt=relay.adopt,
                connecting=connecting,
                copied=relay.copied,
            )
        )

        def connections() -> int:
            return relay.tunnels + (0 if relays is None or early is None else relays.of(early))

        self._connections[key] = connections
        listeners = [self._listener(sock, relay, relay.peer_closed, "broker", early) for sock in sockets]
        self._listeners["broker"] += listeners
        for listener in listeners:
            nursery.start_soon(listener.run)
        numbers = {self._itself.listens(sock) for sock in sockets}

        def end() -> None:
            relay.end()
            self._itself.closes(numbers)
            if self._connections.get(key) is connections:
                del self._connections[key]
            for listener in listeners:
                self._listeners["broker"].remove(listener)

        return PortService(connections, end)

    def _edge_accounts(self) -> EdgeAccounts | None:
        if self._access is None or self._places is None:
            return None
        return EdgeAccounts(self._access, self._places, RemoteQueries(self._lines))

    async def _connect_relay(self, address: Address, nursery: trio.Nursery) -> socket.socket:
        """Connect to a broker for one client; ids of messages are to have the proxy's address."""
        await self._resolver.prepare(self._settings.advertised_host)
        return await self._rings.connect(address, nursery)

    def _names_listener(self, sock: socket.socket, frames: ProxyNameServer) -> Listener:
        """Serve both generations of clients: remoting as a name server, and gRPC."""
        return self._listener(sock, frames, lambda _: None, "namesrv", http2=self._front)

    def _listener(
        self,
        sock: socket.socket,
        frames: FrameServer,
        on_close: Callable[[Session], None],
        name: str,
        early: ConnectionTakeover | None = None,
        http2: Http2Server | None = None,
    ) -> Listener:
        self._itself.listens(sock)
        served: Dispatcher = frames
        if self._faults is not None:
            served, on_close = self._faults.wrap_frames(frames, on_close, name)
        return Listener(sock, served, on_close, admission=self._admission, tls=self._gate, early=early, http2=http2)

    def _monitoring(self, stack: contextlib.ExitStack) -> ProxyMonitoring | None:
        http = self._settings.base.http
        if http is None:
            return None
        # What this imports costs memory and time, for those only who need it.
        from rocketwire.server.proxy.monitoring import ProxyMonitoring, ProxySources  # noqa: PLC0415 - see above

        sources = ProxySources(
            clock=self._clock,
            cluster=self._cluster,
            connections=lambda: ((key, count()) for key, count in self._connections.items()),
            descriptors=self._descriptors,
            faults=self._faults,
            in_flight=self._in_flight,
            lines=self._lines,
            listeners=self._listeners,
            metrics=self._metrics,
            passed=self._passed,
            shadow=self._shadow,
            relays=self._relays,
            throttle=self._throttle,
            times=self._times,
            usage=self._usage,
        )
        sock = stack.enter_context(bind(http.host, http.port, option="--http"))
        return ProxyMonitoring(sock, sources, hosts=self._settings.base.http_port.hosts)
