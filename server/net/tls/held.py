"""What one TLS connection holds for its ends until they read, as a part of the account of bytes in flight."""

from __future__ import annotations

from typing import Final

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.in_flight import InFlight

TO_CLIENT: Final = 0
TO_SESSION: Final = 1


class Held:
    """Counts one connection's bytes, and ends it when they are too much for all.

    Attributes:
        remote_text: The client's ``host:port``.
        scope: What serves the connection runs in it.
        stuck_since: When bytes began to wait.
    """

    __slots__ = ("_in_flight", "_refused", "_sizes", "remote_text", "scope", "stuck_since")

    def __init__(self, in_flight: InFlight, remote_text: str) -> None:
        self._in_flight = in_flight
        self._sizes = [0, 0]
        self._refused = False
        self.remote_text = remote_text
        self.scope = trio.CancelScope()
        self.stuck_since = 0.0

    @property
    def held(self) -> int:
        """Bytes in the account."""
        return sum(self._sizes)

    @property
    def silent_since(self) -> float:
        """When bytes began to wait: nothing comes or goes from then on, or little."""
        return self.stuck_since

    def count(self, way: int, size: int) -> None:
        """Have so many bytes wait on one of the ways, in place of those before."""
        if self._refused:
            return
        if not self.held:
            self.stuck_since = trio.current_time()
        more, self._sizes[way] = size - self._sizes[way], size
        self._in_flight.add(more)

    def refuse(self, _error: LimitExceeded) -> None:
        """End the connection; that its client does not read is why it is refused."""
        self.let_go()
        self.scope.cancel()

    def let_go(self) -> None:
        """Count nothing any more."""
        for way in (TO_CLIENT, TO_SESSION):
            self.count(way, 0)
        self._refused = True
