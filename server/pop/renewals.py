"""Renewal: messages that a client popped with `auto_renew` (gRPC) stay invisible to others while it is connected.

The check point, or the batch in order, names the client. When its time is up and the client is connected, it is written
again, for `STEP_MS` more, under the same pop time: so acknowledgements still match it, and by when they are due follows
from the handle alone. No table has to know what is renewed, and a restart changes nothing.

An answer may be lost with its connection after the socket took it, and its client would never know what it is given.
So what was popped shortly before a connection broke, or before a start, is not renewed: it is redelivered once its time
is up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.wire.headers.pop import PopMessageRequestHeader

STEP_MS: Final = 60_000
"""How long renewed messages are invisible at first, and by how much longer each time."""
MOST_MS: Final = 3 * 60 * 60 * 1000
"""How long after the pop messages are renewed."""
_GRACE_SECONDS: Final = 15.0
"""A client that lost its connection may be back within so long."""
_START_SECONDS: Final = 60.0
"""So long after the start all clients count as connected: they have to reconnect first."""
_LOST_MS: Final = 10_000
"""An answer that went out so long before a connection was last heard of may be lost with it."""
_SLACK_MS: Final = 1000
"""By so much clocks may differ, and the time of an answer from that of its pop."""
MOST_KEPT: Final = 65_536
"""Breaks and clients that may be back are noted for so many clients, the latest: of 1 KB at most each."""
_DECIDED_MS: Final = 3 * STEP_MS
"""So long after a break it has been decided what of the answers that may be lost is renewed."""


class RenewedPopRequest(PopMessageRequestHeader, frozen=True, kw_only=True):
    """A pop of messages that are renewed for a client; None: they are not. No frame can request it."""

    renewer: str | None


class Renewals:
    """The connected clients whose messages are renewed.

    Args:
        now: A clock in seconds.
        clock: Gives the time in ms since 1970.
        alive: When the last sign of life before this start was given, in ms since 1970; 0: there was none.
    """

    def __init__(self, now: Callable[[], float], clock: Clock, alive: int = 0) -> None:
        self._now = now
        self._clock = clock
        self._started = now()
        start = clock()
        self._before = range(min(alive, start) - _LOST_MS, start)
        # By client between which times, in ms since 1970, what it was given may be lost; the latest break last.
        self._breaks: dict[str, list[range]] = {}
        self._connected: set[str] = set()
        self._grace_ends: dict[str, float] = {}  # of disconnected clients, the latest end last

    def client_arrived(self, client_id: str) -> bool:
        """Note that a client is connected; return whether it is back within its grace."""
        self._connected.add(client_id)
        return self._grace_ends.pop(client_id, None) is not None

    def client_left(self, client_id: str, *, for_good: bool = False) -> None:
        """Note that a client has disconnected; unless it is `for_good`, it may be back soon."""
        self._connected.discard(client_id)
        now, grace_ends = self._now(), self._grace_ends
        while grace_ends and next(iter(grace_ends.values())) <= now:
            del grace_ends[next(iter(grace_ends))]
        grace_ends.pop(client_id, None)
        if not for_good:
            grace_ends[client_id] = now + _GRACE_SECONDS
            if len(grace_ends) > MOST_KEPT:
                del grace_ends[next(iter(grace_ends))]

    def connection_broke(self, client_id: str, heard: float, answered: float) -> None:
        """Note that a connection of a client broke: its last answers may be lost.

        Args:
            client_id: The client.
            heard: When the connection last gave a sign of life, in seconds of the event loop.
            answered: When it was last used for an answer to the client, likewise.
        """
        now, breaks = self._clock(), self._breaks
        over = now - _DECIDED_MS
        while breaks and (oldest := next(iter(breaks.items())))[1][-1].stop <= over:
            del breaks[oldest[0]]
        recent = [each for each in breaks.pop(client_id, ()) if each.stop > over]
        heard_ms, answered_ms = (now - round((self._now() - each) * 1000) for each in (heard, answered))
        start, stop = heard_ms - _LOST_MS, answered_ms + _SLACK_MS
        if recent and start <= recent[-1].stop:
            last = recent.pop()
            start, stop = min(max(last.start, over), start), max(last.stop, stop)
        breaks[client_id] = [*recent, range(start, stop)]
        if len(breaks) > MOST_KEPT:
            del breaks[next(iter(breaks))]

    def renewal_ms(self, client_id: str | None, pop_time: int, now: int, former: int = STEP_MS) -> int | None:
        """For how long from the pop on messages whose time is up are invisible again, in ms; None: they are not.

        Args:
            client_id: For whom they are renewed; None: they are not renewed.
            pop_time: When they were popped, in ms since 1970.
            now: The time now, likewise.
            former: For how long from the pop on they were invisible until now, in ms; more than a step if they were
                renewed before.
        """
        if client_id is None or now >= pop_time + MOST_MS or not self._counts_as_connected(client_id):
            return None
        if former <= STEP_MS and pop_time in self._before:
            return None
        if any(pop_time in each for each in self._breaks.get(client_id, ())):
            return None
        return invisible_ms(pop_time, now)

    def _counts_as_connected(self, client_id: str) -> bool:
        now = self._now()
        if client_id in self._connected:
            return True
        return now < max(self._started + _START_SECONDS, self._grace_ends.get(client_id, now))


def invisible_ms(pop_time: int, now: int) -> int:
    """For how long from the pop on renewed messages are invisible by now, as long as they are renewed."""
    return (max(0, now - pop_time) // STEP_MS + 1) * STEP_MS
