"""The topics that POP adds: the revive topic, and for each group and topic a retry topic, in two forms of its name.

All are created when they are first needed. A pop whose messages could not be redelivered, since the name of the
retry topic would be too long, is refused before it takes any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.errors import NameInvalid
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import TopicConfig

_RETRY_QUEUES: Final = 1


class PopTopics:
    """Finds and creates the topics of one broker's POP.

    Attributes:
        revive: The revive topic's name.
    """

    def __init__(self, keys: LiveGroup[PopKeys], broker_keys: LiveGroup[BrokerKeys], topics: BrokerTopics) -> None:
        self.revive: Final = names.revive_topic(broker_keys.current.broker_cluster_name)
        self._keys = keys
        self._topics = topics

    @property
    def revive_queues(self) -> int:
        """How many queues the revive topic has, or will have."""
        known = self._topics.get(self.revive)
        return self._keys.current.revive_queue_num if known is None else known.write_queue_nums

    def create_own(self) -> None:
        """Create the revive topic and the timer's, if they do not exist.

        Raises:
            NameInvalid: the name of the cluster is not valid, or too long.
            StoreError: they could not be saved; they are in force until the next start.
        """
        get = self._topics.get
        if get(self.revive) is None:
            self._topics.create_retry(self.revive, self._keys.current.revive_queue_num)
        if get(names.TIMER_TOPIC) is None:
            self._topics.create_retry(names.TIMER_TOPIC, 1)

    def check_retry(self, topic: str, group: str) -> None:
        """Check that messages that a group takes from a topic can be redelivered.

        Raises:
            NameInvalid: the name of their topic would be too long.
        """
        if len(topic) + len(group) + len(names.RETRY_PREFIX) + 1 > names.MAX_RETRY_TOPIC_LENGTH:
            raise NameInvalid(f"The topic[{self.retry_topic(topic, group)}] is longer than topic max length.")

    def retry_topic(self, topic: str, group: str) -> str:
        """The topic of redelivered messages that a group took from a topic: the same one, if that is one."""
        if topic.startswith(names.RETRY_PREFIX):
            return topic
        newer = self._keys.current.enable_retry_topic_v2
        return names.pop_retry_topic_v2(topic, group) if newer else names.pop_retry_topic(topic, group)

    def create_retry(self, topic: str) -> bool:
        """Create a retry topic, if it does not exist; whether it did not.

        Raises:
            LimitExceeded: there are too many topics.
            NameInvalid, TopicLeaving, StoreError: see `BrokerTopics.put`.
        """
        if self._topics.get(topic) is not None:
            return False
        self._topics.create_own_retry(topic, _RETRY_QUEUES)
        return True

    def retry_topics(self, topic: str, group: str, coin: int) -> Iterator[TopicConfig]:
        """The retry topics that pops of a group read beside a topic, as far as they exist; `coin` gives the order."""
        keys = self._keys.current
        found = [names.pop_retry_topic(topic, group)]
        if keys.enable_retry_topic_v2:
            newer = names.pop_retry_topic_v2(topic, group)
            if not keys.retrieve_message_from_pop_retry_topic_v1:
                found = [newer]
            elif coin % 2:
                found.insert(0, newer)
            else:
                found.append(newer)
        for name in found:
            config = self._topics.get(name)
            if config is not None:
                yield config

    def exists(self, topic: str, group: str) -> bool:
        """Whether the topic exists that a group took messages from, now or at first."""
        return self._topics.get(names.original_pop_topic(topic, group)) is not None
