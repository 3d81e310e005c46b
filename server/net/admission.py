"""Who may connect: connections are counted in all and for each address, and take no descriptor that others need."""

from __future__ import annotations

import socket
from typing import Final

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.descriptors import Room
from rocketwire.server.net.in_flight import InFlight

_KEY: Final = "maxConnections"
_PAIR: Final = 2


class Admission:
    """Counts the connections of all listeners of a process.

    Attributes:
        limits: The limits in force.
        in_flight: The account of bytes that they share.
        descriptors: What they may take.
        farewells: What those may take who are told why they are refused.
        connections: How many there are.
    """

    def __init__(self, in_flight: InFlight, descriptors: Room | None = None, farewells: Room | None = None) -> None:
        """Admit as many as the limits say, and as there are descriptors for: without bound unless it is given."""
        self.limits = in_flight.limits
        self.in_flight = in_flight
        self.descriptors = descriptors or Room()
        self.farewells = farewells or Room()
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
            refusal = LimitExceeded(_KEY, config.max_connections)
        elif not self.descriptors.take():
            refusal = LimitExceeded(_KEY, self.descriptors.most)
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
        self.descriptors.give_back()
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def begin_tls(self, host: str) -> bool:
        """Count the pair of sockets of a connection that begins TLS; false: there are no descriptors for it."""
        fits = self.descriptors.take(_PAIR)
        if not fits:
            self.limits.refused(_KEY, host)
        return fits

    def end_tls(self) -> None:
        """The pair of such a connection is closed, but for the socket that `leave` counts."""
        self.descriptors.give_back(_PAIR)


def counted_as(host: str) -> str | bytes:
    """One who has an IPv6 address has its network's 2^64 others, too."""
    return socket.inet_pton(socket.AF_INET6, host)[:8] if ":" in host else host
