"""The composition root: from a configuration to a running name server and broker.

Everything that is shared is made here and passed to its users; nothing in the server package looks up its
collaborators.
"""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import trio

from rocketwire.server.announcing import ServerAddresses
from rocketwire.server.broker.broker import Broker
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.configuration import NAME_SERVER, LiveConfig, ServerConfig
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.movable_clock import MovableClock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.long_tasks import LongTaskScheduler
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.faults.setup import allowed_faults
from rocketwire.server.grpc.front import GrpcServer
from rocketwire.server.grpc.tables.directories import OwnTopics, TopicDirectory
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.members.siblings import MemberTopics, Siblings
from rocketwire.server.monitoring.latencies import Latencies, timed
from rocketwire.server.name_server.advertised import Advertising
from rocketwire.server.name_server.config import NameServerConfig
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.admission.descriptors import Descriptors, divide_descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.net.listener import Listener, bind, listened_address
from rocketwire.server.net.session import Session
from rocketwire.server.net.tls.contexts import loaded_contexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.registry import broker_families, front_parts, grpc_families, name_server_families
from rocketwire.server.sockets import ServerSockets
from rocketwire.store.append.group_commit import RunBlocking
from rocketwire.store.tables.key_values import KeyValueFile

if TYPE_CHECKING:
    from rocketwire.server.faults.faulty import FaultInjection, FaultyDispatcher
    from rocketwire.server.members.link import SupervisorLink
    from rocketwire.server.monitoring.endpoint import Monitoring

log = logging.getLogger(__name__)

Ready: TypeAlias = Callable[[ServerAddresses], None]
"""Called with the addresses of all that listens."""


async def serve(
    config: ServerConfig,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: RunSync,
    run_flush: RunBlocking | None = None,
    supervisor: SupervisorLink | None = None,
    ready: Ready,
) -> None:
    """Serve until cancelled, or until the supervisor ends, if there is one.

    `ready` is called with the addresses that clients use once all listen.

    Flushes that requests wait for go to `run_flush`, other blocking calls to `run_sync`, which takes both without it.

    Raises:
        AddressInUse: a port cannot be had.
        ConfigError: the accounts' file cannot be used.
        DescriptorsTooFew: the process may open too few files.
        HostUnknown: the advertised host has no address.
        OSError: the file of the movable clock cannot be read.
        StoreError: the store directory cannot be used.
        TlsInvalid: TLS cannot be had as it is configured.
    """
    movable = _movable(clock, config)
    clock = movable or clock
    tls = loaded_contexts(config.tls, clock=clock, run_sync=run_sync)
    with contextlib.ExitStack() as stack:
        sockets = ServerSockets.bind(config, stack)
        descriptors = divide_descriptors(http=config.http is not None)
        networks, advertised = config.advertised_networks, sockets.advertised
        routes = RouteTable(
            Advertising(networks, registered=advertised, listen_port=sockets.port) if networks else None
        )
        broker = Broker(
            config,
            advertised=advertised,
            routes=routes,
            metrics=Metrics(),
            clock=clock,
            due_time=DueTime() if movable is None else movable.due_time(),
            choose=choose,
            run_sync=run_sync,
            run_flush=run_flush or run_sync,
        )
        stack.callback(_close, broker)
        in_flight, metrics = broker.base.in_flight, broker.base.metrics
        process = _Process(
            config=config,
            clock=clock,
            metrics=metrics,
            latencies=None if sockets.http is None else Latencies(),
            admission=Admission(in_flight, descriptors.connections, descriptors.linger_budget),
            tls=TlsGate(tls, in_flight),
            routes=routes,
            faults=allowed_faults(config.faults, choose, metrics),
            run_sync=run_sync,
        )
        await _serve_on(sockets, descriptors, broker, process, movable, supervisor, ready)


async def _serve_on(
    sockets: ServerSockets,
    descriptors: Descriptors,
    broker: Broker,
    process: _Process,
    movable: MovableClock | None,
    supervisor: SupervisorLink | None,
    ready: Ready,
) -> None:
    """Serve the name server, the broker and monitoring on their sockets."""
    name_server = None if sockets.name_server is None else _name_server(sockets.name_server, process)
    own = OwnTopics(broker.tables.topics, broker.base.config[BrokerKeys])
    siblings = Siblings(broker.tables.topics)
    topics = own if supervisor is None else MemberTopics(own, sockets.advertised, siblings)
    broker_ports = _broker_ports(sockets.for_broker, broker, topics, process)
    ports = [*(() if name_server is None else (name_server,)), broker_ports]
    monitoring = _monitoring(sockets.http, broker, ports, process, descriptors, movable)
    async with trio.open_nursery() as nursery:
        broker.start(nursery)
        nursery.start_soon(process.routes.run, broker.base.background)
        if process.faults is not None:
            nursery.start_soon(process.faults.delayed.run)
        for each in ports:
            each.start(nursery)
        descriptors.log_shares()
        sockets.log_addresses()
        if monitoring is not None:
            nursery.start_soon(monitoring.run)
        ready(
            ServerAddresses(
                config=process.config,
                name_server=sockets.name_server_address,
                broker=sockets.advertised,
                http=None if monitoring is None else monitoring.address,
                grpc=sockets.grpc_address,
            )
        )
        if supervisor is not None:
            name = process.config.broker.broker_name
            await supervisor.run(name, str(sockets.advertised), broker.tables.topics, siblings)
            nursery.cancel_scope.cancel()


def _close(broker: Broker) -> None:
    broker.close()
    metrics = broker.base.metrics
    log.info(
        "stopped: %(messages_in)d messages in, %(messages_out)d out",
        {"messages_in": metrics.messages_in, "messages_out": metrics.messages_out},
    )


async def serve_name_server(
    config: ServerConfig,
    *,
    clock: Clock,
    run_sync: RunSync,
    metrics: Metrics | None = None,
    routes: RouteTable | None = None,
    ready: Ready,
) -> None:
    """Serve as a name server alone until cancelled; `ready` is called with its address once it listens.

    `metrics` count its requests, `routes` are those of the brokers.

    Raises:
        AddressInUse, DescriptorsTooFew, TlsInvalid: as with `serve`.
    """
    contexts = loaded_contexts(config.tls, clock=clock, run_sync=run_sync)
    metrics, descriptors = metrics or Metrics(), divide_descriptors(http=False)
    in_flight = InFlight(Limits(LiveConfig(config, clock)[LimitKeys], metrics))
    routes = routes or RouteTable()
    address = config.name_server or NAME_SERVER
    with bind(address.host, address.port, option="--namesrv") as sock:
        with contextlib.suppress(OSError):  # without it values are refused, and nothing else needs it
            config.store.folder.mkdir(parents=True, exist_ok=True)
        process = _Process(
            config=config,
            clock=clock,
            metrics=metrics,
            admission=Admission(in_flight, descriptors.connections, descriptors.linger_budget),
            tls=TlsGate(contexts, in_flight),
            routes=routes,
            run_sync=run_sync,
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(in_flight.run)
            nursery.start_soon(routes.run, BackgroundBudget(metrics.requests.total))
            _name_server(sock, process).start(nursery)
            ready(ServerAddresses(config=config, name_server=listened_address(sock, address)))


class _Process:
    """What all servers of this process share.

    Attributes:
        config: The configuration at the start.
        clock: The wall clock.
        metrics: Counts requests.
        latencies: Measures them; None: they are not measured.
        admission: Admits connections.
        tls: Serves those that begin TLS.
        routes: The routes of the name server.
        faults: Applies faults in front of dispatchers; None: none are allowed.
        works: Carries out long requests.
        run_sync: Runs blocking calls in threads.
    """

    def __init__(
        self,
        *,
        config: ServerConfig,
        clock: Clock,
        metrics: Metrics,
        admission: Admission,
        tls: TlsGate,
        routes: RouteTable,
        run_sync: RunSync,
        latencies: Latencies | None = None,
        faults: FaultInjection | None = None,
    ) -> None:
        self.config = config
        self.clock = clock
        self.metrics = metrics
        self.latencies = latencies
        self.admission = admission
        self.tls = tls
        self.routes = routes
        self.faults = faults
        self.works = LongTaskScheduler(run_sync, now=trio.current_time)
        self.run_sync = run_sync

    def wrapped(
        self, dispatcher: FrameDispatcher, on_close: Callable[[Session], None], listener: str
    ) -> tuple[FrameDispatcher | FaultyDispatcher, Callable[[Session], None]]:
        """The dispatcher and the close callback of the listener of that name, behind faults if they are allowed."""
        if self.faults is None:
            return dispatcher, on_close
        return self.faults.wrap_dispatcher(dispatcher, on_close, listener)


class _Ports(NamedTuple):
    """The listeners of one server, what reads their connections, and what else runs as long as they do."""

    name: str
    listeners: Sequence[Listener]
    hub: Hub | None
    tasks: Sequence[Callable[[], Awaitable[None]]]

    def start(self, nursery: trio.Nursery) -> None:
        """Start all tasks."""
        for task in (*self.tasks, *(() if self.hub is None else (self.hub.run,))):
            nursery.start_soon(task)
        for listener in self.listeners:
            nursery.start_soon(listener.run)


def _movable(clock: Clock, config: ServerConfig) -> MovableClock | None:
    """The clock that the configuration allows to be moved, None if it does not; the caller may have made it."""
    if not config.clock.movable_clock:
        return None
    if isinstance(clock, MovableClock):
        return clock
    return MovableClock(clock, config.store.folder / "config" / "movableClock.json")


def _broker_ports(
    sockets: Sequence[socket.socket], broker: Broker, topics: TopicDirectory, process: _Process
) -> _Ports:
    """What serves the connections of the broker."""
    base, faults, latencies = broker.base, process.faults, process.latencies
    access = base.access
    dispatcher, peer_closed = process.wrapped(
        FrameDispatcher(
            (*broker_families(broker), *grpc_families(broker)),
            metrics=process.metrics,
            storing=broker.sends.storing,
            after_answers=broker.wake,
            guards=() if access is None else (access,),
            works=process.works,
            now=trio.current_time,
            on_store_error=base.store.on_store_error,
        ),
        broker.peer_closed,
        "broker",
    )
    hub = broker.make_hub(lambda: dispatcher.guarded)
    served_by = timed(dispatcher, process.metrics, latencies)
    front = GrpcServer(
        front_parts(broker, topics),
        served_by,
        peer_closed=broker.peer_closed,
        connection_closed=faults.delayed.peer_closed if faults is not None else lambda _: None,
        guarded=access is not None,
        accounts=access,
        kernel_guarded=lambda: dispatcher.guarded,
        note=None if latencies is None else latencies.note,
        in_flight=base.in_flight,
        works=process.works,
    )
    listeners = [
        Listener(sock, served_by, peer_closed, admission=process.admission, tls=process.tls, hub=hub, http2=front)
        for sock in sockets
    ]
    return _Ports("broker", listeners, hub, (partial(front.run, base.background),))


def _name_server(sock: socket.socket, process: _Process) -> _Ports:
    """What serves the connections of the name server."""
    folder, admission = process.config.store.folder, process.admission
    path = str(folder.absolute() / "config")
    key_values = KeyValueConfig(KeyValueFile(folder / "config" / "kvConfig.json"), process.run_sync)
    own = NameServerConfig(
        rocketmqHome=str(folder.absolute()),
        kvConfigPath=f"{path}/kvConfig.json",
        configStorePath=f"{path}/namesrv.properties",
        listenPort=str(sock.getsockname()[1]),
    )
    kernel = hub_kernel()
    hub = None if kernel is None else Hub(kernel, clock=process.clock, in_flight=admission.in_flight)
    dispatcher, closed = process.wrapped(
        FrameDispatcher(
            name_server_families(process.routes, key_values, admission.limits, own),
            metrics=process.metrics,
            works=process.works,
            now=trio.current_time,
        ),
        process.routes.peer_closed,
        "namesrv",
    )
    served_by = timed(dispatcher, process.metrics, process.latencies)
    listener = Listener(sock, served_by, closed, admission=admission, tls=process.tls, hub=hub)
    return _Ports("name server", (listener,), hub, (key_values.run,))


def _monitoring(
    sock: socket.socket | None,
    broker: Broker,
    ports: Sequence[_Ports],
    process: _Process,
    descriptors: Descriptors,
    movable: MovableClock | None,
) -> Monitoring | None:
    latencies = process.latencies
    if sock is None or latencies is None:
        return None
    # What these import costs memory and time, for those only who use it.
    from rocketwire.server.monitoring.endpoint import Monitoring  # noqa: PLC0415 - see above
    from rocketwire.server.monitoring.sources import MonitoredServices, MonitoringSources  # noqa: PLC0415 - see above

    broker.sends.time_flushes(latencies.flushes.note)
    listeners: dict[str, Sequence[Listener]] = {"name server": ()}
    hubs = []
    for each in ports:
        listeners[each.name] = each.listeners
        if each.hub is not None:
            each.hub.measure_latencies()
            hubs.append(each.hub)
    sources = MonitoringSources(
        services=MonitoredServices(
            clients=broker.clients,
            clock=broker.base.clock,
            lifetime=broker.administration.lifetime,
            long_poll=broker.pulls.long_poll,
            metrics=broker.base.metrics,
            offsets=broker.tables.offsets,
            pops=broker.pops.pops,
            store=broker.base.store,
            throttle=broker.throttle,
            timer=broker.delays.timer,
            topics=broker.tables.topics,
            transactions=broker.delays.transactions,
        ),
        delays=broker.delays.delays,
        listeners=listeners,
        hubs=hubs,
        in_flight=broker.base.in_flight,
        latencies=latencies,
        faults=process.faults,
        descriptors=descriptors,
    )
    return Monitoring(sock, sources, movable, hosts=process.config.http_port.hosts)
