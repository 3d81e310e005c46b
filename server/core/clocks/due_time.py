"""How the rooms that hold messages back until a time wait for it.

By default they wait on trio's clock, and a client's time stamps are in the broker's time. If the broker's clock can be
moved (`server.core.clocks.movable_clock`), waits end with each move, and a client's time stamps are in a time of their
own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import trio

from rocketwire.store.event import Event


def unchanged_time(moment: int) -> int:
    """The time of a client's time stamp where no clock was moved: the same."""
    return moment


@dataclass(frozen=True, slots=True, kw_only=True)
class DueTime:
    """The passing of the time by which messages are due.

    Attributes:
        elapsed: Seconds since some moment, which never go back.
        sleep: Pauses for so many of these seconds; it may return earlier.
        of_client: The broker's time, in ms since 1970, when a client's clock showed this one.
        moved: Called when time has jumped ahead: what waits has to look at the clock again.
    """

    elapsed: Callable[[], float] = trio.current_time
    sleep: Callable[[float], Awaitable[None]] = trio.sleep
    from_client_time: Callable[[int], int] = unchanged_time
    moved: Event[[]] = field(default_factory=Event)
