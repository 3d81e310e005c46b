"""The pull consumer: the application chooses queues and offsets, and fetches when it wants."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from rocketwire.remoting.core.client import ClientCore
from rocketwire.remoting.core.fetching import QueueFetcher
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.core.offsets import Begin, OffsetRequests
from rocketwire.remoting.core.steps import Operation
from rocketwire.remoting.core.subscription import EVERYTHING, subscription
from rocketwire.remoting.errors import NoSuchTopic, NotReached, Refused, RemotingError, SubscriptionInvalid
from rocketwire.remoting.messages import Queue, ReceivedMessage
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.facts.codes import ResponseCode
from rocketwire.wire.names import AUTO_CREATE_TOPIC

log = logging.getLogger(__name__)

_PASSING: Final = frozenset({ResponseCode.SYSTEM_ERROR, ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})
"""Refusals of pulls that are temporary."""


class PullConsumerCore:
    """One pull consumer.

    Args:
        client: The client.
        begin: Where a queue without a committed offset begins; a number is a time in ms.
        most: Messages of one queue that a poll returns at most.
    """

    def __init__(self, client: ClientCore, *, begin: Begin | int, most: int) -> None:
        self.client = client
        self.offsets = OffsetRequests(client, client.settings.group)
        self._begin = begin
        self._subscriptions: dict[str, SubscriptionData] = {}
        self._fetching = QueueFetcher(
            client, self._subscriptions, most=most, with_subscription=True, decode=decode_messages
        )
        self._committed: dict[Queue, int] = {}

    def open(self) -> Operation[None]:
        """Reach a name server, so that a wrong address is an error at the start."""
        try:
            yield from self.client.route(AUTO_CREATE_TOPIC)
        except NoSuchTopic:
            log.debug("topics are not created by sending to them")

    def close(self) -> Operation[None]:
        """Nothing: the brokers do not know that there is this consumer."""
        yield from ()

    def queues(self, topic: str) -> Operation[list[Queue]]:
        """The queues of a topic that can be read, sorted.

        Raises:
            NoSuchTopic: there is no such topic.
            NotReached, Refused: no name server answers, or it refuses.
        """
        return (yield from self.client.readable_queues(topic))

    def assign(
        self, topic: str, queues: Iterable[Queue] | None = None, *, tags: str = EVERYTHING, sql: str | None = None
    ) -> Operation[None]:
        """Fetch from queues of a topic, or from all that it has now, instead of those that were assigned of it before.

        Args:
            topic: The topic.
            queues: Some of its queues; all if they are not given.
            tags: Only messages with one of these tags: `a || b`.
            sql: Only messages whose properties satisfy this SQL92 expression, if the broker allows such filters.

        Raises:
            SubscriptionInvalid: a queue does not exist, or the filter is wrong.
            NoSuchTopic, NotReached, Refused: as with `queues`, or a broker refuses the SQL expression.
        """
        by = subscription(topic, tags=tags, sql=sql, version=self.client.runtime.wall())
        readable = yield from self.client.readable_queues(topic)
        yield from self.client.check_filter(by)
        chosen = readable if queues is None else sorted(set(queues))
        for queue in chosen:
            if queue not in readable:
                raise SubscriptionInvalid(f"{queue}: there is no such queue of {topic} that can be read")
        starts: dict[Queue, int] = {}
        for queue in chosen:
            starts[queue] = yield from self.offsets.start(queue, self._begin)
        for queue in self._fetching.positions:
            if queue.topic == topic:
                self._fetching.drop(queue)
                self._committed.pop(queue, None)
        self._subscriptions[topic] = by
        for queue, offset in starts.items():
            self._fetching.seek(queue, offset)

    def positions(self) -> dict[Queue, int]:
        """The offset of each assigned queue at which the next poll continues."""
        return self._fetching.positions

    def seek(self, queue: Queue, offset: int) -> None:
        """Continue a queue at an offset.

        Raises:
            SubscriptionInvalid: it is not assigned.
        """
        self._check_assigned(queue)
        self._fetching.seek(queue, offset)

    def seek_to_time(self, queue: Queue, milliseconds: int) -> Operation[None]:
        """Continue a queue at its first message that was stored at or after a time, in ms since 1970.

        Raises:
            SubscriptionInvalid: it is not assigned.
            NotReached, Refused: the broker does not answer, or refuses.
        """
        self._check_assigned(queue)
        self.seek(queue, (yield from self.offsets.at(queue, milliseconds)))

    def seek_to_first(self, queue: Queue) -> Operation[None]:
        """Continue a queue at its oldest message; raises as `seek_to_time`."""
        self._check_assigned(queue)
        self.seek(queue, (yield from self.offsets.first(queue)))

    def seek_to_end(self, queue: Queue) -> Operation[None]:
        """Continue a queue behind its newest message; raises as `seek_to_time`."""
        self._check_assigned(queue)
        self.seek(queue, (yield from self.offsets.end(queue)))

    def offset_at(self, queue: Queue, milliseconds: int) -> Operation[int]:
        """The offset of the first message that was stored at or after a time, in ms since 1970.

        Raises:
            NoSuchTopic, NotReached, Refused: it cannot be found out.
        """
        return self.offsets.at(queue, milliseconds)

    def first_offset(self, queue: Queue) -> Operation[int]:
        """The offset of the oldest message; raises as `offset_at`."""
        return self.offsets.first(queue)

    def end_offset(self, queue: Queue) -> Operation[int]:
        """The offset that the next message will get; raises as `offset_at`."""
        return self.offsets.end(queue)

    def committed(self, queue: Queue) -> Operation[int | None]:
        """The group's committed offset: of the next message to consume. None without one; raises as `offset_at`."""
        return self.offsets.committed(queue)

    def poll(self, seconds: float = 5.0) -> Operation[list[ReceivedMessage]]:
        """The next messages of the assigned queues, in order within each queue; none if none come in time.

        While a broker cannot be reached, its queues have none, and a warning is logged.

        Raises:
            SubscriptionInvalid: no queue is assigned.
            Refused: the broker refuses a pull: the account may not read the topic, for instance.
        """
        if not self._fetching.positions:
            raise SubscriptionInvalid("no queue is assigned")
        now = self.client.runtime.monotonic
        until = now() + seconds
        while True:
            messages: list[ReceivedMessage] = []
            for each in (yield from self._fetching.fetch(max(0.0, until - now()))):
                if each.error is not None:
                    _raise_unless_passing(each.error, each.queue)
                messages += each.messages
            if messages or now() >= until:
                return messages

    def commit(self) -> Operation[None]:
        """Commit the positions: what was polled counts as consumed by the group.

        Raises:
            NotReached, Refused: a broker does not answer, or refuses.
        """
        for queue, offset in self._fetching.positions.items():
            if self._committed.get(queue) != offset:
                yield from self.offsets.commit(queue, offset, wait=True)
                self._committed[queue] = offset

    def _check_assigned(self, queue: Queue) -> None:
        if queue not in self._fetching.positions:
            raise SubscriptionInvalid(f"{queue} is not assigned")


def _raise_unless_passing(error: RemotingError, queue: Queue) -> None:
    passes = isinstance(error, NotReached) or (isinstance(error, Refused) and error.code in _PASSING)
    if not passes:
        raise error
    log.warning("%s: a pull failed, and is tried again: %s", queue, error)
