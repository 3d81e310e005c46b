"""The two topics of a consumer group's failures: what is to be tried again, and what was tried too often.

They belong to the group, whatever topics it reads; each message in them says in RETRY_TOPIC where it comes from. Both
are made when a message first needs them and can be read and written by anybody, as on a 4.9.7 broker: dead letters
are looked at, sent anew and consumed like other messages.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.errors import RetryGroupNotFound
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.wire import names
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.codes import TopicSysFlag

_DEAD_LETTER_QUEUES: Final = 1


class RetryTopics:
    """Finds and makes the retry topics and dead-letter topics of one broker."""

    def __init__(self, groups: SubscriptionGroups, topics: BrokerTopics) -> None:
        self._groups = groups
        self._topics = topics

    def group(self, name: str) -> SubscriptionGroupConfig:
        """The configuration of a group whose message failed.

        Raises:
            RetryGroupNotFound: there is no such group, and it may not be made.
            NameInvalid: it would be made, but its name breaks the rules.
        """
        found = self._groups.find(name)
        if found is None:
            raise RetryGroupNotFound(name)
        return found

    def retry(self, group: SubscriptionGroupConfig, *, unit_mode: bool) -> TopicConfig:
        """The topic of a group's messages that are to be tried again.

        Raises:
            NameInvalid: it would be made, but its name would be too long.
        """
        flag = TopicSysFlag.UNIT_SUB if unit_mode else 0
        return self._topics.create_retry(names.retry_topic(group.group_name), group.retry_queue_nums, flag)

    def dead_letters(self, group: str) -> TopicConfig:
        """The topic of a group's messages that are not tried again.

        Raises:
            NameInvalid: it would be made, but its name would be too long.
        """
        return self._topics.create_retry(names.dead_letter_topic(group), _DEAD_LETTER_QUEUES)

    def destination(self, retry: TopicConfig, *, tried: int, limit: int | None) -> TopicConfig:
        """Where a send to a retry topic goes: there, or to the dead letters after too many tries.

        Args:
            retry: The retry topic that was asked for.
            tried: How often the message was tried again.
            limit: The most tries by the producer's word; None leaves it to the group.

        Raises:
            RetryGroupNotFound: the topic's group does not exist and may not be made.
            NameInvalid: the group or topic would be made, but its name breaks the rules.
        """
        group = self.group(retry.topic_name.removeprefix(names.RETRY_PREFIX))
        if tried < (group.retry_max_times if limit is None else limit):
            return retry
        return self.dead_letters(group.group_name)
