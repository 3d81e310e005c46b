"""How one task of the timer wakes another one: rung any number of times, heard once."""

from __future__ import annotations

import math

import trio


class Bell:
    """Rings for one task."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        """Wake the task, or have it not wait next time."""
        self._rung.set()

    async def heard(self, seconds: float = math.inf) -> None:
        """Wait until it rings, or rang since the last call, `seconds` at most."""
        with trio.move_on_after(seconds):
            await self._rung.wait()
        self._rung = trio.Event()
