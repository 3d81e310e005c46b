"""Waiting: until a message is due, and for the next round of an expiry."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import trio

from rocketwire.store.event import Event

_LATE_SECONDS: Final = 10.0
"""A round that is this late means that the process was suspended; a busy process is late by much less."""


class ExpiryRounds:
    """The rounds of one periodic expiry of silent peers.

    A process that is suspended, or whose machine sleeps, reads nothing meanwhile. What peers sent then, such as
    heartbeats, waits in the sockets or was lost through no fault of theirs. So silence that began before the process
    resumed does not count.
    """

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


def unchanged_time(moment: int) -> int:
    """The time of a client's time stamp where no clock was moved: the same."""
    return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTime:
    """The passing of the time by which messages are due, for the rooms that hold messages back.

    By default they wait on trio's clock, and a client's time stamps are in the broker's time. If the broker's clock can
    be moved (`movable_clock`), waits end with each move, and a client's time stamps are in that clock's time.

    Attributes:
        elapsed: Seconds since some moment, which never go back.
        sleep: Pauses for so many of these seconds; it may return earlier.
        from_client_time: The broker's time, in ms since 1970, when a client's clock showed this one.
        moved: Called when time has jumped ahead: tasks that wait have to read the clock again.
    """

    elapsed: Callable[[], float] = trio.current_time
    sleep: Callable[[float], Awaitable[None]] = trio.sleep
    from_client_time: Callable[[int], int] = unchanged_time
    moved: Event[[]] = field(default_factory=Event)
