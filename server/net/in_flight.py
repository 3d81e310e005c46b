"""The account of bytes in flight: received and not served yet, or answered and not sent yet, of all connections.

Drivers and sessions count what they hold; the kernel's hubs count theirs by themselves. When it is too much, the
connections that have been stuck longest are refused until it is well below, first those that are silent: a frame that
comes on as honest clients send it is newer than those that were left half sent. Who holds less than the average stays:
what an idle client's heartbeat takes is no reason to end its connection.

Answers count with the bytes made for them: what is sent from the commit log's pages as it stands takes no memory.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import trio

from rocketwire.server.config.limits import Limits
from rocketwire.server.core.guard_errors import LimitExceeded

KEY = "maxInFlightBytes"
_SILENT_SECONDS = 1.0


class Holder(Protocol):
    """A connection, as far as it holds bytes."""

    @property
    def remote_text(self) -> str:
        """``host:port`` of the other end."""

    @property
    def held(self) -> int:
        """How many bytes it holds."""

    @property
    def silent_since(self) -> float:
        """When bytes last went either way, in seconds of the event loop."""

    @property
    def stuck_since(self) -> float:
        """When it last got on, in seconds of the event loop."""

    def refuse(self, error: LimitExceeded) -> None:
        """Say why, if that can be said, let go what is held, and end."""


class Counting(Protocol):
    """Who counts for himself: a kernel's hub."""

    @property
    def held(self) -> int:
        """Bytes that its connections hold."""


class InFlight:
    """The account of one process.

    Attributes:
        limits: The limits in force.
        counted: Bytes that Python holds.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.counted = 0
        self._hubs: list[Counting] = []
        self._holders: list[Collection[Holder]] = []
        self._pressed = trio.Event()
        self._looked = trio.Event()
        self._stuck = False

    @property
    def total(self) -> int:
        """All bytes in flight."""
        return self.counted + sum(hub.held for hub in self._hubs)

    def watch(self, hub: Counting) -> None:
        """Count what a hub holds, too."""
        self._hubs.append(hub)

    def relieve_of(self, holders: Collection[Holder]) -> None:
        """Some of these may be refused when it is too much."""
        self._holders.append(holders)

    def add(self, size: int) -> None:
        """Count bytes that Python holds, or does no more if negative."""
        self.counted += size
        if size > 0:
            self.look()

    def look(self) -> None:
        """Have room made if it is too much: soon, not now."""
        if self.total > self.limits.config.max_in_flight_bytes:
            self._pressed.set()

    async def room(self) -> None:
        """Wait while it is too much, unless nothing can be done about it: many tasks may receive at once."""
        while self.total > self.limits.config.max_in_flight_bytes and not self._stuck:
            self._pressed.set()
            await self._looked.wait()

    def relieve(self) -> None:
        """Refuse those who are stuck, and hold no less than the average, if it is too much.

        An eighth of what may be in flight is free then.
        """
        most = self.limits.config.max_in_flight_bytes
        total = self.total
        if total <= most:
            return
        error = LimitExceeded(KEY, most)
        holders = [each for holders in self._holders for each in holders if each.held]
        average = sum(each.held for each in holders) / max(1, len(holders))
        silent = trio.current_time() - _SILENT_SECONDS
        large = (each for each in holders if each.held >= average)
        for holder in sorted(large, key=lambda each: (each.silent_since > silent, each.stuck_since)):
            if total <= most - most // 8:
                break
            total -= holder.held
            self.limits.refused(KEY, holder.remote_text)
            holder.refuse(error)

    async def run(self) -> None:
        """Make room whenever it is needed, for ever."""
        while True:
            await self._pressed.wait()
            self._pressed = trio.Event()
            self.relieve()
            self._stuck = self.total > self.limits.config.max_in_flight_bytes
            self._looked.set()
            self._looked = trio.Event()
            await trio.lowlevel.checkpoint()
