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
from rocketwire.wire.java import string_hash

_ACTIVE: Final = frozenset({ClientType.SIMPLE_CONSUMER, ClientType.PULL_CONSUMER})


class ClientDeclaration(NamedTuple):
    """What a client declares about itself.

    Attributes:
        settings: Its settings; None: none have come.
        group: The consumer group that it receives for; empty: none is known.
        filters: Its subscriptions by topic, each with a version that grows with each change.
    """

    settings: Settings | None
    group: str
    filters: Mapping[str, tuple[Filter, int]]

    def with_settings(self, settings: Settings, now: int) -> ClientDeclaration:
        """The declaration with new settings.

        Args:
            settings: Its settings.
            now: Milliseconds since 1970: the version of subscriptions that changed.

        Raises:
            CallInvalid: a filter expression is not valid.
        """
        entries = settings.subscription.subscriptions  # none of a producer
        filters = {entry.topic.name: read_filter(entry.expression) for entry in entries}
        versions = {topic: (each, self._version(topic, each, now)) for topic, each in filters.items()}
        return ClientDeclaration(settings, settings.subscription.group.name, versions)

    def with_subscription(self, group: str, topic: str, to: Filter, now: int) -> ClientDeclaration:
        """The declaration with a subscription that follows from what the client receives."""
        if self.group != group:
            return ClientDeclaration(self.settings, group, {topic: (to, now)})
        if self.filters.get(topic, (None, 0))[0] == to:
            return self
        return self._replace(filters={**self.filters, topic: (to, self._version(topic, to, now))})

    def _version(self, topic: str, to: Filter, now: int) -> int:
        known = self.filters.get(topic)
        if known is None:
            return now
        return known[1] if known[0] == to else max(now, known[1] + 1)

    def heartbeat(self, client_id: str) -> HeartbeatData | None:
        """The same as a heartbeat of the remoting protocol; None: nothing is known."""
        # Half messages have their topic for their producer group.
        producers = () if self.settings is None else self.settings.publishing.topics
        names = dict.fromkeys(topic.name for topic in producers)
        if not self.group and not names:
            return None
        return HeartbeatData(
            client_id=client_id,
            producer_data_set=tuple(ProducerData(group_name=name) for name in names),
            consumer_data_set=(self._consumer(),) if self.group else (),
        )

    def _consumer(self) -> ConsumerData:
        active = self.settings is not None and self.settings.client_type in _ACTIVE
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_ACTIVELY if active else ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=tuple(
                _subscription(topic, to, version) for topic, (to, version) in self.filters.items()
            ),
        )


NO_DECLARATION: Final = ClientDeclaration(None, "", {})


def _subscription(topic: str, to: Filter, version: int) -> SubscriptionData:
    kind, text = to
    tags: frozenset[str] = frozenset()
    if kind == TAG and text != EVERYTHING:
        tags = frozenset(tag for part in text.split("||") if (tag := part.strip()))
    return SubscriptionData(
        topic=topic,
        sub_string=text,
        tags_set=tags,
        code_set=frozenset(map(string_hash, tags)),
        sub_version=version,
        expression_type=kind,
    )
