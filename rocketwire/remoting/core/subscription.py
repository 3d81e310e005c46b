"""Subscriptions: which messages of a topic a consumer wants."""

from __future__ import annotations

from typing import Final, Protocol

from rocketwire.remoting.errors import SubscriptionInvalid
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.java import string_hash
from rocketwire.wire.names import topic_name_error

EVERYTHING: Final = "*"
_OR: Final = "||"
_TAG: Final = "TAG"
SQL92: Final = "SQL92"


class HasTags(Protocol):
    """The part of a message that a subscription by tags reads."""

    @property
    def tags(self) -> str | None:
        """Its tag."""


def subscription(topic: str, *, tags: str = EVERYTHING, sql: str | None = None, version: int) -> SubscriptionData:
    """A subscription: by tags with `||` between, or by an SQL92 expression over the properties.

    Raises:
        SubscriptionInvalid: the topic is no name, both filters are given, or one is empty.
    """
    problem = topic_name_error(topic)
    if problem is not None:
        raise SubscriptionInvalid(f"topic {topic[:200]!r}: {problem}")
    if sql is not None:
        if tags != EVERYTHING or not sql.strip():
            raise SubscriptionInvalid("a subscription has either tags or an SQL expression, which is not empty")
        return SubscriptionData(topic=topic, sub_string=sql, sub_version=version, expression_type=SQL92)
    words = frozenset(word.strip() for word in tags.split(_OR)) - {""}
    if not words:
        raise SubscriptionInvalid(f"tags {tags!r}: tags with {_OR} between are wanted, or {EVERYTHING}")
    if words == {EVERYTHING}:
        words = frozenset()
        tags = EVERYTHING
    return SubscriptionData(
        topic=topic,
        sub_string=tags,
        tags_set=words,
        code_set=frozenset(map(string_hash, words)),
        sub_version=version,
        expression_type=_TAG,
    )


def matches_tags(message: HasTags, by: SubscriptionData) -> bool:
    """Whether a message is really one of the subscription: brokers compare only the hash codes of tags."""
    return not by.tags_set or message.tags in by.tags_set
