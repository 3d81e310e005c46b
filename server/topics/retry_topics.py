"""The two topics of a consumer group's failed messages: the retry topic and the dead-letter topic.

They belong to the group, whatever topics it consumes; each message's RETRY_TOPIC names the topic it came from. Both are
created when a message first needs them and all clients may read and write them, as on a 4.9.7 broker: dead letters are
inspected, resent and consumed like other messages.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.errors import RetryGroupNotFound
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire import names
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import TopicSysFlag

_DEAD_LETTER_QUEUES: Final = 1


class RetryTopics:
    """Finds and creates the retry topics and dead-letter topics of one broker."""

    def __init__(self, groups: SubscriptionGroups, topics: BrokerTopics) -> None:
        self._groups = groups
        self._topics = topics

    def group(self, name: str) -> SubscriptionGroupConfig:
        """The configuration of a group whose message failed.

        Raises:
            RetryGroupNotFound: the group does not exist and may not be created.
            NameInvalid: the name of the new group is not valid.
        """
        found = self._groups.find(name)
        if found is None:
            raise RetryGroupNotFound(name)
        return found

    def retry(self, group: SubscriptionGroupConfig, *, unit_mode: bool) -> TopicConfig:
        """The retry topic of a group.

        Raises:
            NameInvalid: the name of the new topic would be too long.
        """
        flag = TopicSysFlag.UNIT_SUB if unit_mode else 0
        return self._topics.create_retry(names.retry_topic(group.group_name), group.retry_queue_nums, flag)

    def dead_letters(self, group: str) -> TopicConfig:
        """The dead-letter topic of a group.

        Raises:
            NameInvalid: the name of the new topic would be too long.
        """
        return self._topics.create_retry(names.dead_letter_topic(group), _DEAD_LETTER_QUEUES)

    def destination(self, retry: TopicConfig, *, tried: int, limit: int | None) -> TopicConfig:
        """The topic of a send to a retry topic: itself, or the dead-letter topic after too many tries.

        Args:
            retry: The retry topic of the request.
            tried: How often the message was retried.
            limit: The producer's limit of tries; None: the group's.

        Raises:
            RetryGroupNotFound: the topic's group does not exist and may not be created.
            NameInvalid: the name of the new group or topic is not valid.
        """
        group = self.group(retry.topic_name.removeprefix(names.RETRY_PREFIX))
        if tried < (group.retry_max_times if limit is None else limit):
            return retry
        return self.dead_letters(group.group_name)
