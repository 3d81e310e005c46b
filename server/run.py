"""The composition root: from a configuration to a running name server and broker.

Everything that is shared is made here and handed on; nothing in the server package looks for its collaborators.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import resource
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import trio

from rocketwire.server import upkeep
from rocketwire.server.addresses import Address, HostUnknown, is_wildcard, machine_address
from rocketwire.server.broker import Broker
from rocketwire.server.clock import Clock, system_clock
from rocketwire.server.config import ServerConfig
from rocketwire.server.dispatch import FrameDispatcher
from rocketwire.server.flush_thread import FlushThread
from rocketwire.server.hub import Hub, hub_kernel
from rocketwire.server.listener import AddressInUse, Listener, bind
from rocketwire.server.metrics import Metrics
from rocketwire.server.registry import BROKER_FAMILIES, NAME_SERVER_FAMILIES
from rocketwire.server.routes import KeyValueConfig, RouteTable
from rocketwire.server.services import NameServerServices
from rocketwire.store.errors import StoreError
from rocketwire.store.flush import RunBlocking
from rocketwire.store.key_values import KeyValueFile

log = logging.getLogger(__name__)

EXIT_USAGE: Final = 2
_VIP_PORT_BELOW: Final = 2
_GC_THRESHOLDS: Final = (50_000, 20, 50)


def run(config: ServerConfig) -> int:
    """Serve until SIGTERM or Ctrl-C; the exit code of the process."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    _raise_descriptor_limit()
    code = 0
    try:
        trio.run(_serve_until_signal, config)
    except* (AddressInUse, HostUnknown, StoreError) as errors:
        for error in _leaves(errors):
            print(f"rocketwire: {error}", file=sys.stderr)
        code = EXIT_USAGE
    return code


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    return [
        leaf
        for error in group.exceptions
        for leaf in (_leaves(error) if isinstance(error, BaseExceptionGroup) else [error])
    ]


async def _serve_until_signal(config: ServerConfig) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_serve_and_announce, config)
            async for number in signals:
                log.info("stopping: %s", signal.Signals(number).name)
                nursery.cancel_scope.cancel()


async def _serve_and_announce(config: ServerConfig) -> None:
    def announce(name_server: Address, broker: Address) -> None:
        host = name_server.host
        reached = replace(name_server, host=machine_address(ipv6=":" in host)) if is_wildcard(host) else name_server
        print(
            _READY.format(name_server=name_server, broker=broker, store=config.store_dir, reached=reached), flush=True
        )

    with contextlib.ExitStack() as stack:
        flush_thread = None
        if config.sync_flush:
            flush_thread = stack.enter_context(contextlib.closing(FlushThread()))
            await flush_thread.warm_up()
        await serve(
            config,
            clock=system_clock,
            choose=secrets.randbelow,
            run_sync=trio.to_thread.run_sync,
            run_flush=flush_thread,
            ready=announce,
        )


_READY: Final = """\
rocketwire ready: name server {name_server}, broker {broker}, store {store}
  Java:  producer.setNamesrvAddr("{reached}");
  stop:  Ctrl-C"""


async def serve(
    config: ServerConfig,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: upkeep.RunSync,
    run_flush: RunBlocking | None = None,
    ready: Callable[[Address, Address], None],
) -> None:
    """Serve until cancelled. `ready` is told the addresses clients use once both listen.

    Flushes that somebody waits for go to `run_flush`, other blocking calls to `run_sync`, which takes both without it.

    Raises:
        AddressInUse: a port cannot be had.
        HostUnknown: the host to tell clients of has no address.
        StoreError: the store directory cannot be used.
    """
    with contextlib.ExitStack() as sockets:
        name_server = sockets.enter_context(bind(config.name_server.host, config.name_server.port, option="--namesrv"))
        broker = [sockets.enter_context(sock) for sock in _bind_broker(config)]
        await _serve_on(
            name_server,
            broker,
            config,
            clock=clock,
            choose=choose,
            run_sync=run_sync,
            run_flush=run_flush or run_sync,
            ready=ready,
        )


async def _serve_on(
    name_server_socket: socket.socket,
    broker_sockets: list[socket.socket],
    config: ServerConfig,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: upkeep.RunSync,
    run_flush: RunBlocking,
    ready: Callable[[Address, Address], None],
) -> None:
    port = broker_sockets[0].getsockname()[1]
    advertised = Address(host=config.advertised_host, port=config.advertised_port or port)
    metrics = Metrics()
    routes = RouteTable()
    broker = Broker(
        config,
        advertised=advertised,
        routes=routes,
        metrics=metrics,
        clock=clock,
        choose=choose,
        run_sync=run_sync,
        run_flush=run_flush,
    )
    try:
        values = KeyValueFile(config.store_dir / "config" / "kvConfig.json")
        name_server = NameServerServices(routes=routes, key_values=KeyValueConfig(values.load(), values.save))
        kernel = hub_kernel()
        name_server_hub = None if kernel is None else Hub(kernel, clock=clock)
        name_server_listener = Listener(
            name_server_socket,
            FrameDispatcher(name_server, NAME_SERVER_FAMILIES, metrics=metrics),
            routes.peer_closed,
            hub=name_server_hub,
        )
        dispatcher = FrameDispatcher(
            broker.services,
            BROKER_FAMILIES,
            metrics=metrics,
            hot_path=broker.hot_sends,
            after_answers=broker.services.long_poll.wake,
        )
        hub = broker.make_hub(guarded=dispatcher.guarded)
        listeners = [Listener(sock, dispatcher, broker.peer_closed, hub=hub) for sock in broker_sockets]
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look at it again
        gc.set_threshold(*_GC_THRESHOLDS)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(routes.run)
            broker.start(nursery)
            for each in (hub, name_server_hub):
                if each is not None:
                    nursery.start_soon(each.run)
            for listener in (name_server_listener, *listeners):
                nursery.start_soon(listener.run)
            for what, sock in (("name server", name_server_socket), *(("broker", sock) for sock in broker_sockets)):
                host, port = sock.getsockname()[:2]  # of a name with several addresses, the one taken
                log.info("%s listens on %s", what, Address(host=host, port=port))
            shown = Address(host=config.name_server.host, port=name_server_listener.port)
            ready(shown, advertised)
    finally:
        broker.close()
        log.info("stopped: %d messages in, %d out", metrics.messages_in, metrics.messages_out)


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


def _raise_descriptor_limit() -> None:
    """Allow as many connections as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
