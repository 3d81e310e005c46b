"""The composition root: from a configuration to a running name server and broker.

Everything that is shared is made here and handed on; nothing in the server package looks for its collaborators.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import trio

from rocketwire.server.broker import Broker
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import NAME_SERVER, LiveConfig, ServerConfig
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.due_time import DueTime
from rocketwire.server.core.clocks.movable_clock import MovableClock
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.faults.setup import DispatcherWrapper, allowed_faults, without_faults
from rocketwire.server.grpc.front import GrpcServer
from rocketwire.server.grpc.keys import DEFAULT_ADDRESS
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.monitoring.latencies import Latencies, timed
from rocketwire.server.name_server.advertised import Advertising
from rocketwire.server.name_server.config import NameServerConfig
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.admission.descriptors import Descriptors, divide_descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.net.listener import AddressInUse, Listener, bind, listened_address
from rocketwire.server.net.tls.contexts import TlsContexts, loaded_contexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.registry import broker_families, front_parts, grpc_families, name_server_families
from rocketwire.store.append.group_commit import RunBlocking
from rocketwire.store.tables.key_values import KeyValueFile
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from rocketwire.server.faults.faulty import FaultInjection
    from rocketwire.server.monitoring.endpoint import Monitoring

log = logging.getLogger(__name__)

Ready: TypeAlias = Callable[[Address | None, Address, Address | None, Address | None], None]
"""Told the addresses of name server, broker, HTTP and gRPC; None: there is none."""

_VIP_PORT_BELOW: Final = 2
_FREE_PAIR_ATTEMPTS: Final = 20
"""How many free ports are tried (port 0) until the one two below is free as well."""


async def serve(
    config: ServerConfig,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: RunSync,
    run_flush: RunBlocking | None = None,
    ready: Ready,
) -> None:
    """Serve until cancelled. `ready` is told the addresses clients use once all listen.

    Flushes that somebody waits for go to `run_flush`, other blocking calls to `run_sync`, which takes both without it.

    Raises:
        AddressInUse: a port cannot be had.
        ConfigError: the accounts' file cannot be used.
        DescriptorsTooFew: the process may open too few files.
        HostUnknown: the host to tell clients of has no address.
        OSError: the file of the movable clock cannot be read.
        StoreError: the store directory cannot be used.
        TlsInvalid: TLS cannot be had as it is configured.
    """
    movable = _movable(clock, config)
    tls = loaded_contexts(config.tls, clock=clock, run_sync=run_sync)
    with contextlib.ExitStack() as sockets:
        await _serve_on(
            _bind_all(config, sockets),
            config,
            tls,
            divide_descriptors(http=config.http is not None),
            clock=movable or clock,
            movable=movable,
            choose=choose,
            run_sync=run_sync,
            run_flush=run_flush or run_sync,
            ready=ready,
        )


async def serve_name_server(
    config: ServerConfig, *, clock: Clock, run_sync: RunSync, ready: Callable[[Address], None]
) -> None:
    """Serve as a name server alone until cancelled; `ready` is told its address once it listens.

    Raises:
        AddressInUse, DescriptorsTooFew, TlsInvalid: as with `serve`.
    """
    contexts = loaded_contexts(config.tls, clock=clock, run_sync=run_sync)
    metrics, descriptors = Metrics(), divide_descriptors(http=False)
    in_flight = InFlight(Limits(LiveConfig(config, clock)[LimitKeys], metrics))
    routes = RouteTable()
    address = config.name_server or NAME_SERVER
    with bind(address.host, address.port, option="--namesrv") as sock:
        with contextlib.suppress(OSError):  # without it values are refused, and nothing else needs it
            config.store.folder.mkdir(parents=True, exist_ok=True)
        name_server = _name_server(
            sock,
            config,
            routes,
            admission=Admission(in_flight, descriptors.connections, descriptors.linger_budget),
            tls=TlsGate(contexts, in_flight),
            in_flight=in_flight,
            clock=clock,
            wrap_dispatcher=without_faults,
            metrics=metrics,
            latencies=None,
            works=LongTaskScheduler(run_sync, now=trio.current_time),
            run_sync=run_sync,
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(in_flight.run)
            nursery.start_soon(routes.run, BackgroundBudget(metrics.requests.total))
            name_server.start(nursery)
            ready(listened_address(sock, address))


class _Sockets(NamedTuple):
    """What is listened on."""

    name_server: socket.socket | None
    broker: list[socket.socket]
    http: socket.socket | None
    grpc: socket.socket | None


def _bind_all(config: ServerConfig, sockets: contextlib.ExitStack) -> _Sockets:
    def listen(address: Address, option: str) -> socket.socket:
        return sockets.enter_context(bind(address.host, address.port, option=option))

    name_server = None if config.name_server is None else listen(config.name_server, "--namesrv")
    broker = [sockets.enter_context(sock) for sock in _bind_broker(config.broker)]
    http = None if config.http is None else listen(config.http, "--http")
    if config.grpc.address is not None:
        return _Sockets(name_server, broker, http, listen(config.grpc.address, "--grpc"))
    grpc = None
    if config.grpc.automatic:
        try:
            grpc = listen(DEFAULT_ADDRESS, "--grpc")
        except AddressInUse as error:
            log.warning(
                "5.x clients are served on the broker's port only: %(reason)s; --grpc names another",
                {"reason": error},
            )
    return _Sockets(name_server, broker, http, grpc)


def _movable(clock: Clock, config: ServerConfig) -> MovableClock | None:
    """The clock that the configuration allows to be moved, None if it does not; the caller may have made it."""
    if not config.clock.movable_clock:
        return None
    if isinstance(clock, MovableClock):
        return clock
    return MovableClock(clock, config.store.folder / "config" / "movableClock.json")


async def _serve_on(
    sockets: _Sockets,
    config: ServerConfig,
    tls_contexts: TlsContexts,
    descriptors: Descriptors,
    *,
    clock: Clock,
    movable: MovableClock | None,
    choose: Callable[[int], int],
    run_sync: RunSync,
    run_flush: RunBlocking,
    ready: Ready,
) -> None:
    port = sockets.broker[0].getsockname()[1]
    advertised = Address(host=config.broker.advertised_host, port=config.advertised_port or port)
    metrics = Metrics()
    latencies = None if sockets.http is None else Latencies()
    networks = config.advertised_networks
    routes = RouteTable(Advertising(networks, registered=advertised, listen_port=port) if networks else None)
    broker = Broker(
        config,
        advertised=advertised,
        routes=routes,
        metrics=metrics,
        clock=clock,
        due_time=DueTime() if movable is None else movable.due_time(),
        choose=choose,
        run_sync=run_sync,
        run_flush=run_flush,
    )
    try:
        admission = Admission(broker.in_flight, descriptors.connections, descriptors.linger_budget)
        tls = TlsGate(tls_contexts, broker.in_flight)
        faults = allowed_faults(config.faults, choose, metrics)
        wrap_dispatcher = without_faults if faults is None else faults.wrap_dispatcher
        works = LongTaskScheduler(run_sync, now=trio.current_time)
        name_server = None
        if sockets.name_server is not None:
            name_server = _name_server(
                sockets.name_server,
                config,
                routes,
                admission=admission,
                tls=tls,
                in_flight=broker.in_flight,
                clock=clock,
                wrap_dispatcher=wrap_dispatcher,
                metrics=metrics,
                latencies=latencies,
                works=works,
                run_sync=run_sync,
            )
        dispatcher, peer_closed = wrap_dispatcher(
            FrameDispatcher(
                (*broker_families(broker), *grpc_families(broker)),
                metrics=metrics,
                storing=broker.storing,
                after_answers=broker.wake,
                guards=() if broker.access is None else (broker.access,),
                works=works,
                now=trio.current_time,
                meet=broker.store.on_store_error,
            ),
            broker.peer_closed,
            "broker",
        )
        hub = broker.make_hub(lambda: dispatcher.guarded)
        served_by = timed(dispatcher, metrics, latencies)
        front = GrpcServer(
            front_parts(broker),
            served_by,
            peer_closed=broker.peer_closed,
            line_closed=faults.delayed.peer_closed if faults is not None else lambda _: None,
            guarded=broker.access is not None,
            identify=None if broker.access is None else broker.access.identify,
            kernel_guarded=lambda: dispatcher.guarded,
            note=None if latencies is None else latencies.note,
            in_flight=broker.in_flight,
            works=works,
        )
        listeners = [
            Listener(sock, served_by, peer_closed, admission=admission, tls=tls, hub=hub, http2=front)
            for sock in (*sockets.broker, *(() if sockets.grpc is None else (sockets.grpc,)))
        ]
        monitoring = None
        if sockets.http is not None and latencies is not None:
            of_name_server = () if name_server is None else (name_server.listener,)
            told = {"name server": of_name_server, "broker": tuple(listeners)}
            hubs = [each for each in (hub, None if name_server is None else name_server.hub) if each is not None]
            hosts = config.http_port.hosts
            monitoring = _monitoring(sockets.http, broker, told, hubs, latencies, faults, descriptors, movable, hosts)
        async with trio.open_nursery() as nursery:
            broker.start(nursery)
            if faults is not None:
                nursery.start_soon(faults.delayed.run)
            if name_server is not None:
                name_server.start(nursery)
            if routes is not None:
                nursery.start_soon(routes.run, broker.background)
            for each in (hub, *listeners):
                if each is not None:
                    nursery.start_soon(each.run)
            nursery.start_soon(front.run, broker.background)
            _tell(sockets, descriptors)
            if monitoring is not None:
                nursery.start_soon(monitoring.run)
            ready(
                None
                if sockets.name_server is None
                else listened_address(sockets.name_server, config.name_server or NAME_SERVER),
                advertised,
                None if monitoring is None else monitoring.address,
                None
                if sockets.grpc is None
                else listened_address(sockets.grpc, config.grpc.address or DEFAULT_ADDRESS),
            )
    finally:
        broker.close()
        log.info(
            "stopped: %(messages_in)d messages in, %(messages_out)d out",
            {"messages_in": metrics.messages_in, "messages_out": metrics.messages_out},
        )


class _NameServer(NamedTuple):
    """The name server of this process."""

    listener: Listener
    hub: Hub | None
    key_values: KeyValueConfig

    def start(self, nursery: trio.Nursery) -> None:
        """Start its tasks."""
        for each in (self.key_values, self.hub, self.listener):
            if each is not None:
                nursery.start_soon(each.run)


def _name_server(
    sock: socket.socket,
    config: ServerConfig,
    routes: RouteTable,
    *,
    admission: Admission,
    tls: TlsGate,
    in_flight: InFlight,
    clock: Clock,
    wrap_dispatcher: DispatcherWrapper,
    metrics: Metrics,
    latencies: Latencies | None,
    works: LongTaskScheduler,
    run_sync: RunSync,
) -> _NameServer:
    folder = config.store.folder.absolute()
    key_values = KeyValueConfig(KeyValueFile(config.store.folder / "config" / "kvConfig.json"), run_sync)
    own = NameServerConfig(
        rocketmqHome=str(folder),
        kvConfigPath=str(folder / "config" / "kvConfig.json"),
        configStorePath=str(folder / "config" / "namesrv.properties"),
        listenPort=str(sock.getsockname()[1]),
    )
    families = name_server_families(routes, key_values, admission.limits, own)
    kernel = hub_kernel()
    hub = None if kernel is None else Hub(kernel, clock=clock, in_flight=in_flight)
    front, closed = wrap_dispatcher(
        FrameDispatcher(families, metrics=metrics, works=works, now=trio.current_time), routes.peer_closed, "namesrv"
    )
    served_by = timed(front, metrics, latencies)
    return _NameServer(Listener(sock, served_by, closed, admission=admission, tls=tls, hub=hub), hub, key_values)


def _tell(sockets: _Sockets, descriptors: Descriptors) -> None:
    descriptors.log_shares()
    listens = (
        ("name server", sockets.name_server),
        *(("broker", sock) for sock in sockets.broker),
        ("gRPC", sockets.grpc),
    )
    for what, sock in listens:
        if sock is None:
            continue
        host, port = sock.getsockname()[:2]  # of a name with several addresses, the one taken
        log.info("%(what)s listens on %(address)s", {"what": what, "address": Address(host=host, port=port)})


def _monitoring(
    sock: socket.socket,
    broker: Broker,
    listeners: Mapping[str, Sequence[Listener]],
    hubs: Sequence[Hub],
    latencies: Latencies,
    faults: FaultInjection | None,
    descriptors: Descriptors,
    movable: MovableClock | None,
    hosts: frozenset[str],
) -> Monitoring:
    # What these import costs memory and time, for those only who ask for it.
    from rocketwire.server.monitoring.endpoint import Monitoring  # noqa: PLC0415 - see above
    from rocketwire.server.monitoring.services import MonitoredServices  # noqa: PLC0415 - see above
    from rocketwire.server.monitoring.sources import MonitoringSources  # noqa: PLC0415 - see above

    broker.time_flushes(latencies.flushes.note)
    for hub in hubs:
        hub.measure_latencies()
    sources = MonitoringSources(
        services=MonitoredServices(
            clients=broker.clients,
            clock=broker.clock,
            lifetime=broker.lifetime,
            long_poll=broker.long_poll,
            metrics=broker.metrics,
            offsets=broker.offsets,
            pops=broker.pops,
            store=broker.store,
            throttle=broker.throttle,
            timer=broker.timer,
            topics=broker.topics,
            transactions=broker.transactions,
        ),
        delays=broker.delays,
        listeners=listeners,
        hubs=hubs,
        in_flight=broker.in_flight,
        latencies=latencies,
        faults=faults,
        descriptors=descriptors,
    )
    return Monitoring(sock, sources, movable, hosts=hosts)


def _bind_broker(keys: BrokerKeys) -> list[socket.socket]:
    """The broker's sockets: its port, and two below it for clients that use the VIP channel."""
    for left in reversed(range(1 if keys.listen_port else _FREE_PAIR_ATTEMPTS)):
        main = bind(keys.bind_address, keys.listen_port, option="--broker")
        port = main.getsockname()[1]
        if not keys.fast_remoting or port <= _VIP_PORT_BELOW:
            break
        try:
            return [main, bind(keys.bind_address, port - _VIP_PORT_BELOW, option="--broker port - 2, fastRemoting")]
        except AddressInUse:
            main.close()
            if not left:
                raise
    return [main]
