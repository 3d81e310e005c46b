"""Heartbeats: every client sends one every 30 s, nearly always the same as before.

The first heartbeat of a connection, and one with new content, is parsed and creates what its groups need:
configurations, retry topics, members, filters. The next one with the same bytes changes nothing unless others changed
what it depends on; then it only refreshes the client. New topics and groups of others are no such change. Heartbeats
with filters to compile are always processed in full: each may compile only so much, and leaves the rest to the next. So
are those of groups that are not configured yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from rocketwire.remoting.core.steps import Operation
from rocketwire.server.clients.groups import ClientGroups, MembershipSnapshot
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.long_tasks import in_batches, parse_body
from rocketwire.server.core.request import Peer
from rocketwire.server.filters.consumer_filters import Allowance, ConsumerFilters
from rocketwire.server.filters.tag import is_tag_type
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.topics.keys import TopicKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics, retry_config
from rocketwire.wire import names
from rocketwire.wire.bodies.client import ConsumerData, HeartbeatData
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import TopicSysFlag
from rocketwire.wire.header import Header


class _Same(NamedTuple):
    """What must be equal for a heartbeat to be the same as the last one, with the same effect."""

    digest: bytes
    language: str
    version: int
    limit_keys: LimitKeys
    topic_keys: TopicKeys
    topics: int
    groups: int


class _Heard(NamedTuple):
    same: _Same
    standing: MembershipSnapshot


_PER_BYTE: Final = 10
_PER_GROUP: Final = 2048
"""What is cached of a heartbeat takes at most so many bytes for each byte of its body and each group."""
_BYTES_PER_ENTRY: Final = 16
"""The longest heartbeat may have one entry for each so many bytes."""
MOST_GROUPS: Final = 1024
"""The most groups of one heartbeat."""
_NOT_COUNTED: Final = 64 * 1024
"""So many bytes of each connection do not count as in flight: what honest clients of up to ten groups, with two topics
each, need. However many are idle, none is refused for it."""


class Heartbeats:
    """Processes the heartbeats of all clients of a broker."""

    def __init__(
        self,
        *,
        limit_keys: LiveGroup[LimitKeys],
        topic_keys: LiveGroup[TopicKeys],
        topics: BrokerTopics,
        groups: SubscriptionGroups,
        clients: ClientGroups,
        filters: ConsumerFilters,
    ) -> None:
        self._limit_keys = limit_keys
        self._topic_keys = topic_keys
        self._topics = topics
        self._groups = groups
        self._clients = clients
        self._filters = filters

    def take(self, peer: Peer, header: Header, body: memoryview) -> Operation[None] | None:
        """Process a heartbeat; return further work if it has new content.

        Raises, or the further work raises: LimitExceeded: the body is too long, or it needs more topics or groups than
        allowed. BodyInvalid: the body is not a heartbeat. NameInvalid: the name of a new group or retry topic is not
        valid. StoreError: the retry topics could not be saved.
        """
        most = self._limit_keys.current.max_heartbeat_bytes
        if len(body) > most:
            raise LimitExceeded("maxHeartbeatBytes", most)
        digest = hashlib.sha256(body, usedforsecurity=False).digest()
        heard = self._clients.remembered(peer)
        if (
            isinstance(heard, _Heard)
            and heard.same == self._same(digest, header)
            and self._clients.refresh(peer, heard.standing)
        ):
            return None
        read = parse_body(HeartbeatData, body, most_entries=heartbeat_entries(most))
        return self._process(peer, header, digest, read, len(body))

    def _process(
        self, peer: Peer, header: Header, digest: bytes, read: Operation[HeartbeatData], size: int
    ) -> Operation[None]:
        data = yield from read
        if peer.closed:
            return
        groups = len(data.consumer_data_set) + len(data.producer_data_set)
        if groups > MOST_GROUPS:
            raise LimitExceeded("heartbeatGroups", MOST_GROUPS)
        peer.keep(max(0, _PER_BYTE * size + _PER_GROUP * groups - _NOT_COUNTED))
        yield from self._register(peer, header, digest, data)

    def _same(self, digest: bytes, header: Header) -> _Same:
        return _Same(
            digest,
            header.language,
            header.version,
            self._limit_keys.current,
            self._topic_keys.current,
            self._topics.table.replacements,
            self._groups.table.replacements,
        )

    def _register(self, peer: Peer, header: Header, digest: bytes, data: HeartbeatData) -> Operation[None]:
        """Register its content; if the connection closes meanwhile, nothing of it stays."""
        consumers, producers = data.consumer_data_set, data.producer_data_set
        named = dict.fromkeys([consumer.group_name for consumer in consumers])
        same = self._same(digest, header)  # before the steps: others may change something between them
        groups = yield from self._groups.find_all([consumer.group_name for consumer in consumers])
        for retries in in_batches(list(_retry_topics(consumers, groups))):
            self._topics.create_retries(retries)
            yield None
        client_id, language, version = data.client_id, header.language, header.version
        stands = [MembershipSnapshot((), ())]
        allowance = Allowance()
        for some in in_batches(consumers):
            for consumer in some:
                if peer.closed:
                    return
                yield from self._register_consumer(peer, header, client_id, consumer, allowance)
            if len(named) == len(consumers) and not peer.closed:
                stands.append(self._clients.membership_snapshot(peer, consumers=[each.group_name for each in some]))
            yield None
        for others in in_batches(producers):
            if peer.closed:
                return
            names_of = [producer.group_name for producer in others]
            for name in names_of:
                self._clients.register_producer(peer, client_id, name, language=language, version=version)
            stands.append(self._clients.membership_snapshot(peer, producers=names_of))
            yield None
        if peer.closed:
            return
        # If a group is named twice, the two change each other each time; a group that could not be created must be
        # tried again.
        again = len(named) < len(consumers) or None in groups or any(map(_compiles, consumers))
        self._clients.remember(peer, None if again else _Heard(same, _joined(stands)))

    def _register_consumer(
        self, peer: Peer, header: Header, client_id: str, consumer: ConsumerData, allowance: Allowance
    ) -> Operation[None]:
        """Register one consumer, its SQL filters in steps; if the connection closes meanwhile, not all of them."""
        language, version = header.language, header.version
        self._clients.register_consumer(peer, client_id, consumer, language=language, version=version)
        for _ in self._filters.register(consumer.group_name, consumer.subscription_data_set, allowance):
            yield None
            if peer.closed:
                return


def _joined(stands: Iterable[MembershipSnapshot]) -> MembershipSnapshot:
    of_consumers, of_producers = zip(*stands, strict=True)
    return MembershipSnapshot(tuple(chain.from_iterable(of_consumers)), tuple(chain.from_iterable(of_producers)))


def heartbeat_entries(most: int) -> int:
    """The most entries of a heartbeat, or of one subscription, of at most so many bytes."""
    return most // _BYTES_PER_ENTRY


def _compiles(consumer: ConsumerData) -> bool:
    """Whether a consumer subscribes with an expression that must be compiled."""
    return any(
        bool(each.sub_string) and not is_tag_type(each.expression_type) for each in consumer.subscription_data_set
    )


def _retry_topics(
    consumers: Iterable[ConsumerData], groups: Iterable[SubscriptionGroupConfig | None]
) -> Iterator[TopicConfig]:
    """The retry topics that the groups should have."""
    for consumer, group in zip(consumers, groups, strict=True):
        topic = names.retry_topic(consumer.group_name)
        if group is not None and group.retry_queue_nums > 0 and names.topic_name_error(topic) is None:
            yield retry_config(topic, group.retry_queue_nums, TopicSysFlag.UNIT_SUB if consumer.unit_mode else 0)
