"""Periodic expiry of silent peers that takes pauses of the whole process into account.

A process that is suspended, or whose machine sleeps, reads nothing meanwhile. What peers sent then, such as heartbeats,
waits in the sockets or was lost through no fault of theirs. So silence that began before the process resumed does not
count.
"""

from __future__ import annotations

import math
from typing import Final

import trio

_LATE_SECONDS: Final = 10.0
"""A round that is this late means that the process was suspended; a busy process is late by much less."""


class ExpiryRounds:
    """The rounds of one periodic expiry."""

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
        """Peers last heard of before this time have been silent for longer than `seconds`; -inf: no peer has."""
        limit = trio.current_time() - seconds
        return limit if limit >= self._awake_since else -math.inf
