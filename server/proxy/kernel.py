"""Connections that a thread of the kernel relays, without a session: those whose frames need no check.

Clients that begin TLS or HTTP/2 get a session, and so do all while guards or faults decide about requests, and
while the broker cannot be reached.
"""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Final

import trio

from rocketwire import native
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.driver import HTTP2_PREFACE, TLS_HANDSHAKE
from rocketwire.server.net.listener import IDLE_KEY, OpenConnection, ReturnConnection
from rocketwire.server.net.session import Session
from rocketwire.server.proxy.shadow import ShadowCluster
from rocketwire.server.proxy.times import RelayTimeSums, sorted_codes
from rocketwire.server.proxy.tunnels import HIGH_WATER, AdoptedConnection, OnRelayedAnswer, Relocation
from rocketwire.server.upstream.connecting import UpstreamConnectionError, nonblocking
from rocketwire.server.upstream.proxy_loops import FIRST_BYTES, is_loop_probe
from rocketwire.wire.addresses import Address
from rocketwire.wire.errors import WireError
from rocketwire.wire.frame import FRAME_PREFIX, TYPE_SHIFT, Buffer
from rocketwire.wire.header import Header, decode_header

if TYPE_CHECKING:
    from rocketwire._kernel import Relay as NativeRelay
    from rocketwire._kernel import _Handed

log = logging.getLogger(__name__)

_MOST_WATCHED: Final = 2048
"""Copied sends of a client that have no answer yet; as many requests the kernel knows of each."""
_SWEEP_SECONDS: Final = 10.0
_WATCH_SECONDS: Final = 0.2
_RELEASE_SECONDS: Final = 5.0
_OTHERS: Final = frozenset({TLS_HANDSHAKE, HTTP2_PREFACE})
_NO_HOST: Final = Relocation(b"", b"")
_HEADER_BYTES: Final = (1 << TYPE_SHIFT) - 1


def relay_kernel() -> ModuleType | None:
    """The kernel, or None if it is missing or was built without relays, which need Linux."""
    kernel = native.kernel
    return kernel if hasattr(kernel, "Relay") else None


class RelayedConnection:
    """A connection that the kernel relays."""

    __slots__ = ("_drop", "address", "back", "host", "on_close", "port", "releasing", "remote", "remote_text")

    held: Final = 0
    silent_since: Final = math.inf
    last_sign_of_life: Final = math.inf
    """Relays look for idle connections themselves."""

    def __init__(
        self,
        port: PlainPort,
        remote: tuple[str, int],
        address: Address,
        drop: Callable[[], None],
        *,
        on_close: Callable[[OpenConnection], None],
        back: ReturnConnection,
    ) -> None:
        """Make the connection of a client, of which `remote` is the host and port, to the broker at `address`."""
        self.port = port
        self.remote = remote
        self.host = remote[0]
        self.remote_text = str(Address(host=remote[0], port=remote[1]))
        self.address = address
        self.on_close = on_close
        self.back = back
        self.releasing = 0.0
        self._drop = drop

    def refuse(self, _error: LimitExceeded) -> None:
        """End it: it holds nothing, so this makes no room."""
        self.close()

    def close(self) -> None:
        """End both sides."""
        self._drop()


class KernelRelays:
    """The relayed connections of all ports.

    Args:
        kernel: The kernel.
        in_flight: The bytes in flight of others, and the limits in force.
        times: Whether requests are timed.
        shadow: Gets the sends that are chosen for the second cluster; None: there is none.
        seed: Of the random numbers that choose them.

    Attributes:
        counts: Frames and bytes to brokers, frames and bytes to clients, connections that are open, and bytes that are
            not sent yet.
        times: What was measured of requests, by code.
    """

    def __init__(
        self,
        kernel: ModuleType,
        in_flight: InFlight,
        *,
        times: bool = False,
        shadow: ShadowCluster | None = None,
        seed: int = 0,
    ) -> None:
        codes = sorted_codes() if times else b""
        self._native: NativeRelay = kernel.Relay(HIGH_WATER, codes, 0 if shadow is None else shadow.chance, seed)
        self._in_flight = in_flight
        self._limits = in_flight.limits
        self._shadow = shadow
        self._watching: dict[int, dict[int, OnRelayedAnswer]] = {}
        self._connections: dict[int, RelayedConnection] = {}
        self.counts = self._native.counts
        self.times: Callable[[], RelayTimeSums] = self._native.times

    @property
    def unsent(self) -> int:
        """Bytes that are not sent yet."""
        size: int = self.counts()[-1]
        return size

    def add(
        self,
        port: PlainPort,
        client: socket.socket,
        remote: tuple[str, int],
        broker: socket.socket,
        *,
        address: Address,
        relocation: Relocation | None,
        on_close: Callable[[OpenConnection], None],
        back: ReturnConnection,
    ) -> RelayedConnection:
        """Relay between two sockets from now on.

        `on_close` is called once both are closed, or `back` once frames have to be checked.
        """
        hosts = relocation or _NO_HOST
        longest, _ = self._limits.longest_frame
        number = self._native.add(client.fileno(), broker.fileno(), b"", b"", hosts.old, hosts.new, longest)
        client.detach()
        broker.detach()
        drop = partial(self._native.drop, number)
        made = self._connections[number] = RelayedConnection(port, remote, address, drop, on_close=on_close, back=back)
        return made

    def of(self, port: PlainPort) -> int:
        """How many connections of a port there are."""
        return sum(each.port is port for each in self._connections.values())

    def broker_moved(self, former: Address) -> None:
        """End the connections to a broker that has moved from an address."""
        for each in self._connections.values():
            if each.address == former:
                each.close()

    async def run(self) -> None:
        """Handle connections that ended, and end idle ones; never returns."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._sweep)
                nursery.start_soon(self._watch)
                while True:
                    await trio.lowlevel.wait_readable(self._native.fileno())
                    ended = self._native.events()
                    self._take_copies()  # those of ended pairs, too
                    for number, reason, handed in ended:
                        self._ended(number, reason, handed)
        finally:
            self._native.close()

    def _take_copies(self) -> None:
        """Pass on what was copied: sends, and the headers of their answers."""
        if self._shadow is None:
            return
        copies, dropped = self._native.copies()
        self._shadow.drop(dropped)
        for number, data in copies:
            try:
                header, body = _read(data)
            except WireError:
                continue  # the broker refuses it, or the client
            watching = self._watching.setdefault(number, {})
            if header.is_response:
                on_answer = watching.pop(header.opaque, None)
                if on_answer is not None:
                    on_answer(header, body)
            else:
                on_answer = self._connections[number].port.copied(header, body)
                if on_answer is not None:
                    watching[header.opaque] = on_answer
                    if len(watching) > _MOST_WATCHED:  # the kernel has forgotten the oldest
                        watching.pop(next(iter(watching)))(None, memoryview(b""))

    def _ended(self, number: int, reason: str, handed: _Handed | None) -> None:
        connection = self._connections.pop(number)
        for on_answer in self._watching.pop(number, {}).values():
            on_answer(None, memoryview(b""))
        if handed is not None:
            client, broker, to_client, to_broker, of_client, of_broker = handed
            begun = AdoptedConnection(nonblocking(broker), to_broker, of_broker)
            session = connection.back(connection, nonblocking(client), connection.remote, to_client, of_client)
            connection.port.adopt(session, begun)
            return
        if "misread" in reason:
            log.warning("closed %(peer)s: %(reason)s", {"peer": connection.remote_text, "reason": reason})
        connection.on_close(connection)

    async def _watch(self) -> None:
        """Have sessions take over from the kernel where frames have to be checked from now on; bound its memory."""
        while True:
            self._native.bound(max(0, self._limits.keys.current.max_in_flight_bytes - self._in_flight.total))
            await trio.sleep(_WATCH_SECONDS)
            now = trio.current_time()
            for number, each in list(self._connections.items()):
                if each.releasing:
                    if now > each.releasing + _RELEASE_SECONDS:
                        each.close()  # it has stopped within a frame
                elif not each.port.plain():
                    each.releasing = now
                    self._native.release(number)

    async def _sweep(self) -> None:
        keys, metrics = self._limits.keys, self._limits.metrics
        while True:
            most = keys.current.server_channel_max_idle_time_seconds
            await trio.sleep(min(_SWEEP_SECONDS, most / 2))
            for number in self._native.idle(most):
                metrics.limited[IDLE_KEY] += 1
                log.info("closing idle connection %(peer)s", {"peer": self._connections[number].remote_text})
                self._native.drop(number)


class PlainPort:
    """Gives new connections of a broker's port to the kernel.

    Args:
        relays: The relayed connections.
        plain: Whether frames need no check now.
        where: The broker's address; None: it is not known.
        relocation: What to replace in ids of messages of the broker at an address that is connected to.
        adopt: Takes over a client with the connection to the broker that it has.
        connecting: Makes connections to the broker.
        copied: Takes a send that was chosen for the second cluster, and returns what gets its answer.
    """

    def __init__(
        self,
        relays: KernelRelays,
        plain: Callable[[], bool],
        where: Callable[[], Address | None],
        relocation: Callable[[Address], Relocation | None],
        adopt: Callable[[Session, AdoptedConnection], None],
        connecting: Callable[[Address], Awaitable[socket.socket]],
        copied: Callable[[Header, Buffer], OnRelayedAnswer | None],
    ) -> None:
        self._relays = relays
        self.plain = plain
        self._where = where
        self._relocation = relocation
        self.adopt = adopt
        self._connecting = connecting
        self.copied = copied

    async def take(
        self,
        sock: socket.socket,
        remote: tuple[str, int],
        on_close: Callable[[OpenConnection], None],
        back: ReturnConnection,
    ) -> OpenConnection | None:
        """Relay a connection; None: it needs a session.

        Raises:
            OSError: the connection is broken.
        """
        await trio.lowlevel.wait_readable(sock)
        first = sock.recv(FIRST_BYTES, socket.MSG_PEEK)
        address = self._where()
        if not first or address is None or not self.plain() or first[0] in _OTHERS or is_loop_probe(first):
            return None
        try:
            broker = await self._connecting(address)
        except UpstreamConnectionError:
            return None
        if not self.plain():
            broker.close()
            return None
        return self._relays.add(
            self,
            sock,
            remote,
            broker,
            address=address,
            relocation=self._relocation(address),
            on_close=on_close,
            back=back,
        )


def _read(data: bytes) -> tuple[Header, memoryview]:
    """The header and the body of a copied frame.

    Raises:
        WireError: the header cannot be read.
    """
    _, word = FRAME_PREFIX.unpack_from(data)
    end = FRAME_PREFIX.size + (word & _HEADER_BYTES)
    return decode_header(memoryview(data)[FRAME_PREFIX.size : end], word >> TYPE_SHIFT), memoryview(data)[end:]
