"""Querying the brokers' figures, with few requests: two a broker, and some topics and groups in each sample."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.connection import BlockingConnection
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.errors import AccessDenied, NoSuchTopic, NotReached, Refused, refusal
from rocketwire.wire.bodies import decode_body
from rocketwire.wire.bodies.online import ConsumerConnection
from rocketwire.wire.bodies.progress import ConsumeStats, TopicStatsTable
from rocketwire.wire.bodies.route import KVTable
from rocketwire.wire.bodies.statistics import ConsumeStatsList
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.admin import GetConsumeStatsInBrokerHeader
from rocketwire.wire.headers.group import GetTopicStatsInfoRequestHeader
from rocketwire.wire.headers.online import GetConsumerConnectionListRequestHeader

TOPICS_AT_ONCE: Final = 8
GROUPS_AT_ONCE: Final = 4
_LISTED_SECONDS: Final = 10.0
"""How old the list of topics and brokers may be."""
_ROUTE_SECONDS: Final = 60.0


class QueuePlace(NamedTuple):
    """A queue."""

    topic: str
    broker: str
    queue_id: int


class GroupOffsets(NamedTuple):
    """A group's offset in a queue, and the queue's end."""

    consumed: int
    end: int


@dataclass(slots=True)
class ClusterSample:
    """What the brokers answered at one moment.

    Attributes:
        time: In seconds of a clock that only runs forward.
        runtime: The figures of brokers (28), by name.
        unreachable: Why a broker did not answer, or refused a part, by name.
        groups: The offsets of all groups (317), by group.
        queues: First and end offset of the queues of some topics (202).
        members: The number of members of some groups (203).
    """

    time: float
    topics: list[str] = field(default_factory=list)
    runtime: dict[str, dict[str, str]] = field(default_factory=dict)
    unreachable: dict[str, str] = field(default_factory=dict)
    groups: dict[str, dict[QueuePlace, GroupOffsets]] = field(default_factory=dict)
    queues: dict[QueuePlace, tuple[int, int]] = field(default_factory=dict)
    members: dict[str, int] = field(default_factory=dict)


class Sampler:
    """Takes samples of a cluster.

    Args:
        in_parts: Whether a sample queries the next `TOPICS_AT_ONCE` topics that no group reads, and the next
            `GROUPS_AT_ONCE` groups; else all.
    """

    def __init__(self, cluster: BlockingCluster, *, in_parts: bool) -> None:
        self._cluster = cluster
        self._in_parts = in_parts
        self._topics: list[str] = []
        self._brokers: dict[str, BlockingConnection] = {}
        self._listed: float | None = None
        self._routes: dict[str, tuple[float, list[str]]] = {}
        self._topic_turn = self._group_turn = 0

    def take(self, topic: str | None = None, group: str | None = None) -> ClusterSample:
        """A sample, which has the topic and the group that are named.

        Raises:
            NotReached, NoBroker: the name server does not answer, or has no broker.
            AccessDenied: the account may not query them.
        """
        now = time.monotonic()
        if self._listed is None or now - self._listed > _LISTED_SECONDS:
            self._topics, self._brokers, self._listed = self._cluster.topics(), self._cluster.all_brokers(), now
        sample = ClusterSample(now, topics=self._topics)
        for name in list(self._brokers):
            try:
                self._query_broker(name, sample)
            except NotReached as error:
                self._lost(name, error, sample)
        known = {place.topic for offsets in sample.groups.values() for place in offsets} if self._in_parts else set()
        others = [each for each in self._topics if each not in known and not each.startswith("%")]
        chosen, self._topic_turn = self._turn(others, self._topic_turn, TOPICS_AT_ONCE)
        for each in dict.fromkeys([*([topic] if topic else []), *chosen]):
            self._query_topic(each, sample)
        chosen, self._group_turn = self._turn(sorted(sample.groups), self._group_turn, GROUPS_AT_ONCE)
        for each in dict.fromkeys([*([group] if group else []), *chosen]):
            self._query_group(each, sample)
        return sample

    def _turn(self, names: list[str], start: int, most: int) -> tuple[list[str], int]:
        if not self._in_parts or len(names) <= most:
            return names, 0
        start %= len(names)
        return (names[start:] + names[:start])[:most], start + most

    def _lost(self, name: str, error: NotReached, sample: ClusterSample) -> None:
        self._cluster.discard(self._brokers.pop(name))
        self._listed = None  # look where it is now
        sample.unreachable[name] = str(error)

    def _query_broker(self, name: str, sample: ClusterSample) -> None:
        """The figures of a broker and the offsets of all its groups.

        Raises:
            NotReached, AccessDenied: it does not answer, or the account may not query them.
        """
        broker = self._brokers[name]
        runtime = broker.send(ClientRequest(RequestCode.GET_BROKER_RUNTIME_INFO))
        fields = GetConsumeStatsInBrokerHeader(is_order=False)
        progress = broker.send(ClientRequest(RequestCode.GET_BROKER_CONSUME_STATS, fields))
        answer = broker.answer(runtime)
        if answer.code == ResponseCode.SUCCESS:
            sample.runtime[name] = decode_body(KVTable, answer.body).table
        answer = broker.answer(progress)
        if answer.code != ResponseCode.SUCCESS:
            error = refusal(broker.what, answer.code, answer.remark)
            if isinstance(error, AccessDenied):
                raise error
            sample.unreachable[name] = f"no progress of groups: {error}"
            return
        for each in decode_body(ConsumeStatsList, answer.body).consume_stats_list:
            for group, progresses in each.items():
                sample.groups.setdefault(group, {}).update(_offsets(name, progresses))

    def _query_topic(self, topic: str, sample: ClusterSample) -> None:
        for name, broker in self._brokers_of(topic):
            try:
                answer = broker.ask(RequestCode.GET_TOPIC_STATS_INFO, GetTopicStatsInfoRequestHeader(topic=topic))
            except AccessDenied:
                raise
            except Refused:
                continue
            except NotReached as error:
                self._lost(name, error, sample)
                continue
            for queue, offsets in decode_body(TopicStatsTable, answer.body).offset_table.items():
                sample.queues[QueuePlace(topic, name, queue.queue_id)] = (offsets.min_offset, offsets.max_offset)

    def _brokers_of(self, topic: str) -> Iterator[tuple[str, BlockingConnection]]:
        now = time.monotonic()
        kept = self._routes.get(topic)
        if kept is None or now - kept[0] > _ROUTE_SECONDS:
            try:
                names = [each.broker_name for each in self._cluster.route(topic).broker_datas]
            except NoSuchTopic:
                names = []
            kept = self._routes[topic] = now, names
        for name in kept[1]:
            if name in self._brokers:
                yield name, self._brokers[name]

    def _query_group(self, group: str, sample: ClusterSample) -> None:
        """The number of members, as the first broker that knows some has it: all members connect to all brokers."""
        sample.members[group] = 0
        for name, broker in list(self._brokers.items()):
            fields = GetConsumerConnectionListRequestHeader(consumer_group=group)
            try:
                answer = broker.ask(RequestCode.GET_CONSUMER_CONNECTION_LIST, fields)
            except AccessDenied:
                raise
            except Refused:
                continue
            except NotReached as error:
                self._lost(name, error, sample)
                continue
            members = {each.client_id for each in decode_body(ConsumerConnection, answer.body).connection_set}
            sample.members[group] = max(sample.members[group], len(members))


def _offsets(broker: str, progresses: tuple[ConsumeStats, ...]) -> dict[QueuePlace, GroupOffsets]:
    return {
        QueuePlace(queue.topic, broker, queue.queue_id): GroupOffsets(offsets.consumer_offset, offsets.broker_offset)
        for each in progresses
        for queue, offsets in each.offset_table.items()
    }
