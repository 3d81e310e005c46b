"""The composition root: from a configuration to a running name server and broker.

Everything that is shared is made here and handed on; nothing in the server package looks for its collaborators.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.broker import Broker
from rocketwire.server.config.config import ServerConfig
from rocketwire.server.core.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.core.works import Works
from rocketwire.server.dispatch.dispatcher import FrameDispatcher
from rocketwire.server.guards.acl.message_owner import owner_at
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.net.admission import Admission
from rocketwire.server.net.descriptors import Descriptors, shared_out
from rocketwire.server.net.hub import Hub, hub_kernel
from rocketwire.server.net.listener import AddressInUse, Listener, bind
from rocketwire.server.net.tls.contexts import TlsContexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.net.tls.settings import read_tls_settings
from rocketwire.server.operations.faults.start import allowed_faults, no_faults
from rocketwire.server.operations.monitoring.latencies import Latencies, timed
from rocketwire.server.registry import broker_families, name_server_families
from rocketwire.store.append.flush import RunBlocking
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.store.tables.key_values import KeyValueFile
from rocketwire.wire import names
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from rocketwire.server.guards.acl.control import AccessControl
    from rocketwire.server.operations.faults.faulty import Faults
    from rocketwire.server.operations.monitoring.endpoint import Monitoring

log = logging.getLogger(__name__)

_VIP_PORT_BELOW: Final = 2
_GC_THRESHOLDS: Final = (50_000, 20, 50)


async def serve(
    config: ServerConfig,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: RunSync,
    run_flush: RunBlocking | None = None,
    ready: Callable[[Address, Address, Address | None], None],
) -> None:
    """Serve until cancelled. `ready` is told the addresses clients use once both listen, and that of HTTP.

    Flushes that somebody waits for go to `run_flush`, other blocking calls to `run_sync`, which takes both without it.

    Raises:
        AddressInUse: a port cannot be had.
        ConfigError: the accounts' file cannot be used.
        DescriptorsTooFew: the process may open too few files.
        HostUnknown: the host to tell clients of has no address.
        StoreError: the store directory cannot be used.
        TlsInvalid: TLS cannot be had as it is configured.
    """
    tls_settings = read_tls_settings(config.tls_config_file, config.tls_server_mode)
    tls = TlsContexts(tls_settings, clock=clock, run_sync=run_sync)
    tls.load()
    with contextlib.ExitStack() as sockets:
        name_server = sockets.enter_context(bind(config.name_server.host, config.name_server.port, option="--namesrv"))
        broker = [sockets.enter_context(sock) for sock in _bind_broker(config)]
        http = config.http
        http_socket = None if http is None else sockets.enter_context(bind(http.host, http.port, option="--http"))
        await _serve_on(
            name_server,
            broker,
            http_socket,
            config,
            tls,
            shared_out(http=http is not None),
            clock=clock,
            choose=choose,
            run_sync=run_sync,
            run_flush=run_flush or run_sync,
            ready=ready,
        )


async def _serve_on(
    name_server_socket: socket.socket,
    broker_sockets: list[socket.socket],
    http_socket: socket.socket | None,
    config: ServerConfig,
    tls_contexts: TlsContexts,
    descriptors: Descriptors,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: RunSync,
    run_flush: RunBlocking,
    ready: Callable[[Address, Address, Address | None], None],
) -> None:
    port = broker_sockets[0].getsockname()[1]
    advertised = Address(host=config.advertised_host, port=config.advertised_port or port)
    metrics = Metrics()
    latencies = None if http_socket is None else Latencies()
    routes = RouteTable()
    access = _access_control(config, clock, metrics) if config.acl_enable else None
    broker = Broker(
        config,
        advertised=advertised,
        routes=routes,
        metrics=metrics,
        clock=clock,
        choose=choose,
        run_sync=run_sync,
        run_flush=run_flush,
        access=access,
    )
    if access is not None:
        _introduce(access, broker)
    try:
        admission = Admission(broker.in_flight, descriptors.connections, descriptors.farewells)
        values = KeyValueFile(config.store_dir / "config" / "kvConfig.json")
        key_values = KeyValueConfig(values, run_sync)
        name_server = name_server_families(routes, key_values, admission.limits)
        tls = TlsGate(tls_contexts, broker.in_flight)
        faults = allowed_faults(config, choose, metrics)
        in_front = no_faults if faults is None else faults.in_front
        kernel, works = hub_kernel(), Works(run_sync, now=trio.current_time)
        name_server_hub = None if kernel is None else Hub(kernel, clock=clock, in_flight=broker.in_flight)
        name_server_front, name_server_closed = in_front(
            FrameDispatcher(name_server, metrics=metrics, works=works, now=trio.current_time),
            routes.peer_closed,
            "namesrv",
        )
        name_server_listener = Listener(
            name_server_socket,
            timed(name_server_front, metrics, latencies),
            name_server_closed,
            admission=admission,
            tls=tls,
            hub=name_server_hub,
        )
        dispatcher, peer_closed = in_front(
            FrameDispatcher(
                broker_families(broker),
                metrics=metrics,
                hot_path=broker.hot_sends,
                after_answers=broker.long_poll.wake,
                guards=() if access is None else (access,),
                works=works,
                now=trio.current_time,
                meet=broker.store.meet,
            ),
            broker.peer_closed,
            "broker",
        )
        hub = broker.make_hub(lambda: dispatcher.guarded)
        served_by = timed(dispatcher, metrics, latencies)
        listeners = [
            Listener(sock, served_by, peer_closed, admission=admission, tls=tls, hub=hub) for sock in broker_sockets
        ]
        everyone = (name_server_listener, *listeners)
        monitoring = None
        if http_socket is not None and latencies is not None:
            told = {"name server": (name_server_listener,), "broker": tuple(listeners)}
            hubs = [each for each in (hub, name_server_hub) if each is not None]
            monitoring = _monitoring(http_socket, broker, told, hubs, latencies, faults, descriptors)
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look at it again
        gc.set_threshold(*_GC_THRESHOLDS)
        async with trio.open_nursery() as nursery:
            broker.start(nursery)
            if faults is not None:
                nursery.start_soon(faults.delayed.run)
            for each in (routes, key_values, hub, name_server_hub):
                if each is not None:
                    nursery.start_soon(each.run)
            for listener in everyone:
                nursery.start_soon(listener.run)
            _tell(name_server_socket, broker_sockets, descriptors)
            shown = Address(host=config.name_server.host, port=name_server_listener.port)
            if monitoring is not None:
                nursery.start_soon(monitoring.run)
            ready(shown, advertised, None if monitoring is None else monitoring.address)
    finally:
        broker.close()
        log.info("stopped: %d messages in, %d out", metrics.messages_in, metrics.messages_out)


def _tell(name_server: socket.socket, broker: Sequence[socket.socket], descriptors: Descriptors) -> None:
    log.info("%s", descriptors)
    for what, sock in (("name server", name_server), *(("broker", sock) for sock in broker)):
        host, port = sock.getsockname()[:2]  # of a name with several addresses, the one taken
        log.info("%s listens on %s", what, Address(host=host, port=port))


def _monitoring(
    sock: socket.socket,
    broker: Broker,
    listeners: Mapping[str, Sequence[Listener]],
    hubs: Sequence[Hub],
    latencies: Latencies,
    faults: Faults | None,
    descriptors: Descriptors,
) -> Monitoring:
    # What these import costs 6 MB and 50 ms, for those only who ask for it.
    from rocketwire.server.operations.monitoring.endpoint import Monitoring  # noqa: PLC0415 - see above
    from rocketwire.server.operations.monitoring.scrape import Sources  # noqa: PLC0415 - see above
    from rocketwire.server.operations.monitoring.watched import Watched  # noqa: PLC0415 - see above

    broker.time_flushes(latencies.flushes.note)
    for hub in hubs:
        hub.note_times()
    sources = Sources(
        services=Watched(
            clients=broker.clients,
            clock=broker.clock,
            lifetime=broker.lifetime,
            long_poll=broker.long_poll,
            metrics=broker.metrics,
            offsets=broker.offsets,
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
    return Monitoring(sock, sources)


def _introduce(access: AccessControl, broker: Broker) -> None:
    """Let access control know what it asks a broker for, and whom it tells of changes."""
    access.longest_heartbeat = lambda: broker.config.current.max_heartbeat_bytes
    access.owner_at = partial(owner_at, broker.store)
    access.reply_topic = names.reply_topic(broker.config.current.broker_cluster_name)
    access.changed.subscribe(broker.long_poll.end_all)


def _access_control(config: ServerConfig, clock: Clock, metrics: Metrics) -> AccessControl:
    from rocketwire.server.guards.acl.control import AccessControl  # noqa: PLC0415 - it brings a YAML reader along

    return AccessControl(str(config.acl_path), RealFileSystem(), clock, metrics)


def _bind_broker(config: ServerConfig) -> list[socket.socket]:
    """The broker's sockets: its port, and two below it for clients that use the VIP channel."""
    main = bind(config.bind_address, config.listen_port, option="--broker")
    port = main.getsockname()[1]
    if not config.fast_remoting or port <= _VIP_PORT_BELOW:
        return [main]
    try:
        return [main, bind(config.bind_address, port - _VIP_PORT_BELOW, option="--broker port - 2, fastRemoting")]
    except AddressInUse:
        main.close()
        raise
