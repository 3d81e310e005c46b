"""The composition root of a proxy: from its settings to one that stands in front of a cluster."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.access import access_control
from rocketwire.server.acl.access_rules import ACCESS_RULES
from rocketwire.server.announcing import access_lines, front_lines, reachable_address
from rocketwire.server.configuration import LiveConfig, ServerConfig
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
from rocketwire.server.net.listener import bind, listened_address
from rocketwire.server.net.tls.contexts import loaded_contexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.proxy.edge.codes import DecidedCodes, ReadOnly
from rocketwire.server.proxy.edge.held_requests import EdgeAccounts
from rocketwire.server.proxy.edge.usage import UsageMeter
from rocketwire.server.proxy.kernel import KernelRelays, relay_kernel
from rocketwire.server.proxy.name_server import ProxyNameServer
from rocketwire.server.proxy.ports import BrokerPorts
from rocketwire.server.proxy.quotas import ProxyQuotas
from rocketwire.server.proxy.relay import RelayParts
from rocketwire.server.proxy.relayed_ports import ProxyListeners, RelayedPorts
from rocketwire.server.proxy.reloading import ConfigurationReloader
from rocketwire.server.proxy.settings import ProxySettings
from rocketwire.server.proxy.shadow import shadow_of
from rocketwire.server.proxy.times import RelayHistograms
from rocketwire.server.proxy.tunnels import RelayCounts
from rocketwire.server.remote_calls.broker_requests import AnswerChecks
from rocketwire.server.remote_calls.front import remote_grpc_server
from rocketwire.server.remote_calls.message_places import MessagePlaces
from rocketwire.server.remote_calls.queries import RemoteQueries
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.throttle.keys import ThrottleKeys
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.transactions.check_permission import MayCheck, allow_every_producer
from rocketwire.server.upstream.cluster import MASTER, MOST_BROKERS, BrokerKey, UpstreamCluster
from rocketwire.server.upstream.connecting import SelfConnectGuard
from rocketwire.server.upstream.connection_pool import ConnectionPool
from rocketwire.server.upstream.keys import UpstreamKeys
from rocketwire.server.upstream.proxy_loops import ProxyLoopGuard
from rocketwire.server.upstream.resolving import Resolver
from rocketwire.server.upstream.signing import UpstreamAccount
from rocketwire.server.upstream.tls import DESCRIPTORS, TlsConnector, upstream_context
from rocketwire.store.disk.files import FileSystem
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
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
        http: Where metrics and health are served; None: nowhere.
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
        """The lines for people."""
        settings, listened = self.settings, self.listened
        names, second = (";".join(map(str, each)) for each in (settings.upstream, settings.shadow))
        return [
            f"rocketwire proxy ready: {listened} in front of the name servers {names}",
            f'  Java:  producer.setNamesrvAddr("{reachable_address(listened)}");',
            *front_lines(self.grpc, self.http),
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
    """Serve as the proxy of the cluster until cancelled; `ready` is called once all listen.

    Raises:
        AddressInUse: a port of the proxy's own cannot be had.
        ConfigError: the accounts' file or the proxy's own account cannot be used.
        DescriptorsTooFew: the process may open too few files.
        TlsInvalid: TLS cannot be had as it is configured.
    """
    with contextlib.ExitStack() as stack:
        proxy = _Proxy(settings, clock, choose, run_sync)
        await proxy.run(stack, ready)


class _Network:
    """What connections of clients and connections to the cluster share."""

    def __init__(self, config: ServerConfig, live: LiveConfig) -> None:
        self.metrics = Metrics()
        self.descriptors = divide_descriptors(http=config.http is not None)
        most = self.descriptors.connections.most
        self.most_brokers = max(1, min(MOST_BROKERS, most // _PART_FOR_PORTS // _OF_A_BROKER))
        self.in_flight = InFlight(Limits(live[LimitKeys], self.metrics))
        # Each connection of a client has one to its broker.
        context = upstream_context(config.upstream)
        each = 1 if context is None else DESCRIPTORS
        self.connections = DescriptorBudget((most - _OF_A_BROKER * self.most_brokers) // (1 + each))
        self.admission = Admission(self.in_flight, self.connections, self.descriptors.linger_budget)
        self.resolver = Resolver()
        self.own = SelfConnectGuard(self.resolver.connect_resolved())
        plain = self.own.connect
        self.connecting = plain if context is None else TlsConnector(context, self.in_flight, plain).connect


class _Upstream:
    """The cluster behind the proxy."""

    def __init__(self, settings: ProxySettings, live: LiveConfig, network: _Network, run_sync: RunSync) -> None:
        config = settings.base
        self.account = UpstreamAccount(live[UpstreamKeys], ACCESS_RULES)
        live.changed.subscribe(self.account.changed)
        timed = config.http is not None and config.upstream.request_times
        self.times = RelayHistograms(trio.current_time) if timed else None
        took = None if self.times is None else self.times.upstream_answered
        self.rings = ProxyLoopGuard(token_hex(8), network.connecting)
        self.pool = ConnectionPool(
            network.connecting, self.account.signed, took, lambda: self.account.active, network.connections
        )
        self.cluster = UpstreamCluster(
            settings.upstream,
            self.pool,
            limits=network.in_flight.limits,
            most=network.most_brokers,
            run_sync=run_sync,
            remark=self.rings.add_own_mark(),
        )


class _Edge:
    """What decides about requests: the proxy's own accounts, quotas, and whether anything may be changed."""

    def __init__(
        self, settings: ProxySettings, live: LiveConfig, clock: Clock, metrics: Metrics, upstream: _Upstream
    ) -> None:
        config = settings.base
        self.access = access_control(config, live, clock, metrics, owner_at=None)
        self.places = None if self.access is None else MessagePlaces(self.access, upstream.pool)
        self.throttle = Throttle(live[ThrottleKeys], {}, metrics, region=config.broker.region_id)
        live.changed.subscribe(self.throttle.changed)
        self.quotas = ProxyQuotas(self.throttle, accounts=self.access is not None)
        deciding: tuple[RequestGuard, ...] = (
            *(() if self.access is None else (self.access, DecidedCodes(metrics))),
            *((ReadOnly(),) if settings.read_only else ()),
            self.quotas,
        )
        self.usage = UsageMeter(
            lambda: upstream.account.active or any(each.active for each in deciding),
            accounts=self.access is not None,
        )
        self.guards = (*deciding, self.usage)

    @property
    def may_receive(self) -> MayCheck:
        """Decides whether a producer may receive the messages of a topic."""
        return allow_every_producer if self.access is None else self.access.may_receive_as_producer

    def accounts(self, pool: ConnectionPool) -> EdgeAccounts | None:
        """Fetches what requests of clients with accounts are decided by; None: there are no accounts."""
        if self.access is None or self.places is None:
            return None
        return EdgeAccounts(self.access, self.places, RemoteQueries(pool))


class _Proxy:
    """A proxy: what it is made of, and how its parts run."""

    def __init__(self, settings: ProxySettings, clock: Clock, choose: Callable[[int], int], run_sync: RunSync) -> None:
        config = settings.base
        live = LiveConfig(config, clock)
        self._settings = settings
        self._clock = clock
        self._run_sync = run_sync
        network = self._network = _Network(config, live)
        upstream = self._upstream = _Upstream(settings, live, network, run_sync)
        edge = self._edge = _Edge(settings, live, clock, network.metrics, upstream)
        tls = loaded_contexts(config.tls, clock=clock, run_sync=run_sync)
        faults = allowed_faults(config.faults, choose, network.metrics)
        self._listeners = ProxyListeners(network.own, network.admission, TlsGate(tls, network.in_flight), faults)
        file = settings.file
        self._reloading = (
            None
            if file is None
            else ConfigurationReloader(file, FileSystem(), live, fixed=settings.fixed_keys, run_sync=run_sync)
        )
        self._shadow = shadow_of(
            settings.shadow,
            upstream.pool.with_new_connections(),
            percent=settings.shadow_sample,
            choose=choose,
            limits=network.in_flight.limits,
        )
        kernel = relay_kernel()
        timed = upstream.times is not None
        self._relays = (
            None
            if kernel is None
            else KernelRelays(kernel, network.in_flight, times=timed, shadow=self._shadow, seed=choose(1 << 32))
        )
        self._passed = RelayCounts()
        self._relayed = RelayedPorts(self._listeners, self._relay_parts(), self._relays, host=settings.advertised_host)
        self._front = remote_grpc_server(
            upstream.cluster,
            upstream.pool,
            clock=clock,
            metrics=network.metrics,
            in_flight=network.in_flight,
            works=LongTaskScheduler(run_sync, now=trio.current_time),
            keys=live[GrpcKeys],
            send_keys=live[SendKeys],
            upstream_keys=live[UpstreamKeys],
            guards=[each for each in edge.guards if each.active or file is not None],
            checks=AnswerChecks(
                places=edge.places,
                charge=edge.quotas.charging,
                copy=None if self._shadow is None else self._shadow.around,
            ),
            accounts=edge.access,
            may_receive=edge.may_receive,
            answered=None if upstream.times is None else upstream.times.answered,
            took=None if upstream.times is None else upstream.times.sent,
        )

    def _relay_parts(self) -> RelayParts:
        upstream, edge = self._upstream, self._edge
        return RelayParts(
            cluster=upstream.cluster,
            guards=edge.guards,
            quotas=edge.quotas,
            metrics=self._network.metrics,
            passed=self._passed,
            moved=(lambda _: None) if self._relays is None else self._relays.broker_moved,
            connecting=self._connect_relay,
            rings=upstream.rings,
            known=self._network.resolver.known,
            account=upstream.account,
            accounts=edge.accounts(upstream.pool),
            may_receive=edge.may_receive,
            times=upstream.times,
            shadow=self._shadow,
        )

    async def _connect_relay(self, address: Address, nursery: trio.Nursery) -> socket.socket:
        """Connect to a broker for one client; ids of messages are to have the proxy's address."""
        await self._network.resolver.prepare(self._settings.advertised_host)
        return await self._upstream.rings.connect(address, nursery)

    async def run(self, stack: contextlib.ExitStack, ready: Callable[[ProxyAddresses], None]) -> None:
        """Serve on sockets that the stack closes."""
        settings, network, cluster = self._settings, self._network, self._upstream.cluster
        own = stack.enter_context(bind(settings.listen.host, settings.listen.port, option="--listen"))
        ports = BrokerPorts(
            cluster,
            host=settings.listen.host,
            first=settings.first_port,
            advertised_host=settings.advertised_host,
            listen=self._relayed.serve,
            most=network.most_brokers,
            limits=network.in_flight.limits,
        )
        as_names = ProxyNameServer(
            cluster,
            ports,
            self._upstream.rings,
            guards=self._edge.guards,
            metrics=network.metrics,
            now=trio.current_time,
            times=self._upstream.times,
        )
        # These ports serve both generations of clients: remoting as a name server, and gRPC.
        listeners = [self._listeners.add("name server", own, as_names, http2=self._front)]
        grpc = None
        if settings.grpc is not None:
            grpc = stack.enter_context(bind(settings.grpc.host, settings.grpc.port, option="--grpc"))
            listeners.append(self._listeners.add("gRPC", grpc, as_names, http2=self._front))
        monitoring = self._monitoring(stack)
        async with trio.open_nursery() as nursery:
            self._start_background(nursery)
            await cluster.refresh()
            nursery.start_soon(cluster.run)
            await nursery.start(ports.run)
            nursery.start_soon(self._front.run, BackgroundBudget(network.metrics.requests.total))
            for listener in listeners:
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

    def _start_background(self, nursery: trio.Nursery) -> None:
        faults = self._listeners.faults
        delayed = None if faults is None else faults.delayed
        parts = (self._network.in_flight, self._upstream.pool, self._relays, self._reloading, self._shadow, delayed)
        for each in parts:
            if each is not None:
                nursery.start_soon(each.run)
        if self._edge.access is not None:
            nursery.start_soon(self._edge.access.run, self._run_sync)

    def _monitoring(self, stack: contextlib.ExitStack) -> ProxyMonitoring | None:
        http = self._settings.base.http
        if http is None:
            return None
        # What this imports costs memory and time, for those only who need it.
        from rocketwire.server.proxy.monitoring import ProxyMonitoring, ProxySources  # noqa: PLC0415 - see above

        network, upstream = self._network, self._upstream
        sources = ProxySources(
            clock=self._clock,
            cluster=upstream.cluster,
            connections=self._relayed.connections,
            descriptors=network.descriptors,
            faults=self._listeners.faults,
            in_flight=network.in_flight,
            pool=upstream.pool,
            listeners=self._listeners.by_kind,
            metrics=network.metrics,
            passed=self._passed,
            shadow=self._shadow,
            relays=self._relays,
            throttle=self._edge.throttle,
            times=upstream.times,
            usage=self._edge.usage,
        )
        sock = stack.enter_context(bind(http.host, http.port, option="--http"))
        return ProxyMonitoring(sock, sources, hosts=self._settings.base.http_port.hosts)
