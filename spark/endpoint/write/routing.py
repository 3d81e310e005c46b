"""Chooses the queue of a message: the next one of its topic, unless the row names it."""

from __future__ import annotations

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.errors import NoSuchTopic, RemotingError
from rocketwire.remoting.requests import writable_queues
from rocketwire.spark.errors import TopicUnknown
from rocketwire.spark.stream.offsets import BrokerQueue
from rocketwire.wire.names import AUTO_CREATE_TOPIC


class WritableQueues:
    """The writable queues of topics, from the name server.

    Args:
        cluster: Answers the queries.
        first: Where to begin in each topic, so that the tasks of a job do not all begin at the same queue.
    """

    def __init__(self, cluster: BlockingCluster, *, first: int) -> None:
        self._cluster = cluster
        self._first = first
        self._queues: dict[str, list[BrokerQueue]] = {}
        self._stale: set[str] = set()
        self._next: dict[str, int] = {}

    def refresh(self, topic: str) -> None:
        """Query a topic's queues again at their next use. If the query fails, the known ones are used."""
        self._stale.add(topic)

    def choose(self, topic: str, queue_id: int | None, *, avoided: str | None = None) -> BrokerQueue:
        """The next queue; on another broker than the one to be avoided, if there is one.

        Raises:
            TopicUnknown: there is no such topic or queue, and none is made.
            RemotingError: the name server does not answer, or refuses.
        """
        queues = self._all(topic)
        if queue_id is not None:
            queues = [each for each in queues if each.queue_id == queue_id]
            if not queues:
                raise TopicUnknown(
                    f"topic {topic} has no queue {queue_id} that takes messages",
                    "Leave the column queue_id null, or give the topic more queues",
                )
        number = self._next.get(topic, self._first)
        self._next[topic] = number + 1
        others = [each for each in queues if each.broker != avoided] or queues
        return others[number % len(others)]

    def _all(self, topic: str) -> list[BrokerQueue]:
        known = self._queues.get(topic)
        if known is not None and topic not in self._stale:
            return known
        self._stale.discard(topic)
        try:
            found = self._query_queues(topic)
        except (RemotingError, TopicUnknown):
            # The broker may be restarting, with its name server or the route that it registers.
            if known is None:
                raise
            return known
        if not found:
            raise TopicUnknown(
                f"topic {topic} has no queue that takes messages", "Give it queues, or the permission to be written"
            )
        self._queues[topic] = found
        return found

    def _query_queues(self, topic: str) -> list[BrokerQueue]:
        try:
            route, is_model = self._cluster.route(topic), False
        except NoSuchTopic as error:
            # The broker creates the topic like this one with its first message, if that is allowed.
            try:
                route, is_model = self._cluster.route(AUTO_CREATE_TOPIC), True
            except NoSuchTopic:
                raise TopicUnknown(
                    str(error), "Create it, or let brokers make topics by themselves (autoCreateTopicEnable)"
                ) from error
        return [BrokerQueue(broker, topic, number) for broker, number in writable_queues(route, is_model=is_model)]
