"""Pull requests that wait for a message.

Pulls with equal requests for one queue wait together: when the queue gets a message, the store is read and the answer
encoded once for all of them. An arrival costs nothing in queues without held pulls, and little if the message does not
pass their filter, however many they are.

If a held pull's group is over its quota when a message comes, the pull is refused, and the client pulls again.

At its deadline a held pull is answered in any case. One task waits for the earliest deadline. Arrivals are collected
while a group of sends is stored, and delivered after the senders' answers were written.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final, Protocol

import trio
from msgspec.structs import replace

from rocketwire.server.core.background import OVERDUE_MS, BackgroundBudget
from rocketwire.server.core.errors import response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Peer, Reply, Request
from rocketwire.server.filters.held import FilterMemory
from rocketwire.server.limits.limits import Limits
from rocketwire.server.pull.answers import PullSpec
from rocketwire.store.read.fetch import FetchResult, FetchStatus
from rocketwire.wire.facts.codes import ResponseCode

log = logging.getLogger(__name__)

_SLACK: Final = 1024
_MOST_DUE: Final = 500  # held pulls that are answered at their deadline before other tasks run: a few ms
_FEW_DUE: Final = 64  # while requests come
_LOOK_SECONDS: Final = 0.002
"""How long a wake-up examines held pulls; the task examines the rest."""
_WAITS: Final = frozenset({ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})
LONGEST_HOLD_SECONDS: Final = 60.0
"""No pull is held longer, whatever it requests: official clients request 15 to 30 s, and a connection that was
silent for 120 s is closed."""
BYTES_EACH: Final = 1024
"""Memory of a held pull, at most, without its filter; it counts as bytes in flight."""

Queue = tuple[str, int]
"""Topic and queue id."""


class HeldPullAnswers(Protocol):
    """Makes the answers to held pulls: see `answers.PullAnswers`."""

    def fetch(self, spec: PullSpec) -> FetchResult:
        """Read what the store has for a pull now."""

    def on_store_error(self, error: Exception) -> bool:
        """Record that a file of the store is missing; false: the error means something else."""

    def reply(self, spec: PullSpec, fetched: FetchResult) -> Reply:
        """Encode the result as an answer; nothing is counted."""

    def refusal(self, group: str, topic: str, account: str = "") -> Reply | None:
        """The refusal of a group or an account that is over its quota; None: it is not."""

    def count_delivered(
        self, group: str, offset: int, spec: PullSpec, fetched: FetchResult, reply: Reply, account: str = ""
    ) -> None:
        """Count what a pull of a group gets; store an event if it was redirected from this requested offset."""


class _Waiters:
    """Held pulls with equal requests."""

    __slots__ = ("pulls", "spec")

    def __init__(self, spec: PullSpec) -> None:
        self.spec = spec
        self.pulls: dict[HeldPull, None] = {}


class HeldPull:
    """One waiting request (its `held`) of a group and an account, and the offset it requested."""

    __slots__ = ("account", "group", "offset", "peer", "request", "waiters")

    def __init__(self, request: Request[Any], *, group: str, offset: int, account: str = "") -> None:
        self.peer: Peer = request.peer
        self.request = request
        self.group = group
        self.account = account
        self.offset = offset
        self.waiters: _Waiters | None = None


_NONE: Final[dict[PullSpec, _Waiters]] = {}


class LongPoll:
    """All held pulls of a broker."""

    def __init__(self, answers: HeldPullAnswers, limits: Limits, budget: BackgroundBudget) -> None:
        """Begin; `budget` is that of the background work, which answering too many at once is."""
        self._answers = answers
        self._budget = budget
        self._limits = limits
        self._waiting: dict[Queue, dict[PullSpec, _Waiters]] = {}
        self._by_peer: dict[Peer, set[HeldPull]] = {}
        self._deadlines: list[tuple[float, int, HeldPull]] = []
        self._numbers = count()
        self._touched: set[Queue] = set()
        self._late: dict[_Waiters, list[HeldPull]] = {}  # to be examined
        self._held = 0
        self._filters = FilterMemory()
        self._unsent: dict[Peer, None] = {}
        self._sooner = trio.Event()

    @property
    def held(self) -> int:
        """How many pulls wait."""
        return self._held

    def hold(self, pull: HeldPull, spec: PullSpec, seconds: float) -> None:
        """Keep `pull` until a message arrives for it or `seconds` (LONGEST_HOLD_SECONDS at most) have passed.

        Raises:
            LimitExceeded: the connection, or the broker, holds as many as it may.
        """
        self._check_room(pull.peer, spec)
        self._join(pull, spec)
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
        if len(self._deadlines) > 2 * self._held + _SLACK:  # mostly of pulls that were answered long ago
            self._deadlines = [entry for entry in self._deadlines if entry[2].waiters is not None]
            heapify(self._deadlines)

    def _check_room(self, peer: Peer, spec: PullSpec) -> None:
        keys = self._limits.keys.current
        # Raised where they are created: a variable of this frame would keep the filter alive until the garbage
        # collection.
        if len(self._by_peer.get(peer, ())) >= keys.max_requests_per_connection:
            raise LimitExceeded("maxRequestsPerConnection", keys.max_requests_per_connection)
        taken = (self._held + 1) * BYTES_EACH + self._filters.size_with(spec.message_filter)
        if taken > keys.max_in_flight_bytes:
            raise LimitExceeded("maxInFlightBytes", keys.max_in_flight_bytes)

    def _join(self, pull: HeldPull, spec: PullSpec) -> None:
        queue = spec.topic, spec.queue_id
        by_spec = self._waiting.get(queue)
        if by_spec is None:
            by_spec = self._waiting[queue] = {}
        waiters = by_spec.get(spec)
        if waiters is None:
            waiters = by_spec[spec] = _Waiters(spec)
            self._filters.take(spec.message_filter)
        waiters.pulls[pull] = None
        pull.waiters = waiters

    def arrived(self, queues: Iterable[Queue]) -> None:
        """Remember that messages were stored in these queues; `wake` serves them."""
        self._touched.update(queues)

    def wake(self) -> None:
        """Try the pulls that wait for the queues touched since the last call."""
        if not self._touched:
            return
        touched = self._touched
        self._touched = set()
        for queue in touched:
            for waiters in self._waiting.get(queue, _NONE).values():
                self._late[waiters] = list(waiters.pulls)
        if self._late:
            self._look()

    def _look(self) -> None:
        """Try pulls that may have a message now, for a moment; the task continues with the rest."""
        until = trio.current_time() + _LOOK_SECONDS
        while self._late:
            waiters = next(iter(self._late))
            pulls = self._late.pop(waiters)
            if len(pulls) > _MOST_DUE:
                self._late[waiters] = pulls[_MOST_DUE:]
            same = [pull for pull in pulls[:_MOST_DUE] if pull.waiters is waiters]  # closed, or moved on
            if same:
                self._try(waiters, same, final=False)
            if trio.current_time() > until:
                break
        self._flush()
        if self._late:
            self._sooner.set()

    def _try(self, waiters: _Waiters, pulls: list[HeldPull], *, final: bool) -> None:
        """Answer these pulls, which have equal requests, or let them wait on (never when final)."""
        spec = waiters.spec
        try:
            fetched = self._answers.fetch(spec)
            reply = self._answers.reply(spec, fetched)
        except Exception as error:  # answered to the pull: the sender of the message did not cause it
            if not self._answers.on_store_error(error):
                log.exception("held pulls of %(topic)s, queue %(queue)d", {"topic": spec.topic, "queue": spec.queue_id})
            for pull in pulls:
                self._answer(pull, Reply(code=response_code(error), remark=str(error)))
            return
        if not final and reply.code in _WAITS and not _has_more(fetched):
            if fetched.status is FetchStatus.NO_MATCHED_MESSAGE:
                self._move_on(waiters, fetched.next_offset)
            return
        for pull in pulls:
            if (not final and self._does_not_read(pull.peer)) or pull.waiters is None:
                continue
            try:
                refusal = self._answers.refusal(pull.group, spec.topic, pull.account) if fetched.count else None
                if refusal is not None:
                    self._answer(pull, refusal)
                    continue
                self._answers.count_delivered(pull.group, pull.offset, spec, fetched, reply, pull.account)
                self._answer(pull, reply)
            except Exception as error:  # answered to this pull only: other pulls did not cause it
                log.exception("held pull from %(peer)s", {"peer": pull.peer.remote_text})
                self._answer(pull, Reply(code=response_code(error), remark=str(error)))

    def _does_not_read(self, peer: Peer) -> bool:
        """Whether a peer's outbox is full, so that it gets its answer at the deadline, if it reads by then."""
        if peer.congested:
            peer.flush()  # the outbox may be full of answers of this wake-up only
        return peer.congested

    def _answer(self, pull: HeldPull, reply: Reply) -> None:
        pull.peer.reply(pull.request, reply)
        self._forget(pull)
        self._unsent[pull.peer] = None

    def _flush(self) -> None:
        """Send the answers, in one write for each peer."""
        unsent = self._unsent
        self._unsent = {}
        for peer in unsent:
            peer.flush()

    def _move_on(self, waiters: _Waiters, offset: int) -> None:
        """Skip messages that did not pass the filter."""
        spec = waiters.spec
        if offset <= spec.offset:
            return
        by_spec = self._waiting[spec.topic, spec.queue_id]
        del by_spec[spec]
        waiters.spec = replace(spec, offset=offset)
        same = by_spec.setdefault(waiters.spec, waiters)
        if same is not waiters:
            for pull in waiters.pulls:
                pull.waiters = same
            same.pulls.update(waiters.pulls)
            waiters.pulls.clear()
            self._filters.drop(spec.message_filter)

    def _forget(self, pull: HeldPull) -> None:
        waiters = pull.waiters
        if waiters is None:
            return
        pull.waiters = None
        del waiters.pulls[pull]
        if not waiters.pulls:
            spec = waiters.spec
            queue = spec.topic, spec.queue_id
            by_spec = self._waiting[queue]
            del by_spec[spec]
            self._filters.drop(spec.message_filter)
            if not by_spec:
                del self._waiting[queue]
        of_peer = self._by_peer[pull.peer]
        of_peer.remove(pull)
        if not of_peer:
            del self._by_peer[pull.peer]
        self._held -= 1

    def end_all(self) -> None:
        """Answer all held pulls soon, as if their time was up, so that the next pulls are checked again."""
        now = trio.current_time()
        self._deadlines = [(now, number, pull) for _, number, pull in self._deadlines if pull.waiters is not None]
        heapify(self._deadlines)
        self._sooner.set()

    def end_topic(self, topic: str, error: Exception) -> Generator[None, None, None]:
        """Answer all held pulls of a topic with an error, some at each step."""
        reply = Reply(code=response_code(error), remark=str(error))
        pulls = [
            pull
            for queue, by_spec in self._waiting.items()
            if queue[0] == topic
            for waiters in by_spec.values()
            for pull in waiters.pulls
        ]
        for start in range(0, len(pulls), _MOST_DUE):
            for pull in pulls[start : start + _MOST_DUE]:
                if pull.waiters is not None:
                    self._answer(pull, reply)
            self._flush()
            yield

    def peer_closed(self, peer: Peer) -> None:
        """Drop the pulls of a closed connection."""
        for pull in list(self._by_peer.get(peer, ())):
            self._forget(pull)

    async def run(self) -> None:
        """Answer pulls whose time is up, without end."""
        while True:
            while self._deadlines and (late := trio.current_time() - self._deadlines[0][0]) >= 0:
                await self._budget.call(self._end_some, overdue=late * 1000 > OVERDUE_MS)
                await trio.lowlevel.checkpoint()
            self._sooner = trio.Event()
            self._look()
            with trio.move_on_at(self._deadlines[0][0] if self._deadlines else math.inf):
                await self._sooner.wait()

    def _end_some(self) -> None:
        """Answer some pulls whose time is up."""
        for waiters, pulls in self._due(_FEW_DUE if self._budget.is_busy() else _MOST_DUE).items():
            self._try(waiters, pulls, final=True)
        self._flush()

    def _due(self, most: int) -> dict[_Waiters, list[HeldPull]]:
        """Pulls whose time is up, by equal request; only so many that other tasks wait little.

        After a start, the pulls of all consumers may be due at once.
        """
        now = trio.current_time()
        due: dict[_Waiters, list[HeldPull]] = {}
        for _ in range(most):
            if not self._deadlines or self._deadlines[0][0] > now:
                break
            pull = heappop(self._deadlines)[2]
            if pull.waiters is not None:
                due.setdefault(pull.waiters, []).append(pull)
        return due


def _has_more(fetched: FetchResult) -> bool:
    """Whether the read ended before the queue: the consumer then pulls the rest at once."""
    return fetched.status is FetchStatus.NO_MATCHED_MESSAGE and fetched.next_offset < fetched.max_offset
