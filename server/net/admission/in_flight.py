"""Back-pressure: counts the bytes in flight of all connections, received but not served, or answered but not sent.

Drivers and sessions count what they hold; the kernel's hubs count theirs themselves. Above the limit, the connections
that have been stuck longest are refused until the total is well below it, silent ones first: frames that honest clients
are still sending are newer than those whose clients have stopped. A connection that holds less than the average stays:
the bytes of an idle client's heartbeat are no reason to end its connection.

Answers count with the bytes allocated for them: what is sent directly from the commit log's pages takes no memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection
from functools import cache
from typing import Final, Protocol

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.limits.limits import Limits

FREED_LEAST: Final = 16 << 20
"""So many bytes less in flight than there were are worth the search for free pages. It takes 4 ms for these, and more
if more is free, so it is done often."""
FREED_AGAIN: Final = 8
"""How often it is searched after that: the memory of closed connections is freed in steps."""


class FreedMemory:
    """Compares the bytes in flight from time to time, and gives freed memory back to the system.

    The C library keeps freed memory for its next use, all of it below the last block in use. That is right for a
    moment, and wrong after clients made the process keep hundreds of MiB that it needs no more.
    """

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = give_back
        self._highest = 0
        self._again = 0

    def look(self, highest: int, now: int) -> None:
        """Set how many bytes are in flight now, and how many there were at most since the last call."""
        self._highest = max(self._highest, highest)
        if self._highest - now >= FREED_LEAST:
            self._highest, self._again = now, FREED_AGAIN
        if self._again:
            self._again -= 1
            self._give_back()


@cache
def _trim() -> Callable[[int], int] | None:
    """The function of GNU's C library; None: it is another one."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except AttributeError:
        return None
    trim.argtypes = [ctypes.c_size_t]
    return trim


def return_free_memory() -> None:
    """Have the C library give back free pages."""
    trim = _trim()
    if trim is not None:
        trim(0)


IN_FLIGHT_KEY = "maxInFlightBytes"
_SILENT_SECONDS = 1.0
_FREED_SECONDS = 0.25
_MUCH_FREED = 64 << 20
"""How often memory is returned to the system if possible: also after so many bytes, for it takes 1 ms for each 5 MiB,
and blocks all tasks that need memory meanwhile."""


class ByteHolder(Protocol):
    """A connection, as the holder of bytes in flight."""

    @property
    def remote_text(self) -> str:
        """``host:port`` of the other end."""

    @property
    def held(self) -> int:
        """How many bytes it holds."""

    @property
    def silent_since(self) -> float:
        """When bytes were last received or sent, in seconds of the event loop."""

    @property
    def last_sign_of_life(self) -> float:
        """When it last made progress, in seconds of the event loop."""

    def refuse(self, error: LimitExceeded) -> None:
        """Send the error if possible, release what is held, and end."""


class KernelByteCount(Protocol):
    """A kernel's hub, which counts for itself."""

    @property
    def held(self) -> int:
        """Bytes that its connections hold."""


class InFlight:
    """The bytes in flight of one process.

    Attributes:
        limits: The limits in force.
        counted: Bytes that Python holds.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.counted = 0
        self._highest = 0  # that were in flight since memory was last returned
        self._freed = FreedMemory(return_free_memory)
        self._released = 0  # since memory was last returned
        self._much_released = trio.Event()
        self._hubs: list[KernelByteCount] = []
        self._holders: dict[int, Collection[ByteHolder]] = {}
        self._pressed = trio.Event()
        self._looked = trio.Event()
        self._stuck = False

    @property
    def total(self) -> int:
        """All bytes in flight."""
        total = self.counted
        for hub in self._hubs:
            total += hub.held
        return total

    @property
    def is_full(self) -> bool:
        """Whether the limit is exceeded."""
        return self.total > self.limits.keys.current.max_in_flight_bytes

    def count_hub(self, hub: KernelByteCount) -> None:
        """Include what a hub holds."""
        self._hubs.append(hub)

    def register_holders(self, holders: Collection[ByteHolder]) -> None:
        """Register holders that may be refused when the limit is exceeded."""
        self._holders[id(holders)] = holders

    def unregister_holders(self, holders: Collection[ByteHolder]) -> None:
        """Take back `register_holders`."""
        self._holders.pop(id(holders), None)

    def add(self, size: int) -> None:
        """Add bytes that Python holds; negative: they are released."""
        self.counted += size
        if size > 0:
            self.check_limit()
        else:
            self._released -= size
            if self._released >= _MUCH_FREED:
                self._much_released.set()

    def check_limit(self) -> None:
        """Wake the task that makes room, if the limit is exceeded."""
        total = self.total
        self._highest = max(self._highest, total)
        if total > self.limits.keys.current.max_in_flight_bytes:
            self._pressed.set()

    async def wait_for_room(self) -> None:
        """Wait while the limit is exceeded and something can be done about it: many tasks may receive at once."""
        while self.is_full and not self._stuck:
            self._pressed.set()
            await self._looked.wait()

    def make_room(self) -> None:
        """If the limit is exceeded, refuse stuck connections that hold no less than the average.

        Afterwards an eighth of the limit is free.
        """
        most = self.limits.keys.current.max_in_flight_bytes
        total = self.total
        if total <= most:
            return
        error = LimitExceeded(IN_FLIGHT_KEY, most)
        holders = [each for holders in self._holders.values() for each in holders if each.held]
        average = sum(each.held for each in holders) / max(1, len(holders))
        silent = trio.current_time() - _SILENT_SECONDS
        large = (each for each in holders if each.held >= average)
        for holder in sorted(large, key=lambda each: (each.silent_since > silent, each.last_sign_of_life)):
            if total <= most - most // 8:
                break
            total -= holder.held
            self.limits.count_refusal(IN_FLIGHT_KEY, holder.remote_text)
            holder.refuse(error)

    async def run(self) -> None:
        """Make room whenever it is needed, and give back memory; never returns."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._give_back_memory)
            await self._make_room_when_full()

    async def _give_back_memory(self) -> None:
        while True:
            with trio.move_on_after(_FREED_SECONDS):
                await self._much_released.wait()
            self._released, self._much_released = 0, trio.Event()
            now = self.total
            self._freed.look(max(self._highest, now), now)
            self._highest = now

    async def _make_room_when_full(self) -> None:
        while True:
            await self._pressed.wait()
            self._pressed = trio.Event()
            self.make_room()
            self._stuck = self.is_full
            self._looked.set()
            self._looked = trio.Event()
            await trio.lowlevel.checkpoint()
