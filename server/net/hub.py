"""The kernel's hub: one task reads all connections of one or more listeners, and serves their requests in rounds."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, Protocol

import trio

from rocketwire import native
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.driver import ConnectionDriver
from rocketwire.server.net.session import Session
from rocketwire.wire.connection import RawFrame

log = logging.getLogger(__name__)

_LONGEST_SECONDS: Final = 0.002
"""How long rounds follow each other before other tasks run."""
_POLLS: Final = 40
"""How often the hub polls for clients that send again at once, about 20 us: a pass of the event loop takes longer."""
_PAUSE: Final = 32
"""After polling without a result it does not poll so many times."""


class KernelFrames(Protocol):
    """The Python side of a kind of frames that the kernel serves.

    Attributes:
        native: The kernel's object that the hub gives the frames to.
    """

    native: Any

    def before_round(self, now: int, *, guarded: bool) -> None:
        """Set what the kernel may do in the next round, which takes place at this time in ms.

        The kernel takes nothing while the listener is guarded: Python must see every request.
        """

    def after_round(self) -> None:
        """Account for what the kernel did; called after rounds in which it took frames of this path."""


class Hub:
    """Reads the sockets of many sessions in one task."""

    def __init__(
        self,
        kernel: ModuleType,
        *,
        clock: Clock,
        settle: Callable[[], None] = lambda: None,
        sends: KernelFrames | None = None,
        pulls: KernelFrames | None = None,
        single_turns: Callable[[], bool] = lambda: False,
        guarded: Callable[[], bool] = lambda: False,
        in_flight: InFlight,
    ) -> None:
        """Make one of the kernel's hubs.

        Args:
            kernel: The module; see `hub_kernel`.
            clock: The store time of messages.
            settle: Called when a round's answers are sent.
            sends: The path of sends, or None: Python serves them.
            pulls: The path of pulls, or None: Python serves them.
            single_turns: Whether one pass of the event loop must serve exactly what is readable at one moment.
            guarded: Whether Python must see every request now.
            in_flight: Bytes in flight, which then include what the kernel holds.
        """
        self._native = kernel.Hub(sends and sends.native, pulls and pulls.native, RawFrame, clock)
        self._sends = sends
        self._pulls = pulls
        self._clock = clock
        self._settle = settle
        self._single_turns = single_turns
        self._guarded = guarded
        self._pause = 0
        self._in_flight = in_flight
        self._native.max_frame, _ = in_flight.limits.longest_frame
        self._native.read_ns = round(_LONGEST_SECONDS * 1e9)
        in_flight.count_hub(self._native)

    def drive(self, sock: socket.socket, session: Session) -> ConnectionDriver:
        """Read this socket for a session from now on."""
        driver: ConnectionDriver = self._native.add(sock.fileno(), session, session.born_host)
        driver.last_activity = trio.current_time()
        return driver

    def measure_latencies(self) -> None:
        """From now on measure how long requests take that the kernel serves."""
        self._native.timed = True

    def take_latencies(self) -> dict[int, tuple[tuple[int, ...], int]]:
        """Those times since the last call, by code: counts for the buckets of `latencies`, and the sum in ns."""
        taken: dict[int, tuple[tuple[int, ...], int]] = self._native.take_latencies()
        return taken

    async def run(self) -> None:
        """Serve until cancelled."""
        hub = self._native
        try:
            while True:
                await trio.lowlevel.wait_readable(hub.fileno())
                began = now = trio.current_time()
                while self._ready() and self._round(now):
                    now = trio.current_time()
                    if now - began > _LONGEST_SECONDS:
                        break
        finally:
            hub.close()

    def _ready(self) -> bool:
        """Whether there is something to serve; polls for a moment if that paid off before."""
        ready = self._native.ready
        if ready():
            return True
        if self._pause:
            self._pause -= 1
            return False
        if any(ready() for _ in range(_POLLS)):
            return True
        self._pause = _PAUSE
        return False

    def _round(self, now: float) -> bool:
        """Serve what has arrived. False: other tasks are to run."""
        goes_on = self._part(now)
        if self._single_turns():
            while self._native.unfinished:
                self._part(now)
            return False
        return goes_on

    def _part(self, now: float) -> bool:
        """Serve what has arrived, or a part if that takes long. False: other tasks are to run."""
        hub, sends, pulls = self._native, self._sends, self._pulls
        wall, guarded = self._clock(), self._guarded()
        if sends is not None:
            sends.before_round(wall, guarded=guarded)
        if pulls is not None:
            pulls.before_round(wall, guarded=guarded)
        goes_on: bool = hub.round(wall, now)
        if hub.held:
            self._in_flight.check_limit()
        try:
            if hub.took_sends and sends is not None:
                sends.after_round()
            if hub.took_pulls and pulls is not None:
                pulls.after_round()
            self._settle()
        except Exception:  # a bug in one callback must not end all connections
            log.exception("after a round")
        return goes_on


def hub_kernel() -> ModuleType | None:
    """The kernel, or None if it is missing or was built without hubs, which need Linux."""
    kernel = native.kernel
    return kernel if hasattr(kernel, "Hub") else None
