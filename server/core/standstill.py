"""Rounds of a search for who has been silent too long, which know when the process stood still.

A process that is stopped for a while, or whose machine sleeps, reads nothing meanwhile. What others sent then, such as
heartbeats, waits in the sockets, or was lost for a reason that is not theirs. Once the process goes on, nobody's
silence counts that began before.
"""

from __future__ import annotations

import math
from typing import Final

import trio

_LATE_SECONDS: Final = 10.0
"""A round that comes so much too late says that the process stood still; a busy one is late by much less."""


class Rounds:
    """The rounds of one search."""

    def __init__(self) -> None:
        self._awake_since = -math.inf

    async def pause(self, seconds: float) -> None:
        """Wait for the next round."""
        due = trio.current_time() + seconds
        await trio.sleep(seconds)
        now = trio.current_time()
        if now - due > _LATE_SECONDS:
            self._awake_since = now

    def limit(self, seconds: float) -> float:
        """Who was heard of last before this time has been silent for longer than `seconds`; nobody if it is -inf."""
        limit = trio.current_time() - seconds
        return limit if limit >= self._awake_since else -math.inf
