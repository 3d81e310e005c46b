"""The other brokers of the same server, as the supervisor reports them: their addresses and topics."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from rocketwire.server.core.server_error import ServerError
from rocketwire.server.grpc.tables.directories import OwnTopics, TopicShare
from rocketwire.server.members.news import MemberNews
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.errors import StoreError
from rocketwire.wire import names
from rocketwire.wire.addresses import Address, parse_address
from rocketwire.wire.bodies.topic import TopicConfig

log = logging.getLogger(__name__)


def shared_topics(topics: BrokerTopics) -> dict[str, TopicConfig]:
    """The topics that all brokers of a server have: those of applications, but no group's and no broker's own."""
    return {name: config for name, config in topics.table.configs.items() if _is_shared(name, topics.own)}


def _is_shared(name: str, own: frozenset[str]) -> bool:
    return not (
        name in own
        or name.startswith((names.RETRY_PREFIX, names.DEAD_LETTER_PREFIX))
        or names.is_system_topic_of_any_version(name)
    )


class _Sibling:
    """What is known of another broker while it runs."""

    def __init__(self) -> None:
        self.address: Address | None = None
        self.topics: dict[str, TopicConfig] = {}


class Siblings:
    """The other brokers.

    Args:
        topics: The topics of this broker, which gets those that are new at another one.
    """

    def __init__(self, topics: BrokerTopics) -> None:
        self._topics = topics
        self._running: dict[str, _Sibling] = {}

    def take(self, news: MemberNews) -> None:
        """Note what changed at another broker, and create topics that are new there and missing here."""
        if news.address is None:
            self._running.pop(news.broker, None)
            return
        sibling = self._running.setdefault(news.broker, _Sibling())
        sibling.address = parse_address(news.address)
        new = [config for config in news.topics if config.topic_name not in sibling.topics]
        sibling.topics |= {config.topic_name: config for config in news.topics}
        for name in news.removed:
            sibling.topics.pop(name, None)
        self._create([config for config in new if self._topics.get(config.topic_name) is None])

    def _create(self, missing: Sequence[TopicConfig]) -> None:
        if not missing:
            return
        try:
            self._topics.put_all(missing)
        except (ServerError, StoreError) as error:
            if len(missing) > 1:  # one alone is at fault
                for config in missing:
                    self._create([config])
                return
            log.warning(
                "topic %(topic)s of another broker could not be created: %(reason)s",
                {"topic": missing[0].topic_name, "reason": error},
            )

    def shares(self, topic: str) -> Iterable[TopicShare]:
        """What each of them has of a topic."""
        for broker, sibling in self._running.items():
            config = sibling.topics.get(topic)
            if config is not None:
                yield TopicShare(broker, config, sibling.address)


class MemberTopics:
    """The topics of this broker and its siblings, for routes of 5.x clients: each broker at its own address."""

    def __init__(self, own: OwnTopics, address: Address, siblings: Siblings) -> None:
        self._own = own
        self._address = address
        self._siblings = siblings

    def shares(self, topic: str) -> Sequence[TopicShare]:
        """The shares of a topic in the order of the brokers' names, which is the same at all of them."""
        own = [share._replace(address=self._address) for share in self._own.shares(topic)]
        return sorted([*own, *self._siblings.shares(topic)], key=lambda share: share.broker)

    def broker_to_receive_from(self, broker: str, topic: str) -> str:
        """This broker, whatever the client names."""
        return self._own.broker_to_receive_from(broker, topic)

    def is_avoided(self, broker: str) -> bool:
        """Clients choose the broker, by its address."""
        return self._own.is_avoided(broker)
