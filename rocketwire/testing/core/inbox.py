"""The messages of a topic: for one group, taken one after the other, or all that it has stored."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.fetching import FetchedMessages, QueueFetcher
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.core.offsets import Begin, OffsetRequests
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import Operation, Sleep
from rocketwire.remoting.core.subscription import EVERYTHING, subscription
from rocketwire.remoting.errors import NoSuchTopic, NotReached, Refused
from rocketwire.remoting.messages import Queue, ReceivedMessage
from rocketwire.remoting.requests import PULLED, pull_header
from rocketwire.wire.facts.codes import RequestCode, ResponseCode

in_store_order: Final = attrgetter("physical_offset")
_AT_ONCE: Final = 32


def stored(client: ClientCore, topic: str) -> Operation[list[ReceivedMessage]]:
    """The messages that a topic has now, in the order in which they were stored.

    Raises:
        NoSuchTopic: there is no such topic.
        NotReached, Refused: it cannot be read.
    """
    client.expire_route(topic)
    found: list[ReceivedMessage] = []
    route = yield from client.route(topic)
    for each in route.queue_datas:
        for number in range(max(each.read_queue_nums, each.write_queue_nums)):
            found += yield from _of_queue(client, Queue(topic, each.broker_name, number))
    return sorted(found, key=in_store_order)


def _of_queue(client: ClientCore, queue: Queue) -> Operation[list[ReceivedMessage]]:
    offsets = OffsetRequests(client, client.settings.group)
    at = yield from offsets.first(queue)
    end = yield from offsets.end(queue)
    found: list[ReceivedMessage] = []
    while at < end:
        fields = pull_header(queue.topic, queue.queue_id, at, most=_AT_ONCE, group=client.settings.group)
        peer = yield from client.broker_of(queue)
        answer = yield from client.ask(peer, ClientRequest(RequestCode.PULL_MESSAGE, fields), PULLED)
        if answer.code == ResponseCode.SUCCESS:
            found += decode_messages(answer.body, queue)
        at = max(at + 1, int(answer.ext["nextBeginOffset"]))
    return found


_TOPIC_SECONDS: Final = 0.05
"""How often it is looked whether a topic has come to be."""
_LOOK_SECONDS: Final = 0.25
"""The longest wait for a pull: another thread may have got the answer."""
_PASSING: Final = frozenset({ResponseCode.SYSTEM_ERROR, ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
"""Refusals of pulls that are temporary."""


class GroupInbox:
    """What one group receives of one topic. It continues at the group's committed offsets, else at the first messages.

    Args:
        client: A client of the group.
        topic: The topic.
    """

    def __init__(self, client: ClientCore, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._offsets = OffsetRequests(client, client.settings.group)
        by = subscription(topic, tags=EVERYTHING, sql=None, version=client.runtime.wall())
        self._fetching = QueueFetcher(
            client, {topic: by}, most=_AT_ONCE, with_subscription=True, decode=decode_messages
        )
        self._here: dict[tuple[Queue, int], ReceivedMessage] = {}
        self._committed: dict[Queue, int] = {}

    def receive(self, count: int, seconds: float) -> Operation[list[ReceivedMessage]]:
        """So many messages, and fewer if they do not come in time; their offsets are committed.

        Raises:
            NoSuchTopic: the topic did not come to be in time.
            Refused: they cannot be read.
            NotReached: the endpoint does not answer.
        """
        now = self._client.runtime.monotonic
        until = now() + seconds
        yield from self._find_queues(until)
        while True:
            yield from self._catch_up()
            left = until - now()
            if len(self._here) >= count or left <= 0:
                break
            self._take((yield from self._fetching.fetch(min(left, _LOOK_SECONDS))))
        taken = sorted(self._here.values(), key=in_store_order)[:count]
        for each in taken:
            self._here.pop((each.queue, each.queue_offset), None)
        yield from self._commit()
        return taken

    def _find_queues(self, until: float) -> Operation[None]:
        """Pull all queues that the topic has by now."""
        while True:
            self._client.expire_route(self._topic)
            try:
                queues = yield from self._client.readable_queues(self._topic)
                break
            except NoSuchTopic:
                if self._client.runtime.monotonic() >= until:
                    raise
            yield Sleep(_TOPIC_SECONDS)
        for queue in queues:
            if queue not in self._fetching.positions:
                start = yield from self._offsets.start(queue, Begin.FIRST)
                self._committed[queue] = start
                self._fetching.seek(queue, start)

    def _catch_up(self) -> Operation[None]:
        """Fetch what is stored now: of several queues, the answer about the oldest message may be the last to come."""
        now = self._client.runtime.monotonic
        until = now() + self._client.settings.timeout
        for queue in self._fetching.positions:
            end = yield from self._offsets.end(queue)
            while self._fetching.positions[queue] < end and len(self._here) < _AT_ONCE * _AT_ONCE and now() < until:
                self._take((yield from self._fetching.fetch(_LOOK_SECONDS)))

    def _take(self, fetched: Iterable[FetchedMessages[ReceivedMessage]]) -> None:
        for each in fetched:
            error = each.error
            passes = isinstance(error, NotReached) or (isinstance(error, Refused) and error.code in _PASSING)
            if error is not None and not passes:
                raise error
            for message in each.messages:
                self._here[message.queue, message.queue_offset] = message

    def _commit(self) -> Operation[None]:
        """Commit how far the group is: up to the first message of each queue that was not taken."""
        reached = dict(self._fetching.positions)
        for queue, offset in self._here:
            reached[queue] = min(reached[queue], offset)
        for queue, offset in reached.items():
            if self._committed.get(queue) != offset:
                yield from self._offsets.commit(queue, offset, wait=True)
                self._committed[queue] = offset
