"""Sends messages and waits for the acknowledgements: several requests are in flight, to several brokers.

Theory: a request is answered once, or its connection fails. Unacknowledged messages are sent again, to
another queue if any is allowed. So a message whose answer was lost may be stored twice, but none is missing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from rocketwire.remoting.clock import Clock
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.errors import NoBroker, NotReached, Refused, RemotingError
from rocketwire.remoting.sends import STORED, send_request
from rocketwire.spark.endpoint.session import BUSY, BUSY_TRIES, Sleep, pause
from rocketwire.spark.endpoint.write.routing import WritableQueues
from rocketwire.spark.errors import SendFailed
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.facts.codes import ResponseCode

_GROUP: Final = "rocketwire_spark"
_IN_FLIGHT: Final = 8
"""Requests in flight to one broker; as many bodies are in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingBatch:
    """The messages of one request.

    Attributes:
        topic: Where to.
        queue_id: The queue that was named; None for any.
        body: A body, or a batch.
        properties: Of a message by itself; None for a batch.
        flag: Of a message by itself.
        count: Messages in it.
        failures: How often sending it failed.
        avoided: The broker that failed last.
    """

    topic: str
    queue_id: int | None
    body: bytes = field(repr=False)
    properties: str | None = None
    flag: int = 0
    count: int = 1
    failures: int = 0
    avoided_queues: str | None = None


class _Sent(NamedTuple):
    opaque: int
    parcel: OutgoingBatch
    queue: BrokerQueue


class _Lane(NamedTuple):
    """The connection to a broker and its requests in flight, the oldest first."""

    connection: BlockingConnection
    waiting: deque[_Sent]


class EndpointSender:
    """Sends parcels.

    Attributes:
        acknowledged: Number of messages that brokers have acknowledged.
    """

    def __init__(
        self, cluster: BlockingCluster, routes: WritableQueues, *, retries: int, clock: Clock, sleep: Sleep
    ) -> None:
        self.acknowledged = 0
        self._cluster = cluster
        self._routes = routes
        self._retries = retries
        self._clock = clock
        self._sleep = sleep
        self._lanes: dict[str, _Lane] = {}
        self._failed: list[OutgoingBatch] = []
        self._rounds = 0  # consecutive rounds without an acknowledgement

    def send(self, parcel: OutgoingBatch) -> None:
        """Send it, now or when earlier requests are answered.

        Raises:
            SendFailed: this one, or one before it, was not acknowledged however often it was sent.
            TopicUnknown: there is no such topic or queue.
        """
        self._post(parcel)
        if self._failed:
            self.finish()

    def finish(self) -> None:
        """Wait until all is acknowledged.

        Raises:
            SendFailed, TopicUnknown: as with `send`.
        """
        self._settle_all()
        while self._failed:
            again, self._failed = self._failed, []
            self._rounds += 1
            self._sleep(pause(self._rounds))
            for topic in {parcel.topic for parcel in again}:
                self._routes.refresh(topic)
            for parcel in again:
                self._post(parcel)
            self._settle_all()

    def _post(self, parcel: OutgoingBatch) -> None:
        queue = self._routes.choose(parcel.topic, parcel.queue_id, avoided=parcel.avoided_queues)
        try:
            lane = self._lane(queue.broker)
            while len(lane.waiting) >= _IN_FLIGHT:
                self._settle(queue.broker)
                lane = self._lane(queue.broker)
            opaque = lane.connection.send(*self._request(parcel, queue))
        except (NotReached, NoBroker) as error:
            self._lost(queue.broker, error)
            self._fail(parcel, queue, error)
        else:
            lane.waiting.append(_Sent(opaque, parcel, queue))

    def _lane(self, broker: str) -> _Lane:
        if broker not in self._lanes:
            self._lanes[broker] = _Lane(self._cluster.broker(broker), deque())
        return self._lanes[broker]

    def _request(self, parcel: OutgoingBatch, queue: BrokerQueue) -> ClientRequest:
        return send_request(
            parcel.topic,
            queue.queue_id,
            parcel.body,
            group=_GROUP,
            born_timestamp=self._clock(),
            properties=parcel.properties,
            flag=parcel.flag,
        )

    def _settle_all(self) -> None:
        while any(lane.waiting for lane in self._lanes.values()):
            for broker in list(self._lanes):
                if broker in self._lanes and self._lanes[broker].waiting:
                    self._settle(broker)

    def _settle(self, broker: str) -> None:
        """Take the answer to the oldest request to a broker."""
        lane = self._lanes[broker]
        sent = lane.waiting.popleft()
        try:
            answer = lane.connection.answer(sent.opaque)
        except NotReached as error:
            self._lost(broker, error)
            self._fail(sent.parcel, sent.queue, error)
            return
        if answer.code in STORED:
            self.acknowledged += sent.parcel.count
            self._rounds = 0
        else:
            self._fail(sent.parcel, sent.queue, Refused(lane.connection.what, answer.code, answer.remark))

    def _lost(self, broker: str, error: RemotingError) -> None:
        """A connection failed, and with it its requests in flight."""
        lane = self._lanes.pop(broker, None)
        if lane is not None:
            self._cluster.discard(lane.connection)
            for _, parcel, queue in lane.waiting:
                self._fail(parcel, queue, error)

    def _fail(self, parcel: OutgoingBatch, queue: BrokerQueue, error: RemotingError) -> None:
        code = error.code if isinstance(error, Refused) else None
        if code in BUSY:
            # The broker is busy and may store it later. As long as it stores others, the task does not give up.
            failures, last = parcel.failures, self._rounds >= BUSY_TRIES
        else:
            failures = parcel.failures + 1
            last = failures > self._retries or code == ResponseCode.MESSAGE_ILLEGAL
        if last:
            raise SendFailed(
                f"{parcel.count} messages were not acknowledged by {queue}: {error}",
                "Others of this write may have been stored; see the log of the broker, and write again",
            ) from error
        self._failed.append(replace(parcel, failures=failures, avoided_queues=queue.broker))
