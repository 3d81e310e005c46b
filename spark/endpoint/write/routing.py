"""To which queue a message goes: the next one of its topic, unless the row names it."""

from __future__ import annotations

from typing import Final

from rocketwire.remoting.cluster import Cluster
from rocketwire.remoting.errors import NoSuchTopic, RemotingError
from rocketwire.spark.errors import TopicUnknown
from rocketwire.spark.stream.offsets import MessageQueue
from rocketwire.wire.codes import Permission
from rocketwire.wire.names import AUTO_CREATE_TOPIC

AUTO_CREATED_QUEUES: Final = 4
"""Queues that a topic gets which the broker makes for its first message, as clients ask for."""


class Routes:
    """The queues of topics that take messages, as the name server tells of them at first.

    Args:
        cluster: Is asked.
        first: Where to begin in each topic, so that the tasks of a job do not all begin at the same queue.
    """

    def __init__(self, cluster: Cluster, *, first: int) -> None:
        self._cluster = cluster
        self._first = first
        self._queues: dict[str, list[MessageQueue]] = {}
        self._stale: set[str] = set()
        self._next: dict[str, int] = {}

    def renew(self, topic: str) -> None:
        """Ask for a topic's queues again when they are needed, once. Those known count where nobody can tell."""
        self._stale.add(topic)

    def choose(self, topic: str, queue_id: int | None, *, avoided: str | None = None) -> MessageQueue:
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

    def _all(self, topic: str) -> list[MessageQueue]:
        known = self._queues.get(topic)
        if known is not None and topic not in self._stale:
            return known
        self._stale.discard(topic)
        try:
            found = self._asked(topic)
        except (RemotingError, TopicUnknown):
            # The broker may be about to come back, and with it the name server, or what that knows of the topic.
            if known is None:
                raise
            return known
        if not found:
            raise TopicUnknown(
                f"topic {topic} has no queue that takes messages", "Give it queues, or the permission to be written"
            )
        self._queues[topic] = found
        return found

    def _asked(self, topic: str) -> list[MessageQueue]:
        try:
            route, most = self._cluster.route(topic), None
        except NoSuchTopic as error:
            # The broker makes it like this one when the first message comes, if it is allowed to.
            try:
                route, most = self._cluster.route(AUTO_CREATE_TOPIC), AUTO_CREATED_QUEUES
            except NoSuchTopic:
                raise TopicUnknown(
                    str(error), "Create it, or let brokers make topics by themselves (autoCreateTopicEnable)"
                ) from error
        return sorted(
            MessageQueue(each.broker_name, topic, number)
            for each in route.queue_datas
            if each.perm & Permission.WRITE
            for number in range(each.write_queue_nums if most is None else min(most, each.write_queue_nums))
        )
