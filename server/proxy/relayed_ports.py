"""The ports of a proxy: its listeners, and the port of each broker, whose frames are relayed."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import trio

from rocketwire.server.faults.faulty import FaultInjection, FrameServer
from rocketwire.server.net.admission.admission import Admission
from rocketwire.server.net.listener import ConnectionTakeover, Http2Server, Listener
from rocketwire.server.net.session import Dispatcher, Session
from rocketwire.server.net.tls.gate import TlsGate
from rocketwire.server.proxy.kernel import KernelRelays, PlainPort
from rocketwire.server.proxy.ports import PortService
from rocketwire.server.proxy.relay import FrameRelay, RelayParts
from rocketwire.server.upstream.cluster import BrokerKey
from rocketwire.server.upstream.connecting import SelfConnectGuard
from rocketwire.wire.addresses import Address


class ProxyListeners:
    """Makes the listeners of a proxy.

    Args:
        own: Knows the ports that listen: the proxy must not connect to itself.
        admission: Admits connections.
        tls: Decrypts them.
        faults: Applies faults; None: there are none.

    Attributes:
        by_kind: Those that listen, by what they serve.
        faults: See above.
    """

    def __init__(
        self, own: SelfConnectGuard, admission: Admission, tls: TlsGate, faults: FaultInjection | None
    ) -> None:
        self.by_kind: dict[str, list[Listener]] = {"name server": [], "broker": [], "gRPC": []}
        self.faults = faults
        self._own = own
        self._admission = admission
        self._tls = tls

    def add(
        self,
        kind: str,
        sock: socket.socket,
        frames: FrameServer,
        on_close: Callable[[Session], None] = lambda _: None,
        *,
        early: ConnectionTakeover | None = None,
        http2: Http2Server | None = None,
    ) -> Listener:
        """Make a listener; the caller runs it."""
        self._own.listens(sock)
        served: Dispatcher = frames
        if self.faults is not None:
            name = "broker" if kind == "broker" else "namesrv"
            served, on_close = self.faults.wrap_frames(frames, on_close, name)
        found = Listener(sock, served, on_close, admission=self._admission, tls=self._tls, early=early, http2=http2)
        self.by_kind[kind].append(found)
        return found

    def remove(self, kind: str, listeners: Iterable[Listener], listened: Iterable[tuple[str, int]]) -> None:
        """Forget listeners that are closed, and the hosts and ports where they listened."""
        self._own.closes(listened)
        for listener in listeners:
            self.by_kind[kind].remove(listener)


class RelayedPorts:
    """Serves the ports of brokers.

    Args:
        listeners: Makes their listeners.
        parts: What the relays of all brokers share.
        relays: Relays plain connections; None: sessions relay all.
        host: The proxy's host, as clients reach it.
    """

    def __init__(self, listeners: ProxyListeners, parts: RelayParts, relays: KernelRelays | None, *, host: str) -> None:
        self._listeners = listeners
        self._parts = parts
        self._relays = relays
        self._host = host
        self._connections: dict[BrokerKey, Callable[[], int]] = {}

    def connections(self) -> list[tuple[BrokerKey, int]]:
        """How many connections to each broker its clients have."""
        return [(key, count()) for key, count in self._connections.items()]

    def serve(self, key: BrokerKey, sockets: Sequence[socket.socket], nursery: trio.Nursery) -> PortService:
        """Serve the port of a broker."""
        relay = FrameRelay(key, Address(host=self._host, port=sockets[0].getsockname()[1]), nursery, self._parts)
        early = None if self._relays is None else self._plain_port(self._relays, relay, nursery)

        def connections() -> int:
            return relay.tunnels + (0 if self._relays is None or early is None else self._relays.of(early))

        self._connections[key] = connections
        listeners = [self._listeners.add("broker", sock, relay, relay.peer_closed, early=early) for sock in sockets]
        for listener in listeners:
            nursery.start_soon(listener.run)
        listened = [sock.getsockname()[:2] for sock in sockets]

        def end() -> None:
            relay.end()
            self._listeners.remove("broker", listeners, listened)
            if self._connections.get(key) is connections:
                del self._connections[key]

        return PortService(connections, end)

    def _plain_port(self, relays: KernelRelays, relay: FrameRelay, nursery: trio.Nursery) -> PlainPort:
        faults = self._listeners.faults

        def plain() -> bool:
            return relay.plain and (faults is None or not faults.rules.active)

        def connecting(address: Address) -> Awaitable[socket.socket]:
            return self._parts.connecting(address, nursery)

        return PlainPort(
            relays,
            plain,
            where=lambda: relay.target,
            relocation=relay.relocation,
            adopt=relay.adopt,
            connecting=connecting,
            copied=relay.copied,
        )
