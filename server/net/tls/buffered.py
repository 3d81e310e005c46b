"""Back-pressure accounting of one TLS connection: the bytes it buffers until the client or the session reads."""

from __future__ import annotations

from typing import Final

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission.in_flight import InFlight

TO_CLIENT: Final = 0
TO_SESSION: Final = 1


class BufferedBytes:
    """Counts one connection's buffered bytes as bytes in flight, and ends the connection when the total is too much.

    Attributes:
        remote_text: The client's ``host:port``.
        scope: The cancel scope that the connection is served in.
        last_sign_of_life: When bytes began to wait.
    """

    __slots__ = ("_in_flight", "_refused", "_sizes", "last_sign_of_life", "remote_text", "scope")

    def __init__(self, in_flight: InFlight, remote_text: str) -> None:
        self._in_flight = in_flight
        self._sizes = [0, 0]
        self._refused = False
        self.remote_text = remote_text
        self.scope = trio.CancelScope()
        self.last_sign_of_life = 0.0

    @property
    def held(self) -> int:
        """Bytes that are counted now."""
        return sum(self._sizes)

    @property
    def silent_since(self) -> float:
        """When bytes began to wait: from then on little or nothing was transferred."""
        return self.last_sign_of_life

    def count(self, way: int, size: int) -> None:
        """Set how many bytes wait in one direction."""
        if self._refused:
            return
        if not self.held:
            self.last_sign_of_life = trio.current_time()
        more, self._sizes[way] = size - self._sizes[way], size
        self._in_flight.add(more)

    def refuse(self, _error: LimitExceeded) -> None:
        """End the connection, whose client does not read."""
        self.release()
        self.scope.cancel()

    def release(self) -> None:
        """Take all bytes out of the count, and ignore later ones."""
        for way in (TO_CLIENT, TO_SESSION):
            self.count(way, 0)
        self._refused = True
