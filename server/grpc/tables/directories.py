"""Topics and groups, as calls know them: what each broker has of a topic, and the configuration of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire.addresses import Address
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig


class TopicShare(NamedTuple):
    """What one broker has of a topic.

    Attributes:
        broker: The broker's name.
        config: The topic's configuration there.
        address: Where clients reach the broker; None: where they sent the request.
    """

    broker: str
    config: TopicConfig
    address: Address | None = None


class TopicDirectory(Protocol):
    """The topics. What is not known may be so after a request for the route (105)."""

    def shares(self, topic: str) -> Sequence[TopicShare]:
        """The shares of a topic, always in the same order; none: it is not known."""

    def broker_to_receive_from(self, broker: str, topic: str) -> str:
        """The broker that a client receives from, which names one, or none: an empty name."""

    def is_avoided(self, broker: str) -> bool:
        """Whether sends that may go to any broker should leave out this one for now."""


class OwnTopics:
    """Those of this broker, which is the only one."""

    def __init__(self, topics: BrokerTopics, broker_keys: LiveGroup[BrokerKeys]) -> None:
        self._topics = topics
        self._broker_keys = broker_keys

    def shares(self, topic: str) -> Sequence[TopicShare]:
        """The one share of a topic; none: there is no such topic."""
        config = self._topics.get(topic)
        return () if config is None else (TopicShare(self._broker_keys.current.broker_name, config),)

    def broker_to_receive_from(self, _broker: str, _topic: str) -> str:
        """This broker, whatever the client names."""
        return self._broker_keys.current.broker_name

    def is_avoided(self, _broker: str) -> bool:
        """There is no other."""
        return False


class GroupDirectory(Protocol):
    """The groups' configurations."""

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """A group's configuration; None: there is no such group, or a request has to fetch it."""

    def needs_request(self, group: str) -> bool:
        """Whether a request (352) has to fetch a group before `get` is right."""


class OwnGroups:
    """Those of this broker."""

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._table = groups.table

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """A group's configuration; None: there is no such group."""
        return self._table.get(group)

    def needs_request(self, _group: str) -> bool:
        """All are known."""
        return False
