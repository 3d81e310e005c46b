"""The output of one connection: buffers bytes for its socket and counts them as bytes in flight.

Answers gather in the outbox during a read and leave in one system call at its end; what the socket does not take at
once is written by a task that runs only while something is left. A connection with more buffered bytes than the limits
allow is closed.
"""

from __future__ import annotations

import socket
from typing import Final

import trio

from rocketwire.server.limits.limits import CONNECTION_BYTES_KEY
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.driver import ConnectionDriver
from rocketwire.server.net.outbox import Outbox
from rocketwire.wire.addresses import Address
from rocketwire.wire.frame import Buffer
from rocketwire.wire.hosts import encode_host

HIGH_WATER: Final = 4 * 1024 * 1024
"""A connection with more bytes of unsent answers is congested: its client does not read."""


class Outgoing:
    """The writing part of a client's connection.

    Attributes:
        driver: Reads the connection; set right after construction.
        host: The client's address.
        remote: The client's address and port.
        in_flight: The bytes in flight of all connections.
        remote_text: The client's ``host:port``.
        born_host: The client's address as records hold it.
    """

    __slots__ = (
        "_closed",
        "_counted",
        "_drained",
        "_kept",
        "_nursery",
        "_outbox",
        "_sock",
        "born_host",
        "driver",
        "host",
        "in_flight",
        "remote",
        "remote_text",
    )

    def __init__(
        self, sock: socket.socket, remote: tuple[str, int], *, nursery: trio.Nursery, in_flight: InFlight
    ) -> None:
        self._sock = sock
        self._nursery = nursery
        self.in_flight = in_flight
        self._outbox = Outbox(sock)
        self._counted = 0  # bytes of the outbox that are counted as in flight
        self._kept = 0
        self._closed = False
        self._drained: trio.Event | None = None
        self.driver: ConnectionDriver
        host, port = self.remote = remote
        self.host = host
        self.remote_text = str(Address(host=host, port=port))
        self.born_host = encode_host(host, port)

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""
        return self._closed

    @property
    def congested(self) -> bool:
        """Whether more answers wait than those of a client that reads."""
        return self._outbox.size > HIGH_WATER

    async def drained(self) -> None:
        """Wait until it is no longer congested, or is closed; for one task at a time."""
        while self.congested and not self._closed:
            self._drained = trio.Event()
            await self._drained.wait()

    @property
    def stalled(self) -> bool:
        """Whether to read no further requests now."""
        return self.congested

    @property
    def unsent(self) -> int:
        """Bytes of unsent answers."""
        return self._outbox.size

    @property
    def held(self) -> int:
        """Bytes in flight: the driver's, the outbox's, and what is kept until the client leaves."""
        return self.driver.held + self._counted + self._kept

    def write(self, *chunks: Buffer) -> None:
        """Put bytes in the outbox; `flush` sends them. Nothing happens once the connection is closed."""
        if self._closed:
            return
        self._outbox.put(chunks)
        if self.driver.writing:
            self._count()

    def _count(self) -> None:
        """Count what the socket does not take; close the connection if that exceeds its limit."""
        owned = self._outbox.owned
        more = owned - self._counted
        self._counted = owned
        self.in_flight.add(more)
        limits = self.in_flight.limits
        if more > 0 and owned > limits.keys.current.max_in_flight_bytes_per_connection:
            limits.count_refusal(CONNECTION_BYTES_KEY, self.remote_text)
            self.close()

    def flush(self) -> None:
        """Send what is buffered; the rest follows as the socket takes it."""
        if self.driver.writing or not self._outbox.size:
            return
        try:
            self._outbox.send()
        except OSError:
            self.close()
            return
        if self._outbox.size and not self._closed:
            self.driver.writing = True
            self._count()
            self._nursery.start_soon(self._write_rest)

    async def _write_rest(self) -> None:
        driver = self.driver
        try:
            while self._outbox.size and not self._closed:
                await trio.lowlevel.wait_writable(self._sock)
                self._outbox.send()
                self._count()
                driver.last_activity = trio.current_time()
                if not self.stalled:
                    driver.resume()
                if self._drained is not None and not self.congested:
                    self._drained.set()
            self._sent()
        except (OSError, trio.ClosedResourceError):
            self.close()
        finally:
            driver.writing = False

    def _sent(self) -> None:
        """Called when all buffered bytes are written, or lost with the connection."""

    def move_to(self, sock: socket.socket) -> socket.socket:
        """Continue over another socket, which needs a driver of its own; return the former one, now the caller's.

        For a connection on which nothing was served and whose driver is closed.
        """
        former, self._sock = self._sock, sock
        self._outbox = Outbox(sock)
        return former

    def hand_over(self) -> socket.socket:
        """Give the socket away: this connection goes on in another form, and this one is closed without a word.

        For a connection on which nothing was served and whose driver is closed.
        """
        self._closed = True
        return self._sock

    def keep(self, size: int) -> None:
        """Count about so many bytes of memory as kept for the client until its connection ends."""
        if not self._closed:
            more, self._kept = size - self._kept, size
            self.in_flight.add(more)

    def close(self) -> None:
        """Close the socket and drop what is buffered; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        if self._drained is not None:
            self._drained.set()
        self.driver.close()
        trio.lowlevel.notify_closing(self._sock)
        self._sock.close()
        self._outbox.clear()
        self.in_flight.add(-self._counted - self._kept)
        self._counted = self._kept = 0
