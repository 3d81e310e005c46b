"""What a client of 5.x declares about itself: its settings, its group, and its subscriptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from rocketwire.wire.bodies.client import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    ProducerData,
    SubscriptionData,
)
from rocketwire.wire.grpc.definition_pb2 import ClientType, Settings
from rocketwire.wire.grpc.filters import EVERYTHING, TAG, Filter, read_filter
from rocketwire.wire.grpc.times import duration_ms
from rocketwire.wire.java import string_hash

MOST_BYTES: Final = 256 * 1024
MOST_TAGS: Final = MOST_BYTES // 32
MOST_TOPICS: Final = 1024
"""Of all subscriptions, also those that are learnt from what a client receives; as many as settings may have."""
_OR: Final = "||"
_PER_BYTE: Final = 10
_PER_GROUP: Final = 2048
"""As a heartbeat counts."""
_ACTIVE: Final = frozenset({ClientType.SIMPLE_CONSUMER, ClientType.PULL_CONSUMER})


class ClientDeclaration(NamedTuple):
    """What a client declares about itself; of its settings it keeps what the server uses.

    Attributes:
        producers: The topics to which it sends.
        active: Whether it receives when it likes to, as simple consumers do.
        request_ms: Its timeout; 0: none is known.
        group: The consumer group that it receives for; empty: none is known.
        filters: Its subscriptions by topic, each with a version that grows with each change.
        size: The characters of these: many receives in a row change one of them, so nothing goes through all.
        tags: The tags of these.
    """

    producers: tuple[str, ...]
    active: bool
    request_ms: int
    group: str
    filters: Mapping[str, tuple[Filter, int]]
    size: int = 0
    tags: int = 0

    def with_settings(self, settings: Settings, now: int) -> ClientDeclaration:
        """The declaration with new settings.

        Args:
            settings: Its settings.
            now: Milliseconds since 1970: the version of subscriptions that changed.

        Raises:
            CallInvalid: a filter expression, or the timeout, is not valid.
        """
        entries = settings.subscription.subscriptions  # none of a producer
        filters = {entry.topic.name: read_filter(entry.expression) for entry in entries}
        return ClientDeclaration(
            # Half messages have their topic for their producer group.
            producers=tuple(dict.fromkeys([topic.name for topic in settings.publishing.topics])),
            active=settings.client_type in _ACTIVE,
            request_ms=duration_ms(settings.request_timeout),
            group=settings.subscription.group.name,
            filters={topic: (each, self._version(topic, each, now)) for topic, each in filters.items()},
            size=sum([_size(topic, each) for topic, each in filters.items()]),
            tags=sum(map(_tags, filters.values())),
        )

    def with_subscription(self, group: str, topic: str, to: Filter, now: int) -> ClientDeclaration:
        """The declaration with a subscription that follows from what the client receives."""
        if self.group != group:
            return self._replace(group=group, filters={topic: (to, now)}, size=_size(topic, to), tags=_tags(to))
        known = self.filters.get(topic)
        if known is not None and known[0] == to:
            return self
        filters, size, tags = dict(self.filters), self.size + _size(topic, to), self.tags + _tags(to)
        if known is not None:
            del filters[topic]
            size, tags = size - _size(topic, known[0]), tags - _tags(known[0])
        for oldest in list(filters):
            if size <= MOST_BYTES and tags <= MOST_TAGS and len(filters) < MOST_TOPICS:
                break
            dropped, _ = filters.pop(oldest)
            size, tags = size - _size(oldest, dropped), tags - _tags(dropped)
        filters[topic] = (to, self._version(topic, to, now))
        return self._replace(filters=filters, size=size, tags=tags)

    def _version(self, topic: str, to: Filter, now: int) -> int:
        known = self.filters.get(topic)
        if known is None:
            return now
        return known[1] if known[0] == to else max(now, known[1] + 1)

    @property
    def cost(self) -> int:
        """About how many bytes it takes, with what is made of a heartbeat that says it."""
        texts = sum(map(len, self.producers)) + self.size
        return _PER_BYTE * texts + _PER_GROUP * (len(self.producers) + len(self.filters))

    def heartbeat(self, client_id: str) -> HeartbeatData | None:
        """The same as a heartbeat of the remoting protocol; None: nothing is known."""
        if not self.group and not self.producers:
            return None
        return HeartbeatData(
            client_id=client_id,
            producer_data_set=tuple(ProducerData(group_name=name) for name in self.producers),
            consumer_data_set=(self._consumer(),) if self.group else (),
        )

    def _consumer(self) -> ConsumerData:
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_ACTIVELY if self.active else ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=tuple(
                _subscription(topic, to, version) for topic, (to, version) in self.filters.items()
            ),
        )


NO_DECLARATION: Final = ClientDeclaration((), active=False, request_ms=0, group="", filters={})


def _size(topic: str, to: Filter) -> int:
    return len(topic) + len(to.text)


def _tags(to: Filter) -> int:
    return to.text.count(_OR) + 1


def _subscription(topic: str, to: Filter, version: int) -> SubscriptionData:
    kind, text = to
    tags: frozenset[str] = frozenset()
    if kind == TAG and text != EVERYTHING:
        tags = frozenset(tag for part in text.split(_OR) if (tag := part.strip()))
    return SubscriptionData(
        topic=topic,
        sub_string=text,
        tags_set=tags,
        code_set=frozenset(map(string_hash, tags)),
        sub_version=version,
        expression_type=kind,
    )
