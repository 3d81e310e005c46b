"""Reading a topic as a consumer of `rocketwire.remoting` does, but whole records, and without its offsets.

Pulls with a filter of tags or SQL92 come from the broker's filter; damaged messages are reported, not skipped.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Self, TypeVar

from rocketwire.cli.errors import CommandFailed
from rocketwire.cli.message.selection import MessageSelection
from rocketwire.cli.online import ClusterAccess
from rocketwire.cli.waiting import waits
from rocketwire.remoting.blocking.runner import BlockingRunner
from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.fetching import FetchedMessages, QueueFetcher
from rocketwire.remoting.core.offsets import OffsetRequests
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import Operation
from rocketwire.remoting.core.subscription import subscription
from rocketwire.remoting.errors import AccessDenied, NoBroker, NoSuchTopic, NotReached, Refused
from rocketwire.remoting.messages import Queue
from rocketwire.remoting.requests import PULLED, pull_header
from rocketwire.store.offline.read.selected import SelectedMessage, with_properties
from rocketwire.wire.errors import RecordInvalid
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.message import decode_record

T = TypeVar("T")
Report = Callable[[str], None]
TOOLS_GROUP: Final = "TOOLS_CONSUMER"
"""The group that RocketMQ's own tools pull with; every broker has it, and no client commits offsets for it."""
PULLED_AT_ONCE: Final = 1024  # the broker returns what its settings allow: 32 unless they are changed
ROUTE_SECONDS: Final = 3.0
"""How often the route of a followed topic is queried for new queues and brokers."""
_HELD_SECONDS: Final = 10.0
"""How long a broker holds a pull of a followed queue. Apache's broker checks held pulls every 5 s."""
_FIRST_BLOCK: Final = 256
_PASSING: Final = frozenset(
    {
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.FLOW_CONTROL,
    }
)
"""What a broker answers that starts, stops or has too much to do."""


class BrokerMessage(NamedTuple):
    """A message and the name of its broker."""

    broker: str
    one: SelectedMessage

    @property
    def queue(self) -> Queue:
        """The queue that it is in."""
        return Queue(self.one.message.topic, self.broker, self.one.message.queue_id)


class TopicReader:
    """The messages and offsets of one topic; use it in a `with` block.

    Args:
        endpoint: The endpoint.
        topic: The topic.
        report: Gets a line about each message that was removed or is damaged, and about lost connections.
        selection: The messages that are wanted; all if it is not given.
        group: Pulls in the name of this group; its offsets are those that are read and committed.
    """

    def __init__(
        self,
        endpoint: ClusterAccess,
        topic: str,
        report: Report,
        *,
        selection: MessageSelection | None = None,
        group: str = TOOLS_GROUP,
    ) -> None:
        settings = ClientSettings(
            group=group,
            name_servers=endpoint.name_servers,
            credentials=endpoint.credentials,
            tls=endpoint.tls,
            timeout=endpoint.timeout,
        )
        self.topic = topic
        self._report = report
        self._selection = selection or MessageSelection()
        self._runner = BlockingRunner(settings)
        self._client = ClientCore(settings, self._runner.around)
        self._offsets = OffsetRequests(self._client, self._client.settings.group)
        by = subscription(topic, tags=self._selection.tags, sql=self._selection.sql, version=0)
        self._subscriptions = {topic: by}

    def __enter__(self) -> Self:
        """Close the connections at the end of a `with`."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close them."""
        self._runner.close(_nothing())

    # --- queues and offsets

    def queues(self, wanted: frozenset[int] = frozenset()) -> list[Queue]:
        """The queues of the topic that can be read; only those with the `wanted` numbers, if there are any.

        Raises:
            NoSuchTopic: there is no such topic.
            Unsuccessful: no broker has a wanted queue.
            NotReached, Refused: no name server answers, or it refuses.
        """
        found = self._run("a name server", self._client.readable_queues(self.topic))
        numbers = sorted({queue.queue_id for queue in found})
        missing = wanted.difference(numbers)
        if missing:
            raise CommandFailed(f"--queue {min(missing)}: topic {self.topic} has {_listed(numbers)}")
        if not found:
            raise CommandFailed(f"topic {self.topic} has {_listed(numbers)}")
        return [queue for queue in found if not wanted or queue.queue_id in wanted]

    def offsets(self, queue: Queue) -> range:
        """From the offset of the oldest message up to, not including, that of the next one.

        Raises:
            NotReached, Refused: here and below: the broker does not answer, or refuses.
        """
        return range(self._run_at(queue, self._offsets.first(queue)), self._run_at(queue, self._offsets.end(queue)))

    def first_at(self, queue: Queue, time_ms: int, offsets: range) -> int:
        """The offset of the first message stored at or after a time; the end of the range if there is none."""
        return min(max(self._run_at(queue, self._offsets.at(queue, time_ms)), offsets.start), offsets.stop)

    def committed(self, queue: Queue) -> int | None:
        """The offset at which the group continues; None if it has none."""
        return self._run_at(queue, self._offsets.committed(queue, zero_if_young=False))

    def commit(self, queue: Queue, offset: int) -> None:
        """Commit an offset for the group."""
        self._run_at(queue, self._offsets.commit(queue, offset, wait=True))

    # --- stored messages

    def message(self, queue: Queue, offset: int) -> SelectedMessage | None:
        """The message at an offset; None when it was removed, or is damaged."""

        def pulled() -> Operation[SelectedMessage | None]:
            peer = yield from self._client.broker_of(queue)
            fields = pull_header(self.topic, queue.queue_id, offset, most=1, group=self._client.settings.group)
            answer = yield from self._client.ask(peer, ClientRequest(RequestCode.PULL_MESSAGE, fields), PULLED)
            return next(iter(self._decoded(answer.body, queue)), None)

        return self._run_at(queue, pulled())

    def read(self, queue: Queue, offsets: range) -> Iterator[BrokerMessage]:
        """The selected messages with these offsets, in order; the next pull is in flight while they are processed."""
        fetching = self._fetching(held_seconds=0)
        offset, end = offsets.start, offsets.stop
        fetching.seek(queue, offset)
        while offset < end:
            for pulled in self._run_at(queue, fetching.fetch(self._client.settings.timeout)):
                if pulled.error is not None:
                    raise pulled.error
                reached = min(pulled.next_offset, end) if pulled.next_offset > offset else end
                if reached < end:
                    self._runner.run(fetching.send_pulls())
                if (pulled.moved or pulled.next_offset <= offset) and not pulled.messages:
                    self._report(f"{queue}: the messages from offset {offset} up to {reached - 1} are gone")
                for one in pulled.messages:
                    if one.message.queue_offset < end and self._selection.has_key(one):
                        yield BrokerMessage(queue.broker, one)
                offset = reached

    def read_all(self, places: Mapping[Queue, range]) -> Iterator[BrokerMessage]:
        """The selected messages of several queues, in the order in which they were stored, as far as queues are."""
        return heapq.merge(*(self.read(queue, offsets) for queue, offsets in places.items()), key=_stored)

    def read_last(self, places: Mapping[Queue, range], count: int) -> list[BrokerMessage]:
        """The last selected messages of several queues, up to `count` of all together, as they were stored."""
        found: list[BrokerMessage] = []
        for queue, offsets in places.items():
            own: list[BrokerMessage] = []
            end, block = offsets.stop, count if self._selection.is_everything else max(count, _FIRST_BLOCK)
            while end > offsets.start and len(own) < count:
                start = max(offsets.start, end - block)
                own = [*self.read(queue, range(start, end)), *own]
                end, block = start, block * 2
            found += own[len(own) - count if len(own) > count else 0 :]
        found.sort(key=_stored)
        return found[-count:] if count else []

    # --- messages that come

    def follow(
        self, starts: Mapping[Queue, int], wanted: frozenset[int], reached: Callable[[Queue, int], None]
    ) -> Iterator[BrokerMessage]:
        """The selected messages from these offsets on, without end; queues that appear are read from their beginning.

        Args:
            starts: The offset to begin at, by queue.
            wanted: The numbers of the queues to follow; empty for all.
            reached: Called with a queue and the offset before which all its messages have been given.

        Raises:
            Refused: a broker refuses for good.
        """
        fetching = self._fetching(held_seconds=_HELD_SECONDS)
        for queue, offset in starts.items():
            fetching.seek(queue, offset)
        lost: set[str] = set()
        next_query = time.monotonic() + ROUTE_SECONDS
        while True:
            for pulled in self._runner.run(fetching.fetch(max(0.0, next_query - time.monotonic()))):
                self._report_state(pulled, lost)
                yield from (
                    BrokerMessage(pulled.queue.broker, one) for one in pulled.messages if self._selection.has_key(one)
                )
                reached(pulled.queue, pulled.next_offset)
            if time.monotonic() >= next_query:
                next_query = time.monotonic() + ROUTE_SECONDS
                for queue in self._new_queues(fetching.positions, wanted):
                    self._report(f"{self.topic}, broker {queue.broker}: queue {queue.queue_id} is new")
                    fetching.seek(queue, 0)

    def _report_state(self, pulled: FetchedMessages[SelectedMessage], lost: set[str]) -> None:
        """Report that a broker is lost or back, and that messages are missing; raise permanent errors."""
        broker, error = pulled.queue.broker, pulled.error
        if error is None:
            if broker in lost:
                lost.remove(broker)
                self._report(f"broker {broker} is back")
            if pulled.moved:
                self._report(f"{pulled.queue}: messages are gone: going on at offset {pulled.next_offset}")
            return
        passes = isinstance(error, NotReached | NoBroker | NoSuchTopic) or (
            isinstance(error, Refused) and error.code in _PASSING
        )
        if isinstance(error, AccessDenied) or not passes:
            raise error
        if broker not in lost:
            lost.add(broker)
            self._report(f"{error}; trying again until {broker} is back")

    def _new_queues(self, known: Mapping[Queue, int], wanted: frozenset[int]) -> list[Queue]:
        """Queues that are in the route now; none while no name server answers."""
        self._client.expire_route(self.topic)
        try:
            found = self._runner.run(self._client.readable_queues(self.topic))
        except (NoSuchTopic, NotReached, Refused):
            return []
        return [queue for queue in found if queue not in known and (not wanted or queue.queue_id in wanted)]

    # --- the client

    def _fetching(self, *, held_seconds: float) -> QueueFetcher[SelectedMessage]:
        return QueueFetcher(
            self._client,
            self._subscriptions,
            most=PULLED_AT_ONCE,
            with_subscription=True,
            decode=self._decoded,
            held_seconds=held_seconds,
        )

    def _decoded(self, body: bytes, queue: Queue) -> Iterator[SelectedMessage]:
        at = 0
        while at < len(body):
            size = int.from_bytes(body[at : at + 4], "big")
            try:
                yield with_properties(decode_record(body, at), size)
            except RecordInvalid as error:
                self._report(f"{queue}: a message cannot be read: {error}")
                if not size:
                    return
            at += size

    def _run_at(self, queue: Queue, operation: Operation[T]) -> T:
        return self._run(f"broker {queue.broker}", operation)

    def _run(self, whom: str, operation: Operation[T]) -> T:
        with waits.during(f"waiting for an answer of {whom}"):
            return self._runner.run(operation)


def _nothing() -> Operation[None]:
    yield from ()


def _stored(found: BrokerMessage) -> int:
    return found.one.message.store_timestamp


def _listed(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no queue that can be read"
    if len(numbers) == 1:
        return f"the queue {numbers[0]} only"
    return f"the queues {numbers[0]} to {numbers[-1]}"
