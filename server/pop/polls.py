"""Requests of POP that wait for a message: pops, and notifications, which take nothing.

Requests for the same queue of the same group (or for any queue of the topic) form a line. When a message arrives in the
topic, or in a retry topic that the group reads with it, the first of each line is tried, and the next one while
messages remain. What the pops of one wake-up take is stored as one group, and answered with one write a connection.
Arrivals cost nothing where no request waits.

At its deadline a request is tried once more, and answered in any case. One task waits for the earliest deadline. A
client that does not read its answers gets no messages.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Generator, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Final, Protocol

import trio

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import OVERDUE_MS, BackgroundBudget
from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Peer, Reply, Request
from rocketwire.server.filters import MessageFilter
from rocketwire.server.filters.held import FilterMemory
from rocketwire.server.limits.limits import Limits
from rocketwire.server.messages.message_writer import MessageWriter, Refusals, refusal_of
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.pop_result import PopResult
from rocketwire.store.append.drafts import Draft
from rocketwire.wire import names
from rocketwire.wire.facts.codes import ResponseCode

log = logging.getLogger(__name__)

ANY_QUEUE: Final = -1
"""The queue id of a request for all queues of a topic."""
BYTES_EACH: Final = 2048
"""Memory of a waiting request, at most, without its filter."""
LONGEST_SECONDS: Final = 60.0
"""No request waits longer, whatever time it names: as pulls."""
_LOOK_SECONDS: Final = 0.002
_MOST_DUE: Final = 500
_FEW_DUE: Final = 64  # while requests come
_MOST_BATCH_BYTES: Final = 512 << 10
"""Bytes of messages that are taken before they are answered."""
_SLACK: Final = 1024


class PollRequest(Protocol):
    """One request that waits, as its handler made it."""

    @property
    def queue(self) -> PopQueue:
        """What it waits for; with `ANY_QUEUE` any queue of the topic."""

    @property
    def message_filter(self) -> MessageFilter:
        """Its filter."""

    def try_now(self) -> PopResult | Reply | None:
        """What it gets: messages, an answer without any, or nothing yet."""

    def timeout_reply(self) -> Reply:
        """The answer when it gets nothing at its deadline."""

    def undo(self, taken: PopResult) -> None:
        """Its client disconnected before the messages could be sent."""


class PollEntry:
    """One waiting request and its place in a line."""

    __slots__ = ("ended", "line", "peer", "request", "wait")

    def __init__(self, request: Request[Any], wait: PollRequest, line: PopQueue) -> None:
        self.request = request
        self.peer: Peer = request.peer
        self.wait = wait
        self.line: PopQueue | None = line
        #: Whether it gets nothing any more but its answer.
        self.ended = False


class Polls:
    """All waiting requests of one kind of a broker."""

    def __init__(
        self, keys: LiveGroup[PopKeys], limits: Limits, storing: MessageWriter, budget: BackgroundBudget
    ) -> None:
        self._keys = keys
        self._limits = limits
        self._storing = storing
        self._budget = budget
        self._lines: dict[PopQueue, dict[PollEntry, None]] = {}
        #: The lines that an arrival in a topic concerns: those of the topic, and those that read it as a retry topic.
        self._by_topic: dict[str, dict[PopQueue, None]] = {}
        self._by_peer: dict[Peer, set[PollEntry]] = {}
        self._deadlines: list[tuple[float, int, PollEntry]] = []
        self._numbers = count()
        self._held = 0
        self._filters = FilterMemory()
        self._touched: dict[tuple[str, int], None] = {}
        self._late: dict[PopQueue, None] = {}
        self._batch: list[tuple[PollEntry, PopResult]] = []
        self._batch_bytes = 0
        self._unsent: dict[Peer, None] = {}
        self._sooner = trio.Event()

    # --- waiting ---

    @property
    def held(self) -> int:
        """How many requests wait."""
        return self._held

    def count(self, queue: PopQueue) -> int:
        """How many wait for a queue, or with `ANY_QUEUE` for any."""
        return len(self._lines.get(queue, ()))

    def hold(self, request: Request[Any], wait: PollRequest, seconds: float) -> bool:
        """Keep a request (its `held`) until it gets something, or its time is up; false: too many wait.

        Raises:
            LimitExceeded: its connection holds as many as it may, or the memory for all is used up.
        """
        peer, line, keys = request.peer, wait.queue, self._keys.current
        waiting = self._lines.get(line)
        if self._held >= keys.max_pop_polling_size or (waiting and len(waiting) >= keys.pop_polling_size):
            return False
        self._check_room(peer, wait)
        entry = PollEntry(request, wait, line)
        if waiting is None:
            waiting = self._lines[line] = {}
            for topic in _topics_of(line):
                self._by_topic.setdefault(topic, {})[line] = None
        waiting[entry] = None
        self._by_peer.setdefault(peer, set()).add(entry)
        self._filters.take(wait.message_filter)
        self._held += 1
        deadline = trio.current_time() + min(seconds, LONGEST_SECONDS)
        if not self._deadlines or deadline < self._deadlines[0][0]:
            self._sooner.set()
        heappush(self._deadlines, (deadline, next(self._numbers), entry))
        if len(self._deadlines) > 2 * self._held + _SLACK:  # mostly of requests that were answered long ago
            self._deadlines = [each for each in self._deadlines if each[2].line is not None]
            heapify(self._deadlines)
        return True

    def _check_room(self, peer: Peer, wait: PollRequest) -> None:
        limits = self._limits.keys.current
        if len(self._by_peer.get(peer, ())) >= limits.max_requests_per_connection:
            raise LimitExceeded("maxRequestsPerConnection", limits.max_requests_per_connection)
        if (self._held + 1) * BYTES_EACH + self._filters.size_with(wait.message_filter) > limits.max_in_flight_bytes:
            raise LimitExceeded("maxInFlightBytes", limits.max_in_flight_bytes)

    def _forget(self, entry: PollEntry) -> None:
        line = entry.line
        if line is None:
            return
        entry.line = None
        waiting = self._lines[line]
        del waiting[entry]
        if not waiting:
            del self._lines[line]
            for topic in _topics_of(line):
                lines = self._by_topic[topic]
                del lines[line]
                if not lines:
                    del self._by_topic[topic]
        of_peer = self._by_peer[entry.peer]
        of_peer.remove(entry)
        if not of_peer:
            del self._by_peer[entry.peer]
        self._filters.drop(entry.wait.message_filter)
        self._held -= 1

    def consumer_left(self, peer: Peer, group: str) -> None:
        """Give no more messages to the requests of a consumer that unregistered; they are answered in time.

        A push consumer unregisters before it closes its connection, and does not handle what it still gets: a message
        given to it would be invisible to the next consumer for the whole invisible time. An answer now would only make
        it pop again.
        """
        for entry in self._by_peer.get(peer, ()):
            if entry.wait.queue.group == group:
                entry.ended = True

    def peer_closed(self, peer: Peer) -> None:
        """Drop the requests of a closed connection."""
        for entry in list(self._by_peer.get(peer, ())):
            self._forget(entry)

    # --- waking ---

    def arrived(self, queues: Iterable[tuple[str, int]]) -> None:
        """Remember that messages were stored in these queues; `wake` serves the requests that wait for them."""
        if self._held:
            self._touched.update(dict.fromkeys(queues))

    def wake_queue(self, queue: PopQueue) -> None:
        """Remember that a queue has messages again for a group; `wake` serves the requests that wait for it."""
        for line in (queue, queue._replace(queue_id=ANY_QUEUE)):
            if line in self._lines:
                self._late[line] = None
        if self._late:
            self._sooner.set()

    def wake(self) -> None:
        """Try the requests that wait for what arrived since the last call."""
        if not self._touched and not self._late:
            return
        touched, self._touched = self._touched, {}
        for topic, queue_id in touched:
            for line in self._by_topic.get(topic, ()):
                if line.queue_id in {ANY_QUEUE, queue_id} or line.topic != topic:
                    self._late[line] = None
        if self._late:
            self._look()

    def _look(self) -> None:
        """Try requests that may get something now, for a moment; the task continues with the rest."""
        until = trio.current_time() + _LOOK_SECONDS
        while self._late:
            line = next(iter(self._late))
            del self._late[line]
            if self._serve(line):
                self._late[line] = None  # behind the others
            if trio.current_time() > until:
                break
        self._store()
        if self._late:
            self._sooner.set()

    def _serve(self, line: PopQueue) -> bool:
        """Try the first request of a line, others only if their filter is another; whether the next may get more."""
        self._store_before(line)
        tried: list[MessageFilter] = []
        for entry in list(self._lines.get(line, ())):
            wanted = entry.wait.message_filter
            if entry.ended or wanted in tried or self._does_not_read(entry.peer):
                continue
            made = self._try_entry(entry)
            if made is not None:
                return self._settle(entry, made)
            tried.append(wanted)
        return False

    def _store_before(self, line: PopQueue) -> None:
        """Store what another request of the group takes: it moves the offsets."""
        if any(entry.wait.queue.group == line.group for entry, _ in self._batch):
            self._store()

    def _try_entry(self, entry: PollEntry) -> PopResult | Reply | None:
        if entry.ended:
            return None
        try:
            return entry.wait.try_now()
        except ServerError as error:
            return Reply(code=response_code(error), remark=str(error), ext={})
        except Exception as error:  # answered to this request: the sender of the message did not cause it
            log.exception("a request of %(peer)s that waits", {"peer": entry.peer.remote_text})
            return Reply(code=response_code(error), remark=str(error))

    def _settle(self, entry: PollEntry, made: PopResult | Reply) -> bool:
        """Answer a request, or take its messages; whether the next one may get something."""
        if isinstance(made, Reply):
            self._answer(entry, made)
            return True
        self._forget(entry)
        if made.drafts:
            self._batch.append((entry, made))
            self._batch_bytes += made.size
            if self._batch_bytes > _MOST_BATCH_BYTES:
                self._store()
        else:
            made.commit()
            self._send(entry, made.messages_reply())
        return made.rest > 0

    def _store(self) -> None:
        """Store what requests take, and answer them."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if batch:
            drafts: list[Draft] = []
            ends: list[int] = []
            for _, taken in batch:
                drafts += taken.drafts
                ends.append(len(drafts))
            appended, refusals = self._storing.append(drafts)
            for (_, taken), first, end in zip(batch, [0, *ends], ends, strict=False):
                if refusal_of(refusals, first, end) is None:
                    taken.commit()

            def outcome(_appended: object, _code: ResponseCode, refused: Refusals) -> None:
                for (entry, taken), first, end in zip(batch, [0, *ends], ends, strict=False):
                    error = refusal_of(refused, first, end)
                    if error is not None:
                        self._send(entry, Reply(code=response_code(error), remark=str(error), ext={}))
                    elif entry.peer.closed:
                        entry.wait.undo(taken)
                    else:
                        self._send(entry, taken.messages_reply())
                self._flush()

            self._storing.report(appended, refusals, outcome, wait=True)
        self._flush()

    def _does_not_read(self, peer: Peer) -> bool:
        if peer.congested:
            peer.flush()  # the outbox may be full of answers of this wake-up only
        return peer.congested

    def _answer(self, entry: PollEntry, reply: Reply) -> None:
        self._forget(entry)
        self._send(entry, reply)

    def _send(self, entry: PollEntry, reply: Reply) -> None:
        entry.peer.reply(entry.request, reply)
        self._unsent[entry.peer] = None

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, {}
        for peer in unsent:
            peer.flush()

    # --- ending ---

    def end_all(self) -> None:
        """Answer all soon and without messages, as if their time was up, so that the next ones are checked again."""
        now = trio.current_time()
        for _, _, entry in self._deadlines:
            entry.ended = True
        self._deadlines = [(now, number, entry) for _, number, entry in self._deadlines if entry.line is not None]
        heapify(self._deadlines)
        self._sooner.set()

    def end_topic(self, topic: str, error: Exception) -> Generator[None, None, None]:
        """Answer all that wait for a topic with an error, some at each step."""
        reply = Reply(code=response_code(error), remark=str(error))
        entries = [entry for line, waiting in self._lines.items() if line.topic == topic for entry in waiting]
        for start in range(0, len(entries), _MOST_DUE):
            for entry in entries[start : start + _MOST_DUE]:
                if entry.line is not None:
                    self._answer(entry, reply)
            self._flush()
            yield

    async def run(self) -> None:
        """Answer requests whose time is up, without end."""
        while True:
            while self._deadlines and (late := trio.current_time() - self._deadlines[0][0]) >= 0:
                await self._budget.call(self._end_some, overdue=late * 1000 > OVERDUE_MS)
                await trio.lowlevel.checkpoint()
            self._sooner = trio.Event()
            self._look()
            with trio.move_on_at(self._deadlines[0][0] if self._deadlines else math.inf):
                await self._sooner.wait()

    def _end_some(self) -> None:
        """Answer some requests whose time is up; only so many that other tasks wait little."""
        began = now = trio.current_time()
        rest = _FEW_DUE if self._budget.is_busy() else _MOST_DUE
        while rest and now <= began + _LOOK_SECONDS and self._deadlines and self._deadlines[0][0] <= began:
            entry = heappop(self._deadlines)[2]
            if entry.line is not None:
                self._end(entry)
                rest, now = rest - 1, trio.current_time()
        self._store()

    def _end(self, entry: PollEntry) -> None:
        """Try a request whose time is up once more, and answer it."""
        if entry.line is None:
            return
        self._store_before(entry.line)
        made = None if self._does_not_read(entry.peer) else self._try_entry(entry)
        if made is None:
            self._answer(entry, entry.wait.timeout_reply())
        else:
            self._settle(entry, made)


def _topics_of(line: PopQueue) -> tuple[str, str, str]:
    """The topics in which an arrival may be one for a line."""
    topic, group, _ = line
    return topic, names.pop_retry_topic(topic, group), names.pop_retry_topic_v2(topic, group)
