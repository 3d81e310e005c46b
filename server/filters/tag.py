"""The broker's half of tag filtering: by hash code, in the consume queue.

Two tags may share a hash code; the client compares the texts of what it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rocketwire.server.errors import FilterTypeUnsupported, SubscriptionInvalid
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.java import string_hash

TagFilter = Callable[[int], bool]
"""Takes a consume queue entry's tag code; whether the message is wanted."""

ALL: Final = "*"
_TAG: Final = "TAG"
_OR: Final = "||"


def subscription_filter(expression: str | None, expression_type: str | None) -> TagFilter | None:
    """The filter of an expression like ``TagA || TagB``; None lets everything through.

    Raises:
        FilterTypeUnsupported: the expression is not about tags.
        SubscriptionInvalid: the expression names no tag.
    """
    check_type(expression_type)
    if not expression or expression == ALL:
        return None
    tags = [tag.strip() for tag in expression.split(_OR)]
    codes = frozenset(string_hash(tag) for tag in tags if tag)
    if not codes:
        raise SubscriptionInvalid("parse the consumer's subscription failed")
    return codes.__contains__


def data_filter(subscription: SubscriptionData) -> TagFilter | None:
    """The filter of a subscription that a heartbeat brought.

    Raises:
        FilterTypeUnsupported: the expression is not about tags.
    """
    check_type(subscription.expression_type)
    if subscription.sub_string == ALL or not subscription.code_set:
        return None
    return subscription.code_set.__contains__


def check_type(expression_type: str | None) -> None:
    """Refuse expressions that are not about tags.

    Raises:
        FilterTypeUnsupported: the type is neither absent nor TAG.
    """
    if expression_type not in {None, "", _TAG}:
        raise FilterTypeUnsupported(str(expression_type))
