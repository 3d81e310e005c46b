"""Who may connect: connections are counted in all and for each address."""

from __future__ import annotations

import socket

from rocketwire.server.guard_errors import LimitExceeded
from rocketwire.server.in_flight import InFlight


class Admission:
    """Counts the connections of all listeners of a process.

    Attributes:
        limits: The limits in force.
        in_flight: The account of bytes that they share.
        connections: How many there are.
    """

    def __init__(self, in_flight: InFlight) -> None:
        self.limits = in_flight.limits
        self.in_flight = in_flight
        self.connections = 0
        self._of_address: dict[str | bytes, int] = {}

    def enter(self, host: str) -> LimitExceeded | None:
        """Count a connection from an address, or say why it is refused: then it is not counted."""
        config = self.limits.config
        address = counted_as(host)
        there = self._of_address.get(address, 0)
        refusal = None
        if there >= config.max_connections_per_address:
            refusal = LimitExceeded("maxConnectionsPerAddress", config.max_connections_per_address)
        elif self.connections >= config.max_connections:
            refusal = LimitExceeded("maxConnections", config.max_connections)
        if refusal is not None:
            self.limits.refused(refusal.key, host)
            return refusal
        self._of_address[address] = there + 1
        self.connections += 1
        return None

    def leave(self, host: str) -> None:
        """A connection that was counted is closed."""
        address = counted_as(host)
        self.connections -= 1
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]


def counted_as(host: str) -> str | bytes:
    """One who has an IPv6 address has its network's 2^64 others, too."""
    return socket.inet_pton(socket.AF_INET6, host)[:8] if ":" in host else host
