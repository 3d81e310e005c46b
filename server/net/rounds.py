"""Reads many connections in one task, in rounds: what can be read at one moment is served, then all is answered.

A client that sleeps is woken by the first bytes that come for it, and that costs the sender: up to half of the time of
a loop that answers each connection separately. Answers that leave close together find the client awake. A round of one
connection is answered at once.

Finding out which connections can be read costs a system call a round. So one connection is read by its own task, and so
are two, as long as their clients make one call at a time.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator
from typing import Final, Protocol

import trio

from rocketwire.server.net.admission.in_flight import InFlight

_MOST: Final = 64
"""How many connections a round has at most."""
_FEW: Final = 2
"""So many connections are read in rounds only if their clients have several calls in flight."""
_SECONDS: Final = 0.001
"""How long a round reads; it is continued by the next one."""


class RoundMember(Protocol):
    """A connection's driver, as rounds know it."""

    def read(self) -> bool:
        """Read once and serve that; return whether it is to be answered. It must not fail."""

    def send_out(self) -> None:
        """Send the answers. It must not fail, and may leave."""


class ReadRounds:
    """The connections that wait for their clients; `run` reads them.

    Args:
        in_flight: Pauses all reading while too many bytes are in flight.
    """

    def __init__(self, in_flight: InFlight) -> None:
        self._epoll = select.epoll()
        self._in_flight = in_flight
        self._reading: dict[int, RoundMember] = {}
        self._unserved: list[tuple[int, int]] = []
        self._connections = 0

    def should_join(self, *, several: bool) -> bool:
        """Whether a connection should join, whose client has several calls in flight, or one."""
        return self._connections > (1 if several else _FEW)

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count a connection as long as it is open."""
        self._connections += 1
        try:
            yield
        finally:
            self._connections -= 1

    def join(self, descriptor: int, reading: RoundMember) -> None:
        """Read a connection from now on, unless reading is over."""
        if self._epoll.closed:
            return
        self._reading[descriptor] = reading
        self._epoll.register(descriptor, select.EPOLLIN)

    def leave(self, descriptor: int) -> None:
        """Stop reading it; to be called before it is closed. Nothing happens if it is not read in rounds."""
        if self._reading.pop(descriptor, None) is not None:
            self._epoll.unregister(descriptor)

    async def run(self) -> None:
        """Read; never returns."""
        try:
            while True:
                if self._unserved:
                    await trio.lowlevel.checkpoint()
                else:
                    await trio.lowlevel.wait_readable(self._epoll.fileno())
                if self._in_flight.is_full:
                    await self._in_flight.wait_for_room()
                self._round()
        finally:
            self._reading.clear()
            self._epoll.close()

    def _round(self) -> None:
        ready = self._unserved or self._epoll.poll(0, _MOST)
        until = trio.current_time() + _SECONDS
        read: list[RoundMember] = []
        at = 0
        for descriptor, _ in ready:
            at += 1
            reading = self._reading.get(descriptor)
            if reading is not None and reading.read():
                read.append(reading)
            if trio.current_time() > until or self._in_flight.is_full:
                break
        self._unserved = ready[at:]
        for reading in read:
            reading.send_out()
