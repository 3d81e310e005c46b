"""Messages to send, and which queue each is sent to."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from rocketwire.cli.errors import CommandFailed
from rocketwire.remoting.cluster import BlockingCluster, SendRoute
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.outgoing import UniqueIds
from rocketwire.remoting.requests import writable_queues
from rocketwire.wire.facts import properties as names
from rocketwire.wire.java import string_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """A message to send.

    Attributes:
        properties: With its tag, its keys and, if it has one already, its id.
        queue_id: The queue to send it to, modulo the number of queues; None for any.
        order_key: Messages with the same one go to the same queue, in their order; None for any queue.
        reconsume_times: How often it was tried before; of messages for retry topics.
    """

    topic: str
    body: bytes = field(repr=False)
    properties: dict[str, str] = field(default_factory=dict)
    flag: int = 0
    queue_id: int | None = None
    order_key: str | None = None
    reconsume_times: int = 0

    @property
    def message_id(self) -> str:
        """Its unique key; empty if it has none yet."""
        return self.properties.get(names.UNIQ_KEY, "")

    def with_id(self, ids: UniqueIds) -> OutgoingMessage:
        """The same with an id."""
        if self.message_id:
            return self
        return self.with_properties({names.UNIQ_KEY: ids.next(), **self.properties})

    def with_properties(self, properties: dict[str, str]) -> OutgoingMessage:
        """The same with other properties; a fifth of the time that `dataclasses.replace` takes."""
        return OutgoingMessage(
            topic=self.topic,
            body=self.body,
            properties=properties,
            flag=self.flag,
            queue_id=self.queue_id,
            order_key=self.order_key,
            reconsume_times=self.reconsume_times,
        )


class SendTarget(NamedTuple):
    """A queue of a topic, and the connection to its broker."""

    topic: str
    broker: str
    queue_id: int
    connection: BlockingConnection


class SendTargets:
    """The queues of topics that take messages, as the name server had them at the first message for a topic.

    Args:
        on_new_topic: Gets the name of a topic that does not exist and that a message will create; None: such a topic
            is an error.
    """

    def __init__(self, cluster: BlockingCluster, *, on_new_topic: Callable[[str], None] | None) -> None:
        self._cluster = cluster
        self._on_new_topic = on_new_topic
        self._queues: dict[str, list[SendTarget]] = {}
        self._next: dict[str, int] = {}
        # Programs that send one message each do not all send it to the same queue.
        self._first = int.from_bytes(os.urandom(2), "big")

    def renew(self) -> None:
        """Close the connections to brokers and forget the routes: the next message makes them again."""
        for connection in {target.connection for queues in self._queues.values() for target in queues}:
            self._cluster.discard(connection)
        self._queues.clear()

    def of(self, message: OutgoingMessage, *, stay: bool) -> SendTarget:
        """The queue for a message: of its order key, of its queue's number, or the next one, or with `stay` the same.

        Raises:
            NoSuchTopic, NotReached: there is no such topic, or a broker cannot be reached.
            Unsuccessful: no queue takes messages.
        """
        queues = self.queues(message.topic)
        if message.order_key is not None:
            # As Java's SelectMessageQueueByHash does.
            return queues[abs(string_hash(message.order_key)) % len(queues)]
        if message.queue_id is not None:
            return queues[message.queue_id % len(queues)]
        turn = self._next.get(message.topic, self._first) + (not stay)
        self._next[message.topic] = turn
        return queues[turn % len(queues)]

    def queues(self, topic: str) -> list[SendTarget]:
        """All queues of a topic that take messages, those of a broker behind each other.

        Raises:
            NoSuchTopic, NotReached: there is no such topic and none is created, or a broker cannot be reached.
            Unsuccessful: no queue takes messages.
        """
        if topic not in self._queues:
            route, is_new = self._route(topic)
            brokers = self._cluster.connections(route)
            self._queues[topic] = [
                SendTarget(topic, broker, number, brokers[broker])
                for broker, number in writable_queues(route, is_model=is_new)
                if broker in brokers
            ]
            if is_new and self._on_new_topic is not None:
                self._on_new_topic(topic)
        if not self._queues[topic]:
            raise CommandFailed(f"topic {topic} has no queue that takes messages")
        return self._queues[topic]

    def _route(self, topic: str) -> SendRoute:
        if self._on_new_topic is None:
            return SendRoute(self._cluster.route(topic), is_new=False)
        return self._cluster.send_route(topic)
