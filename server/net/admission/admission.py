"""Admission of connections: limits them in total, per address, and by the descriptors reserved for connections."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.server.net.admission.in_flight import InFlight

_BURST_SECONDS: Final = 1.0
"""After a quiet time the connections of so many seconds begin at once."""
_CLEANED_AT: Final = 1024


class ConnectionRate:
    """How many connections of one address begin to be served in a second: further ones wait, and none is refused.

    Of an address only one number is kept, the time at which its connections so far would have begun one by one at the
    rate ("generic cell rate algorithm"), and that only while it is in the future.
    """

    def __init__(self, rate: Callable[[], int]) -> None:
        """Allow `rate()` connections of one address in a second."""
        self._rate = rate
        self._paid_until: dict[str | bytes, float] = {}
        self._cleaned_at = _CLEANED_AT

    def allowed_at(self, address: str | bytes) -> float:
        """From when on the next connection of an address may begin, in seconds of the event loop."""
        return self._paid_until.get(address, 0.0) - _BURST_SECONDS

    def count(self, address: str | bytes, now: float) -> None:
        """Count a connection that begins now."""
        self._paid_until[address] = max(self._paid_until.get(address, 0.0), now) + 1 / self._rate()
        if len(self._paid_until) > self._cleaned_at:
            self._paid_until = {each: until for each, until in self._paid_until.items() if until > now}
            self._cleaned_at = max(_CLEANED_AT, 2 * len(self._paid_until))


_KEY: Final = "maxConnections"
_PAIR: Final = 2


class Admission:
    """Counts the connections of all listeners of a process.

    Attributes:
        limits: The limits in force.
        in_flight: The count of their bytes in flight.
        descriptors: The descriptors reserved for connections.
        linger_budget: The descriptors reserved for connections whose refusal is answered.
        connections: How many are open.
        opening: Held by the listener that accepts connections or begins to serve them, for one pass of the event loop.
        rate: How many connections of an address begin to be served in a second.
    """

    def __init__(
        self,
        in_flight: InFlight,
        descriptors: DescriptorBudget | None = None,
        linger_budget: DescriptorBudget | None = None,
    ) -> None:
        """Admit as many connections as the limits and `descriptors` allow; None: descriptors are not limited."""
        self.limits = in_flight.limits
        self.in_flight = in_flight
        self.descriptors = descriptors or DescriptorBudget()
        self.linger_budget = linger_budget or DescriptorBudget()
        self.connections = 0
        self.opening = trio.Lock()
        self.rate = ConnectionRate(lambda: self.limits.keys.current.max_new_connections_per_address)
        self._of_address: dict[str | bytes, int] = {}

    def enter(self, host: str) -> LimitExceeded | None:
        """Count a connection from an address, or return why it is refused; a refused one is not counted."""
        keys = self.limits.keys.current
        address = rate_group(host)
        there = self._of_address.get(address, 0)
        refusal = None
        if there >= keys.max_connections_per_address:
            refusal = LimitExceeded("maxConnectionsPerAddress", keys.max_connections_per_address)
        elif self.connections >= keys.max_connections:
            refusal = LimitExceeded(_KEY, keys.max_connections)
        elif not self.descriptors.take():
            refusal = LimitExceeded(_KEY, self.descriptors.most)
        if refusal is not None:
            self.limits.count_refusal(refusal.key, host)
            return refusal
        self._of_address[address] = there + 1
        self.connections += 1
        return None

    def leave(self, host: str) -> None:
        """Uncount a closed connection."""
        address = rate_group(host)
        self.connections -= 1
        self.descriptors.give_back()
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]

    def begin_tls(self, host: str) -> bool:
        """Reserve the socket pair of a TLS connection; false: all descriptors are in use."""
        fits = self.descriptors.take(_PAIR)
        if not fits:
            self.limits.count_refusal(_KEY, host)
        return fits

    def end_tls(self) -> None:
        """Release the socket pair of a TLS connection, except for the socket that `leave` counts."""
        self.descriptors.give_back(_PAIR)


def rate_group(host: str) -> str | bytes:
    """The key under which an address is counted: for IPv6 its /64 network, whose 2^64 addresses one client may have."""
    return socket.inet_pton(socket.AF_INET6, host)[:8] if ":" in host else host
