"""Which topics are read when none is named."""

from __future__ import annotations

from typing import Final

from rocketwire.wire.names import DEAD_LETTER_PREFIX, LIGHT_QUEUE_PREFIX, RETRY_PREFIX, is_system_topic_of_any_version

_OF_GROUPS: Final = (RETRY_PREFIX, DEAD_LETTER_PREFIX, LIGHT_QUEUE_PREFIX)


def is_hidden(topic: str) -> bool:
    """Whether a topic is one of RocketMQ's own, or holds what it keeps for groups: retries, dead letters.

    Such a topic is read when it is named, and with `includeSystemTopics`.
    """
    return topic.startswith(_OF_GROUPS) or is_system_topic_of_any_version(topic)
