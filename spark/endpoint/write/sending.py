"""Sends messages, one request at a time, and waits for each acknowledgement.

Unacknowledged messages are sent again, to another queue if any is allowed. So a message whose answer was lost may be
stored twice, but none is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from rocketwire.remoting.clock import Clock
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.errors import NoBroker, NotReached, Refused, RemotingError
from rocketwire.remoting.requests import STORED, send_request
from rocketwire.spark.endpoint.session import BUSY, BUSY_TRIES, Sleep, pause
from rocketwire.spark.endpoint.write.messages import RowMessage
from rocketwire.spark.endpoint.write.routing import WritableQueues
from rocketwire.spark.errors import SendFailed
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.batch import BatchItem, encode_batch
from rocketwire.wire.facts.codes import ResponseCode

_GROUP: Final = "rocketwire_spark"
_MOST_OF_A_BATCH: Final = 512
"""Messages: a task with few rows uses more than one queue nevertheless."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingBatch:
    """The messages of one request.

    Attributes:
        topic: Where to.
        queue_id: The queue that was named; None for any.
        body: A body, or a batch.
        properties: Of a single message; None for a batch.
        flag: Of a single message. count: Messages in it.
    """

    topic: str
    queue_id: int | None
    body: bytes = field(repr=False)
    properties: str | None = None
    flag: int = 0
    count: int = 1


def outgoing_batches(messages: Iterable[RowMessage], most_bytes: int) -> Iterator[OutgoingBatch]:
    """The requests that send messages: batches of those that agree in topic and queue, and single messages."""
    groups: dict[tuple[str, int | None, bool], list[RowMessage]] = {}
    for message in messages:
        groups.setdefault(message[:3], []).append(message)
    for (topic, queue_id, is_delayed), group in groups.items():
        for some in _batches(group, 1 if is_delayed else _MOST_OF_A_BATCH, most_bytes):
            if len(some) > 1:
                yield OutgoingBatch(topic=topic, queue_id=queue_id, body=b"".join(map(_item, some)), count=len(some))
            else:
                [one] = some
                properties = one.properties.decode()
                yield OutgoingBatch(topic=topic, queue_id=queue_id, body=one.body, properties=properties, flag=one.flag)


def _item(message: RowMessage) -> bytes:
    return encode_batch([BatchItem(message.flag, message.body, message.properties)])


def _batches(messages: Iterable[RowMessage], most: int, most_bytes: int) -> Iterator[list[RowMessage]]:
    batch: list[RowMessage] = []
    size = 0
    for message in messages:
        own = len(_item(message))
        if batch and (len(batch) == most or size + own > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(message)
        size += own
    if batch:
        yield batch


class EndpointSender:
    """Sends outgoing_batches.

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

    def send(self, batch: OutgoingBatch) -> None:
        """Send it until it is acknowledged.

        Raises:
            SendFailed: it was not acknowledged, however often it was sent.
            TopicUnknown: there is no such topic or queue.
        """
        failures = refusals = 0
        avoided: str | None = None
        while (error := self._failure(batch, queue := self._choose(batch, avoided))) is not None:
            code = error.code if isinstance(error, Refused) else None
            if code in BUSY:
                refusals += 1
            else:
                failures += 1
            if failures > self._retries or refusals > BUSY_TRIES or code == ResponseCode.MESSAGE_ILLEGAL:
                raise SendFailed(
                    f"{batch.count} messages were not acknowledged by {queue}: {error}",
                    "Others of this write may have been stored; see the log of the broker, and write again",
                ) from error
            self._sleep(pause(failures + refusals))
            self._routes.refresh(batch.topic)
            avoided = queue.broker
        self.acknowledged += batch.count

    def _choose(self, batch: OutgoingBatch, avoided: str | None) -> BrokerQueue:
        return self._routes.choose(batch.topic, batch.queue_id, avoided=avoided)

    def _failure(self, batch: OutgoingBatch, queue: BrokerQueue) -> RemotingError | None:
        """Send it to a queue; why it was not acknowledged, or None."""
        request = send_request(
            batch.topic,
            queue.queue_id,
            batch.body,
            group=_GROUP,
            born_timestamp=self._clock(),
            properties=batch.properties,
            flag=batch.flag,
        )
        connection: BlockingConnection | None = None
        try:
            connection = self._cluster.broker(queue.broker)
            answer = connection.answer(connection.send(request))
        except (NotReached, NoBroker) as error:
            if connection is not None:
                self._cluster.discard(connection)
            return error
        return None if answer.code in STORED else Refused(connection.what, answer.code, answer.remark)
