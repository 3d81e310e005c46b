"""Pull requests that wait for a message.

A held pull is tried again when its queue gets a message, and answered for good at its deadline. One task waits for
the earliest deadline; arrivals are collected while a group of sends is stored and handed out after the senders'
answers are on their way.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final

import trio

from rocketwire.server.errors import response_code
from rocketwire.server.request import Peer, Reply, Request

log = logging.getLogger(__name__)

_SLACK: Final = 1024
LONGEST_HOLD_SECONDS: Final = 60.0
"""No pull is held longer, whatever it asks for: official clients ask for 15 to 30 s, and a connection that was
silent for 120 s is closed."""

Queue = tuple[str, int]
"""Topic and queue id."""


class HeldPull:
    """One waiting request (its `held`); `attempt(final)` returns its reply, or None to wait on (never when final)."""

    __slots__ = ("attempt", "peer", "queue", "request")

    def __init__(self, queue: Queue, request: Request[Any], attempt: Callable[[bool], Reply | None]) -> None:
        self.queue = queue
        self.peer: Peer = request.peer
        self.request = request
        self.attempt = attempt


class LongPoll:
    """All held pulls of a broker."""

    def __init__(self) -> None:
        self._waiting: dict[Queue, set[HeldPull]] = {}
        self._by_peer: dict[Peer, set[HeldPull]] = {}
        self._deadlines: list[tuple[float, int, HeldPull]] = []
        self._numbers = count()
        self._touched: set[Queue] = set()
        self._held = 0
        self._sooner = trio.Event()

    @property
    def held(self) -> int:
        """How many pulls wait."""
        return self._held

    def hold(self, pull: HeldPull, seconds: float) -> None:
        """Keep `pull` until a message arrives in its queue or `seconds` (LONGEST_HOLD_SECONDS at most) have passed."""
        self._waiting.setdefault(pull.queue, set()).add(pull)
        self._by_peer.setdefault(pull.peer, set()).add(pull)
        self._held += 1
        deadline = trio.current_time() + min(seconds, LONGEST_HOLD_SECONDS)
        if not self._deadlines or deadline < self._deadlines[0][0]:
            self._sooner.set()
        heappush(self._deadlines, (deadline, next(self._numbers), pull))
        if len(self._deadlines) > 2 * self._held + _SLACK:  # mostly pulls that were answered long before
            self._deadlines = [entry for entry in self._deadlines if self._waits(entry[2])]
            heapify(self._deadlines)

    def arrived(self, queues: Iterable[Queue]) -> None:
        """Note that messages were stored in these queues; `wake` looks at them."""
        self._touched.update(queues)

    def wake(self) -> None:
        """Try the pulls that wait for the queues touched since the last call."""
        if not self._touched:
            return
        touched = self._touched
        self._touched = set()
        for queue in touched & self._waiting.keys():
            for pull in list(self._waiting.get(queue, ())):
                # A peer that does not read its answers gets this one at the deadline, if it reads by then.
                if not pull.peer.congested:
                    self._try(pull, final=False)

    def _try(self, pull: HeldPull, *, final: bool) -> None:
        try:
            reply = pull.attempt(final)
            if reply is None:
                return
            pull.peer.reply(pull.request, reply)
        except Exception as error:  # answered, for neither who sent the message nor the other waiters are to blame
            log.exception("held pull from %s", pull.peer.remote_text)
            pull.peer.reply(pull.request, Reply(code=response_code(error), remark=str(error)))
        self._forget(pull)
        pull.peer.flush()

    def _forget(self, pull: HeldPull) -> None:
        waiting = self._waiting.get(pull.queue)
        if waiting is None or pull not in waiting:
            return
        waiting.remove(pull)
        if not waiting:
            del self._waiting[pull.queue]
        of_peer = self._by_peer[pull.peer]
        of_peer.remove(pull)
        if not of_peer:
            del self._by_peer[pull.peer]
        self._held -= 1

    def _waits(self, pull: HeldPull) -> bool:
        return pull in self._waiting.get(pull.queue, ())

    def peer_closed(self, peer: Peer) -> None:
        """Drop the pulls of a closed connection."""
        for pull in list(self._by_peer.get(peer, ())):
            self._forget(pull)

    async def run(self) -> None:
        """Answer pulls whose time is up, for ever."""
        while True:
            now = trio.current_time()
            while self._deadlines and self._deadlines[0][0] <= now:
                pull = heappop(self._deadlines)[2]
                if self._waits(pull):
                    self._try(pull, final=True)
            self._sooner = trio.Event()
            with trio.move_on_at(self._deadlines[0][0] if self._deadlines else math.inf):
                await self._sooner.wait()
