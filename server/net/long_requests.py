"""The long requests of one connection: later requests of its client wait until they are done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import trio

from rocketwire.server.net.admission.in_flight import InFlight


class LongRequestOwner(Protocol):
    """The connection that long requests come from."""

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it, which must not end the others."""

    def go_on(self) -> None:
        """Serve the requests that waited for the long one, which has ended."""


class LongRequests:
    """Carries out the long requests of one connection.

    Attributes:
        count: How many are being carried out.
        size: Their bytes, which are in flight meanwhile.
    """

    __slots__ = ("_in_flight", "_nursery", "count", "size")

    def __init__(self, nursery: trio.Nursery, in_flight: InFlight) -> None:
        self._nursery = nursery
        self._in_flight = in_flight
        self.count = 0
        self.size = 0

    def run(self, task: Callable[[], Awaitable[None]], size: int, owner: LongRequestOwner) -> None:
        """Carry out a request of `size` bytes in a task."""
        self._begin(size)
        self._nursery.start_soon(self._carry_out, task, size, owner)

    def begin(self, start: Callable[[Callable[[], None]], None], size: int, owner: LongRequestOwner) -> None:
        """As `run`, but without a task: `start` begins the request, and gets what is called once it is answered."""
        self._begin(size)
        starts = True

        def ended() -> None:
            self._end(size)
            if not starts:
                owner.go_on()

        start(ended)
        starts = False

    async def _carry_out(self, task: Callable[[], Awaitable[None]], size: int, owner: LongRequestOwner) -> None:
        try:
            await task()
        except Exception as error:  # noqa: BLE001 - it is logged: a bug in one request must not end the others
            owner.failed(error)
        finally:
            self._end(size)
        owner.go_on()

    def _begin(self, size: int) -> None:
        self.count += 1
        self.size += size
        self._in_flight.add(size)

    def _end(self, size: int) -> None:
        self.count -= 1
        self.size -= size
        self._in_flight.add(-size)
