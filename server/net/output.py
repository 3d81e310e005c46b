"""The output of one connection: buffers bytes for its socket and counts them as bytes in flight.

Answers gather in the outbox during a read and leave in one system call at its end; what the socket does not take at
once is written by a task that runs only while bytes remain. A connection with more buffered bytes than the limits
allow is closed.
"""

from __future__ import annotations

import socket
from typing import Final, Protocol

import trio

from rocketwire.server.limits.limits import CONNECTION_BYTES_KEY
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.outbox import Outbox
from rocketwire.wire.frame import Buffer

HIGH_WATER: Final = 4 * 1024 * 1024
"""A connection with more bytes of unsent answers is congested: its client does not read."""


class OutputOwner(Protocol):
    """The connection that an output belongs to."""

    @property
    def remote_text(self) -> str:
        """``host:port`` of the other end."""

    def output_waits(self, *, waits: bool) -> None:
        """From now on a task writes what the socket did not take; false: it has ended."""

    def output_progressed(self) -> None:
        """That task has written something."""

    def output_sent(self) -> None:
        """That task has written everything."""

    def close(self) -> None:
        """Close the connection: it is broken, or holds too much."""


class Output:
    """The writing part of a connection.

    Attributes:
        sock: The socket, which `close` closes.
        writing: Whether a task writes what the socket did not take.
    """

    __slots__ = ("_counted", "_drained", "_in_flight", "_kept", "_nursery", "_outbox", "_owner", "sock", "writing")

    def __init__(self, sock: socket.socket, owner: OutputOwner, *, nursery: trio.Nursery, in_flight: InFlight) -> None:
        self.sock = sock
        self.writing = False
        self._owner = owner
        self._nursery = nursery
        self._in_flight = in_flight
        self._outbox = Outbox(sock)
        self._counted = 0  # bytes of the outbox that are counted as in flight
        self._kept = 0
        self._drained: trio.Event | None = None  # most connections are never congested

    @property
    def size(self) -> int:
        """Bytes that are not sent."""
        return self._outbox.size

    @property
    def congested(self) -> bool:
        """Whether more answers wait than those of a client that reads."""
        return self._outbox.size > HIGH_WATER

    @property
    def held(self) -> int:
        """Bytes in flight: what waits for the socket, and what is kept until the client leaves."""
        return self._counted + self._kept

    async def drained(self) -> None:
        """Wait until it is no longer congested, or is closed; for one task at a time."""
        while self.congested:
            self._drained = trio.Event()
            await self._drained.wait()

    def write(self, *chunks: Buffer) -> None:
        """Put bytes in the outbox; `flush` sends them."""
        self._outbox.put(chunks)
        if self.writing:
            self._count()

    def flush(self) -> None:
        """Send what is buffered; the rest follows as the socket takes it."""
        if self.writing or not self._outbox.size:
            return
        try:
            self._outbox.send()
        except OSError:
            self._owner.close()
            return
        if self._outbox.size:
            self.writing = True
            self._owner.output_waits(waits=True)
            self._nursery.start_soon(self._write_rest, self._owner)
            self._count()

    def send_now(self) -> None:
        """Send what the socket takes at once, before the connection is closed; nothing if a task writes.

        Raises:
            OSError: the connection is broken.
        """
        if not self.writing:
            self._outbox.send()

    def keep(self, size: int) -> None:
        """Count about so many bytes of memory as kept for the client until its connection ends."""
        more, self._kept = size - self._kept, size
        self._in_flight.add(more)

    def close(self) -> None:
        """Close the socket and drop what is buffered; once."""
        trio.lowlevel.notify_closing(self.sock)
        self.sock.close()
        self._outbox.clear()
        self._wake()
        self._in_flight.add(-self._counted - self._kept)
        self._counted = self._kept = 0
        del self._owner  # a cycle, which only the collector would find

    def _wake(self) -> None:
        """Wake the task that waits until it is no longer congested."""
        if self._drained is not None:
            self._drained.set()

    async def _write_rest(self, owner: OutputOwner) -> None:
        try:
            while self._outbox.size:
                await trio.lowlevel.wait_writable(self.sock)
                self._outbox.send()
                self._count()
                owner.output_progressed()
                if not self.congested:
                    self._wake()
            owner.output_sent()
        except (OSError, trio.ClosedResourceError):
            owner.close()
        finally:
            self.writing = False
            owner.output_waits(waits=False)

    def _count(self) -> None:
        """Count what the socket does not take; close the connection if that exceeds its limit."""
        owned = self._outbox.owned
        more = owned - self._counted
        self._counted = owned
        self._in_flight.add(more)
        limits = self._in_flight.limits
        if more > 0 and owned > limits.keys.current.max_in_flight_bytes_per_connection:
            limits.count_refusal(CONNECTION_BYTES_KEY, self._owner.remote_text)
            self._owner.close()
