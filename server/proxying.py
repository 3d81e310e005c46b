"""The composition root of a proxy: from its settings to one that stands in front of a cluster."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import trio

from rocketwire.server.banner import about_access, reached
from rocketwire.server.configuration import LiveConfig, ServerConfig
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.threads import RunSync
from rocketwire.server.core.works import Works
from rocketwire.server.dispatch.guard import Guard
from rocketwire.server.grpc.keys import GrpcKeys
from rocketwire.server.guards.throttle.keys import ThrottleKeys
from rocketwire.server.guards.throttle.throttle import Throttle
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.admission.descriptors import DescriptorBudget, shared_out
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.listener import Early, Http2, Listener, bind
from rocketwire.server.net.session import Dispatcher, Session
from rocketwire.server.net.tls.contexts import TlsContexts
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.net.tls.settings import read_tls_settings
from rocketwire.server.operations.faults.start import allowed_faults, banner_lines
from rocketwire.server.proxy.kernel import KernelRelays, PlainPort, relay_kernel
from rocketwire.server.proxy.names import Names
from rocketwire.server.proxy.ports import Ports
from rocketwire.server.proxy.quotas import Quotas
from rocketwire.server.proxy.read_only import ReadOnly
from rocketwire.server.proxy.relay import Relay
from rocketwire.server.proxy.settings import ProxySettings
from rocketwire.server.remote_calls.front import remote_front
from rocketwire.server.send.keys import SendKeys
from rocketwire.server.upstream.cluster import MASTER, BrokerKey, Cluster
from rocketwire.server.upstream.lines import Lines
from rocketwire.store.disk.files import RealFileSystem
from rocketwire.wire import names
from rocketwire.wire.addresses import Address

if TYPE_CHECKING:
    from rocketwire.server.guards.acl.control import AccessControl
    from rocketwire.server.operations.faults.faulty import Frames

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A proxy that is ready.

    Attributes:
        settings: Its settings.
        listened: Where it answers as a name server.
        brokers: Its address of each broker.
        grpc: Where clients of 5.x are served; None: nowhere.
    """

    settings: ProxySettings
    listened: Address
    brokers: Mapping[BrokerKey, Address]
    grpc: Address | None

    def document(self) -> dict[str, object]:
        """All that a program needs to use it."""
        return {
            "namesrv": str(reached(self.listened)),
            "brokers": {f"{key.name}:{key.broker_id}": str(self.brokers[key]) for key in sorted(self.brokers)},
            "grpc": None if self.grpc is None else str(reached(self.grpc)),
        }

    def lines(self) -> list[str]:
        """The lines that tell people so."""
        settings, listened, grpc = self.settings, self.listened, self.grpc
        names = ";".join(map(str, settings.upstream))
        return [
            f"rocketwire proxy ready: {listened} in front of the name servers {names}",
            f'  Java:  producer.setNamesrvAddr("{reached(listened)}");',
            *([] if grpc is None else [f'  5.x:   ClientConfiguration.newBuilder().setEndpoints("{reached(grpc)}")']),
            *(f"  {_shown(key)}: {self.brokers[key]}" for key in sorted(self.brokers)),
            *([] if self.brokers else ["  no broker is known yet"]),
            *(["  read only: what changes something is refused"] if settings.read_only else []),
            *about_access(settings.base, listened),
            "  stop:  Ctrl-C",
            *banner_lines(settings.base.faults),
        ]


def _shown(key: BrokerKey) -> str:
    return f"broker {key.name}" if key.broker_id == MASTER else f"slave {key.broker_id} of {key.name}"


def _access_control(config: ServerConfig, live: LiveConfig, clock: Clock, metrics: Metrics) -> AccessControl:
    from rocketwire.server.guards.acl.control import AccessControl  # noqa: PLC0415 - it brings a YAML reader along

    return AccessControl(
        str(config.acl.path(config.store.folder)),
        RealFileSystem(),
        clock,
        metrics,
        limit_keys=live[LimitKeys],
        owner_at=None,
        reply_topic=names.reply_topic(config.broker.broker_cluster_name),
    )


def _bound(stack: contextlib.ExitStack, asked: Address | None) -> tuple[socket.socket, Address] | tuple[None, None]:
    """A socket for clients of 5.x, and where it listens, if that is asked for."""
    if asked is None:
        return None, None
    sock = stack.enter_context(bind(asked.host, asked.port, option="--grpc"))
    return sock, Address(host=asked.host, port=sock.getsockname()[1])


async def serve_proxy(
    settings: ProxySettings,
    *,
    clock: Clock,
    choose: Callable[[int], int],
    run_sync: RunSync,
    ready: Callable[[Standing], None],
) -> None:
    """Stand in front of the cluster until cancelled; `ready` is called once all listen.

    Raises:
        AddressInUse: the proxy's own port cannot be had.
        DescriptorsTooFew: the process may open too few files.
        TlsInvalid: TLS cannot be had as it is configured.
    """
    config = settings.base
    tls = TlsContexts(
        read_tls_settings(config.tls.tls_config_file, config.tls.tls_server_mode), clock=clock, run_sync=run_sync
    )
    tls.load()
    metrics, descriptors = Metrics(), shared_out(http=False)
    live = LiveConfig(config, clock)
    in_flight = InFlight(Limits(live[LimitKeys], metrics))
    # Each connection of a client has one to its broker.
    connections = DescriptorBudget(descriptors.connections.most // 2)
    admission = Admission(in_flight, connections, descriptors.farewells)
    kernel = relay_kernel()
    relays = None if kernel is None else KernelRelays(kernel, in_flight.limits)
    gate = TlsGate(tls, in_flight)
    lines = Lines()
    cluster = Cluster(settings.upstream, lines)
    faults = allowed_faults(config.faults, choose, metrics)
    quotas = Quotas(Throttle(live[ThrottleKeys], {}, metrics))
    access = _access_control(config, live, clock, metrics) if config.acl.acl_enable else None
    guards: tuple[Guard, ...] = (
        *(() if access is None else (access,)),
        *((ReadOnly(),) if settings.read_only else ()),
        quotas,
    )

    def listen(key: BrokerKey, sockets: Sequence[socket.socket], nursery: trio.Nursery) -> None:
        port = sockets[0].getsockname()[1]
        own = Address(host=settings.advertised_host, port=port)
        relay = Relay(
            key,
            cluster,
            own,
            nursery,
            guards=guards,
            quotas=quotas,
            metrics=metrics,
            now=trio.current_time,
            moved=(lambda _: None) if relays is None else relays.moved,
        )

        def plain() -> bool:
            return not relay.guarded and (faults is None or not faults.rules.active)

        early = None if relays is None else PlainPort(relays, plain, relay.where)
        for sock in sockets:
            nursery.start_soon(listener_of(sock, relay, relay.peer_closed, "broker", early).run)

    front = remote_front(
        cluster,
        lines,
        clock=clock,
        metrics=metrics,
        in_flight=in_flight,
        works=Works(run_sync, now=trio.current_time),
        keys=live[GrpcKeys],
        send_keys=live[SendKeys],
        guards=guards,
    )

    def listener_of(
        sock: socket.socket,
        frames: Frames,
        on_close: Callable[[Session], None],
        name: str,
        early: Early | None = None,
        http2: Http2 | None = None,
    ) -> Listener:
        served: Dispatcher = frames
        if faults is not None:
            served, on_close = faults.in_front_of_frames(frames, on_close, name)
        return Listener(sock, served, on_close, admission=admission, tls=gate, early=early, http2=http2)

    with contextlib.ExitStack() as stack:
        own = stack.enter_context(bind(settings.listen.host, settings.listen.port, option="--listen"))
        listened = Address(host=settings.listen.host, port=own.getsockname()[1])
        ports = Ports(
            cluster,
            host=settings.listen.host,
            first=settings.first_port,
            advertised_host=settings.advertised_host,
            listen=listen,
        )
        own_names = Names(cluster, ports.proxied, guards=guards, metrics=metrics, now=trio.current_time)
        listener = listener_of(own, own_names, lambda _: None, "namesrv")
        sock, grpc = _bound(stack, settings.grpc)
        of_calls = () if sock is None else (front, listener_of(sock, own_names, lambda _: None, "namesrv", http2=front))
        async with trio.open_nursery() as nursery:
            for each in (in_flight, lines, relays, None if faults is None else faults.delayed):
                if each is not None:
                    nursery.start_soon(each.run)
            if access is not None:
                nursery.start_soon(access.run, run_sync)
            await cluster.refresh()
            nursery.start_soon(cluster.run)
            await nursery.start(ports.run)
            for service in (listener, *of_calls):
                nursery.start_soon(service.run)
            ready(
                Standing(
                    settings=settings,
                    listened=listened,
                    brokers={key: address for key in cluster.brokers if (address := ports.address_of(key)) is not None},
                    grpc=grpc,
                )
            )
