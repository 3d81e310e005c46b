"""Pull requests that wait for a message.

Those that ask the same of one queue wait together: when the queue gets a message, the store is looked at once for all
of them, and what is found is encoded once. An arrival costs nothing in queues where nobody waits, and as little where
the message is not what those who wait ask for, however many they are.

A held pull whose group is over its quota when there is something for it is refused then: it asks again.

A held pull is answered for good at its deadline. One task waits for the earliest deadline; arrivals are collected while
a group of sends is stored and handed out after the senders' answers are on their way.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final, Protocol

import trio
from msgspec.structs import replace

from rocketwire.server.config.limits import Limits
from rocketwire.server.core.errors import response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Peer, Reply, Request, SharedReply
from rocketwire.server.filters.held import HeldFilters
from rocketwire.server.pull.answers import Asked
from rocketwire.store.read.fetch import Fetched, FetchStatus
from rocketwire.wire.codes import ResponseCode

log = logging.getLogger(__name__)

_SLACK: Final = 1024
_MOST_DUE: Final = 500  # held pulls that are answered at their deadline before other tasks run: a few ms
_LOOK_SECONDS: Final = 0.002
"""How long a wake-up looks at held pulls; the task looks at those that are left."""
_WAITS: Final = frozenset({ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})
LONGEST_HOLD_SECONDS: Final = 60.0
"""No pull is held longer, whatever it asks for: official clients ask for 15 to 30 s, and a connection that was
silent for 120 s is closed."""
BYTES_EACH: Final = 1024
"""What a held pull takes of memory, at most, without its filter: all of them may take as much as bytes in flight."""

Queue = tuple[str, int]
"""Topic and queue id."""


class Answers(Protocol):
    """What held pulls are answered: see `answers.PullAnswers`."""

    def fetch(self, asked: Asked) -> Fetched:
        """What the store has for a pull now."""

    def meet(self, error: Exception) -> bool:
        """Take note that a file of the store is gone; false: the error says something else."""

    def reply(self, asked: Asked, fetched: Fetched) -> Reply:
        """The answer that tells it; nothing is counted."""

    def refusal(self, group: str, topic: str) -> Reply | None:
        """What a group is answered that is over its quota; None: it is not."""

    def delivered(self, group: str, offset: int, asked: Asked, fetched: Fetched, reply: Reply) -> None:
        """Count what a pull of a group, which asked for this offset, is handed; note when it is sent elsewhere."""


class _Waiters:
    """The held pulls that ask the same."""

    __slots__ = ("asked", "pulls")

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.pulls: dict[HeldPull, None] = {}


class HeldPull:
    """One waiting request (its `held`) of a group, and the offset it asked for."""

    __slots__ = ("group", "offset", "peer", "request", "waiters")

    def __init__(self, request: Request[Any], *, group: str, offset: int) -> None:
        self.peer: Peer = request.peer
        self.request = request
        self.group = group
        self.offset = offset
        self.waiters: _Waiters | None = None


class LongPoll:
    """All held pulls of a broker."""

    def __init__(self, answers: Answers, limits: Limits) -> None:
        self._answers = answers
        self._limits = limits
        self._waiting: dict[Queue, dict[Asked, _Waiters]] = {}
        self._by_peer: dict[Peer, set[HeldPull]] = {}
        self._deadlines: list[tuple[float, int, HeldPull]] = []
        self._numbers = count()
        self._touched: set[Queue] = set()
        self._late: dict[_Waiters, list[HeldPull]] = {}  # to be looked at
        self._held = 0
        self._filters = HeldFilters()
        self._unsent: dict[Peer, None] = {}
        self._sooner = trio.Event()

    @property
    def held(self) -> int:
        """How many pulls wait."""
        return self._held

    def hold(self, pull: HeldPull, asked: Asked, seconds: float) -> None:
        """Keep `pull` until a message arrives for it or `seconds` (LONGEST_HOLD_SECONDS at most) have passed.

        Raises:
            LimitExceeded: so many of its connection are held, or so many in all, that it is not.
        """
        self._check_room(pull.peer, asked)
        self._join(pull, asked)
        of_peer = self._by_peer.get(pull.peer)
        if of_peer is None:
            self._by_peer[pull.peer] = {pull}
        else:
            of_peer.add(pull)
        self._held += 1
        deadline = trio.current_time() + min(seconds, LONGEST_HOLD_SECONDS)
        if not self._deadlines or deadline < self._deadlines[0][0]:
            self._sooner.set()
        heappush(self._deadlines, (deadline, next(self._numbers), pull))
        if len(self._deadlines) > 2 * self._held + _SLACK:  # mostly pulls that were answered long before
            self._deadlines = [entry for entry in self._deadlines if entry[2].waiters is not None]
            heapify(self._deadlines)

    def _check_room(self, peer: Peer, asked: Asked) -> None:
        config = self._limits.config
        # Raised as they are made: in a variable of this frame, they would keep the filter until garbage is collected.
        if len(self._by_peer.get(peer, ())) >= config.max_requests_per_connection:
            raise LimitExceeded("maxRequestsPerConnection", config.max_requests_per_connection)
        taken = (self._held + 1) * BYTES_EACH + self._filters.size_with(asked.wanted)
        if taken > config.max_in_flight_bytes:
            raise LimitExceeded("maxInFlightBytes", config.max_in_flight_bytes)

    def _join(self, pull: HeldPull, asked: Asked) -> None:
        queue = asked.topic, asked.queue_id
        by_asked = self._waiting.get(queue)
        if by_asked is None:
            by_asked = self._waiting[queue] = {}
        waiters = by_asked.get(asked)
        if waiters is None:
            waiters = by_asked[asked] = _Waiters(asked)
            self._filters.take(asked.wanted)
        waiters.pulls[pull] = None
        pull.waiters = waiters

    def arrived(self, queues: Iterable[Queue]) -> None:
        """Note that messages were stored in these queues; `wake` looks at them."""
        self._touched.update(queues)

    def wake(self) -> None:
        """Try the pulls that wait for the queues touched since the last call."""
        if not self._touched:
            return
        touched = self._touched
        self._touched = set()
        for queue in touched:
            for waiters in self._waiting.get(queue, {}).values():
                self._late[waiters] = list(waiters.pulls)
        self._look()

    def _look(self) -> None:
        """Try pulls that may have a message now, for a moment; the task goes on with the rest."""
        until = trio.current_time() + _LOOK_SECONDS
        while self._late:
            waiters = next(iter(self._late))
            pulls = self._late.pop(waiters)
            if len(pulls) > _MOST_DUE:
                self._late[waiters] = pulls[_MOST_DUE:]
            there = [pull for pull in pulls[:_MOST_DUE] if pull.waiters is waiters]  # they may have closed, or moved on
            if there:
                self._try(waiters, there, final=False)
            if trio.current_time() > until:
                break
        self._flush()
        if self._late:
            self._sooner.set()

    def _try(self, waiters: _Waiters, pulls: list[HeldPull], *, final: bool) -> None:
        """Answer these of those who ask the same, or let all wait on (never when final)."""
        asked = waiters.asked
        try:
            fetched = self._answers.fetch(asked)
            reply = self._answers.reply(asked, fetched)
        except Exception as error:  # answered, for who sent the message is not to blame
            if not self._answers.meet(error):
                log.exception("held pulls of %s, queue %d", asked.topic, asked.queue_id)
            for pull in pulls:
                self._answer(pull, Reply(code=response_code(error), remark=str(error)))
            return
        if not final and reply.code in _WAITS and not _has_more(fetched):
            if fetched.status is FetchStatus.NO_MATCHED_MESSAGE:
                self._move_on(waiters, fetched.next_offset)
            return
        answer = SharedReply(reply) if len(pulls) > 1 else reply
        for pull in pulls:
            if (not final and self._does_not_read(pull.peer)) or pull.waiters is None:
                continue
            try:
                refusal = self._answers.refusal(pull.group, asked.topic) if fetched.count else None
                if refusal is not None:
                    self._answer(pull, refusal)
                    continue
                self._answers.delivered(pull.group, pull.offset, asked, fetched, reply)
                self._answer(pull, answer)
            except Exception as error:  # answered, for the other waiters are not to blame either
                log.exception("held pull from %s", pull.peer.remote_text, extra={"peer": pull.peer.remote_text})
                self._answer(pull, Reply(code=response_code(error), remark=str(error)))

    def _does_not_read(self, peer: Peer) -> bool:
        """Whether a peer is to get its answer at the deadline, if it reads by then: others fill its outbox."""
        if peer.congested:
            peer.flush()  # it may be answers of this wake-up alone that wait
        return peer.congested

    def _answer(self, pull: HeldPull, reply: Reply | SharedReply) -> None:
        pull.peer.reply(pull.request, reply)
        self._forget(pull)
        self._unsent[pull.peer] = None

    def _flush(self) -> None:
        """Send the answers, those for one peer together."""
        unsent = self._unsent
        self._unsent = {}
        for peer in unsent:
            peer.flush()

    def _move_on(self, waiters: _Waiters, offset: int) -> None:
        """What did not pass the filter need not be looked at again."""
        asked = waiters.asked
        if offset <= asked.offset:
            return
        by_asked = self._waiting[asked.topic, asked.queue_id]
        del by_asked[asked]
        waiters.asked = replace(asked, offset=offset)
        there = by_asked.setdefault(waiters.asked, waiters)
        if there is not waiters:
            for pull in waiters.pulls:
                pull.waiters = there
            there.pulls.update(waiters.pulls)
            waiters.pulls.clear()
            self._filters.drop(asked.wanted)

    def _forget(self, pull: HeldPull) -> None:
        waiters = pull.waiters
        if waiters is None:
            return
        pull.waiters = None
        del waiters.pulls[pull]
        if not waiters.pulls:
            asked = waiters.asked
            queue = asked.topic, asked.queue_id
            by_asked = self._waiting[queue]
            del by_asked[asked]
            self._filters.drop(asked.wanted)
            if not by_asked:
                del self._waiting[queue]
        of_peer = self._by_peer[pull.peer]
        of_peer.remove(pull)
        if not of_peer:
            del self._by_peer[pull.peer]
        self._held -= 1

    def end_all(self) -> None:
        """Answer all that wait, soon, as if their time was up: whether they may wait is to be asked anew."""
        now = trio.current_time()
        self._deadlines = [(now, number, pull) for _, number, pull in self._deadlines if pull.waiters is not None]
        heapify(self._deadlines)
        self._sooner.set()

    def peer_closed(self, peer: Peer) -> None:
        """Drop the pulls of a closed connection."""
        for pull in list(self._by_peer.get(peer, ())):
            self._forget(pull)

    async def run(self) -> None:
        """Answer pulls whose time is up, for ever."""
        while True:
            while due := self._due():
                for waiters, pulls in due.items():
                    self._try(waiters, pulls, final=True)
                self._flush()
                await trio.lowlevel.checkpoint()
            self._sooner = trio.Event()
            self._look()
            with trio.move_on_at(self._deadlines[0][0] if self._deadlines else math.inf):
                await self._sooner.wait()

    def _due(self) -> dict[_Waiters, list[HeldPull]]:
        """Pulls whose time is up, with those who ask the same: so many that other tasks wait little.

        After a start, the pulls of all consumers may be due at once.
        """
        now = trio.current_time()
        due: dict[_Waiters, list[HeldPull]] = {}
        for _ in range(_MOST_DUE):
            if not self._deadlines or self._deadlines[0][0] > now:
                break
            pull = heappop(self._deadlines)[2]
            if pull.waiters is not None:
                due.setdefault(pull.waiters, []).append(pull)
        return due


def _has_more(fetched: Fetched) -> bool:
    """Whether a look ended before the queue: the consumer asks for the rest, and does not wait for it."""
    return fetched.status is FetchStatus.NO_MATCHED_MESSAGE and fetched.next_offset < fetched.max_offset
