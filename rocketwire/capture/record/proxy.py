"""The recording proxy: one listener for the name server, and one for each broker that its answers name."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import trio

from rocketwire.capture.errors import CannotListen, CaptureError
from rocketwire.capture.file.events import (
    ConnectionOpened,
    Event,
    FrameSent,
    RecordingStarted,
    RecordingStopped,
    Role,
    StreamEnded,
    StreamSource,
)
from rocketwire.capture.file.writer import RecordingWriter
from rocketwire.capture.record.relay import RecordedConnection, RecordingOptions
from rocketwire.capture.record.routes import VIP_DISTANCE, listen_for_broker, port_of
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address

FLUSH_SECONDS: Final = 0.5
"""What was recorded is in the file after so many seconds."""
_READ: Final = 64 << 10
Stream: TypeAlias = "trio.SocketStream | trio.SSLStream[trio.SocketStream]"


@dataclass(slots=True)
class RecordedCounts:
    """What was recorded: connections, frames, and their bytes as they were sent."""

    connections: int = 0
    frames: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What is recorded.

    Attributes:
        name_servers: Of these the first that can be reached is used.
        tls: Encrypts the connections to it; None for plain ones.
        timeout: Seconds that connecting may take.
    """

    name_servers: tuple[Address, ...]
    tls: ssl.SSLContext | None = None
    timeout: float = 15.0


class RecordingProxy:
    """Records what passes between clients and an endpoint.

    Args:
        upstream: The endpoint.
        writer: The file.
        options: What is recorded.
        now: Microseconds since the start.
        warn: Gets a line about what clients cannot reach through the proxy.
    """

    def __init__(
        self,
        upstream: Upstream,
        writer: RecordingWriter,
        *,
        options: RecordingOptions,
        now: Callable[[], int],
        warn: Callable[[str], None],
    ) -> None:
        self._upstream = upstream
        self._writer = writer
        self._options = options
        self._now = now
        self._warn = warn
        self._nursery: trio.Nursery | None = None
        self._ports: dict[str, int | None] = {}
        self._host = ""
        self.counts = RecordedCounts()

    async def run(
        self, sock: socket.socket, *, host: str, wall: int, program: str, ready: Callable[[Address], None]
    ) -> None:
        """Record until cancelled.

        Args:
            sock: Listens where clients find the name server; it is closed at the end.
            host: What it listens on, a name or an address; the listeners for brokers do, too.
            wall: The time, milliseconds since 1970.
            program: Name and version of the program that records.
            ready: Gets the address once clients can connect.

        Raises:
            RecordingUnwritable: the file cannot be written.
        """
        self._host = host
        names = ";".join(map(str, self._upstream.name_servers))
        self._add(
            RecordingStarted(
                time=0,
                wall=wall,
                upstream=names,
                program=program,
                bodies=self._options.bodies,
                secrets=self._options.secrets,
            )
        )
        try:
            async with trio.open_nursery() as self._nursery:
                self._serve(sock, Role.NAME_SERVER, self._upstream.name_servers)
                self._nursery.start_soon(self._flush)
                ready(Address(host=host, port=port_of(sock)))
        except BaseExceptionGroup as group:
            failure = _first(group)
            if failure is not None:
                raise failure from None
            raise
        finally:
            self._add(RecordingStopped(time=self._now()))

    async def _flush(self) -> None:
        while True:
            self._writer.flush()
            await trio.sleep(FLUSH_SECONDS)

    def _add(self, event: Event) -> None:
        if isinstance(event, FrameSent):
            self.counts.frames += 1
            self.counts.bytes += event.size
        self._writer.add(event)

    def _serve(self, sock: socket.socket, role: Role, servers: tuple[Address, ...]) -> None:
        assert self._nursery is not None  # noqa: S101 - run() has opened it
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
        handler = partial(self._connection, role, servers)
        self._nursery.start_soon(partial(trio.serve_listeners, handler, [listener]))

    def _local(self, host: str, address: str) -> str:
        """The proxy's address in the place of a broker's, for clients that reach the proxy by `host`."""
        if address not in self._ports:
            self._ports[address] = self._listen_for(address)
        port = self._ports[address]
        return address if port is None else str(Address(host=host, port=port))

    def _listen_for(self, address: str) -> int | None:
        try:
            broker = parse_address(address)
            main, vip = listen_for_broker(self._host)
        except (AddressInvalid, CannotListen) as error:
            self._warn(f"clients reach broker {address} past the proxy: {error}")
            return None
        self._serve(main, Role.BROKER, (broker,))
        self._serve(vip, Role.BROKER, (Address(host=broker.host, port=max(0, broker.port - VIP_DISTANCE)),))
        return port_of(main)

    async def _connection(self, role: Role, servers: tuple[Address, ...], client: trio.SocketStream) -> None:
        self.counts.connections += 1
        number = self.counts.connections
        async with client:
            try:
                host, peer = _plain(client.socket.getsockname()[0]), client.socket.getpeername()
            except OSError:  # it is closed already
                return
            server, address, reason = await self._connected(servers)
            self._add(
                ConnectionOpened(
                    time=self._now(),
                    connection=number,
                    role=role,
                    client=str(Address(host=_plain(peer[0]), port=peer[1])),
                    server=str(address),
                )
            )
            if server is None:
                self._end(number, StreamSource.SERVER, reason)
                return
            relay = RecordedConnection(
                number, role, add=self._add, now=self._now, local=partial(self._local, host), options=self._options
            )
            async with server, trio.open_nursery() as nursery:
                for side, source, sink in (
                    (StreamSource.CLIENT, client, server),
                    (StreamSource.SERVER, server, client),
                ):
                    nursery.start_soon(self._pump, number, side, source, sink, relay, nursery.cancel_scope)

    async def _connected(self, servers: tuple[Address, ...]) -> tuple[Stream | None, Address, str]:
        """The connection to the first server that is reached, its address, and why there is none."""
        reason = ""
        for address in servers:
            try:
                with trio.fail_after(self._upstream.timeout):
                    plain = await trio.open_tcp_stream(address.host, address.port)
                    if self._upstream.tls is None:
                        return plain, address, ""
                    encrypted = trio.SSLStream(
                        plain, self._upstream.tls, server_hostname=address.host, https_compatible=True
                    )
                    await encrypted.do_handshake()
                    return encrypted, address, ""
            except (OSError, trio.TooSlowError, trio.BrokenResourceError) as error:
                reason = _reason(error)
        return None, servers[-1], reason

    async def _pump(
        self,
        number: int,
        side: StreamSource,
        source: Stream,
        sink: Stream,
        relay: RecordedConnection,
        both: trio.CancelScope,
    ) -> None:
        """Hand on what one side sends, no faster than the other takes it, until it ends."""
        other = StreamSource.SERVER if side is StreamSource.CLIENT else StreamSource.CLIENT
        failing = side
        try:
            while data := await source.receive_some(_READ):
                passed = relay.passed(side, bytes(data))
                failing = other
                await sink.send_all(passed)
                failing = side
            rest = relay.ended(side)
            self._end(number, side)
            failing = other
            await sink.send_all(rest)
            if isinstance(sink, trio.SSLStream):
                both.cancel()  # TLS has no way to end one direction only
            else:
                await sink.send_eof()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            relay.ended(side)
            if not both.cancel_called:
                self._end(number, failing, _reason(error))
            both.cancel()

    def _end(self, number: int, side: StreamSource, reason: str = "") -> None:
        self._add(StreamEnded(time=self._now(), connection=number, source=side, reason=reason))


def _first(group: BaseExceptionGroup[BaseException]) -> CaptureError | None:
    """The error of a recording in a group of errors."""
    for error in group.exceptions:
        if isinstance(error, CaptureError):
            return error
        if isinstance(error, BaseExceptionGroup) and (found := _first(error)) is not None:
            return found
    return None


def _plain(host: str) -> str:
    """An IPv4 address as such, which a socket of both families has as an IPv6 one."""
    return host.removeprefix("::ffff:") if "." in host else host


def _reason(error: BaseException) -> str:
    """Why a connection failed: the innermost cause, in words."""
    while isinstance(error, BaseExceptionGroup) or error.__cause__ is not None:
        error = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error
    return "no connection in time" if isinstance(error, trio.TooSlowError) else str(error) or type(error).__name__
