"""The broker's half of tag filtering: by hash code, in the consume queue.

Two tags may share a hash code; the client compares the texts of what it gets.
"""

from __future__ import annotations

from typing import Final

from rocketwire.server.errors import SubscriptionInvalid
from rocketwire.server.filters import EVERYTHING, MessageFilter
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.java import string_hash

ALL: Final = "*"
_TAG: Final = "TAG"
_OR: Final = "||"


def is_tag_type(expression_type: str | None) -> bool:
    """Whether an expression of this type names tags."""
    return expression_type in {None, "", _TAG}


def subscription_filter(expression: str | None) -> MessageFilter:
    """The filter of an expression like ``TagA || TagB``.

    Raises:
        SubscriptionInvalid: the expression names no tag.
    """
    if not expression or expression == ALL:
        return EVERYTHING
    tags = [tag.strip() for tag in expression.split(_OR)]
    codes = frozenset(string_hash(tag) for tag in tags if tag)
    if not codes:
        raise SubscriptionInvalid("parse the consumer's subscription failed")
    return MessageFilter(by_code=codes.__contains__)


def data_filter(subscription: SubscriptionData) -> MessageFilter:
    """The filter of a subscription to tags that a heartbeat brought."""
    if subscription.sub_string == ALL or not subscription.code_set:
        return EVERYTHING
    return MessageFilter(by_code=subscription.code_set.__contains__)
