"""The broker's part of tag filtering: by hash code, in the consume queue.

Two tags may share a hash code, so the client also compares the tags of what it receives.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rocketwire.server.core.errors import FilterExpressionInvalid
from rocketwire.server.core.guard_errors import ITEMS, MOST_ITEMS, LimitExceeded
from rocketwire.server.filters import EVERYTHING, MessageFilter
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.java import string_hash

ALL: Final = "*"
_TAG: Final = "TAG"
_OR: Final = "||"
_BLANKS: Final = "".join(map(chr, range(0x21)))  # as Java's trim
_MOST_KEPT: Final = 512  # characters of an expression whose filter is cached for the next pull that names it
_BYTES: Final = 512
_BYTES_EACH: Final = 144
"""The memory of a set of codes, and of each code: the number, and its share of a table that just grew."""
_FAILED: Final = "parse the consumer's subscription failed"


def is_tag_type(expression_type: str | None) -> bool:
    """Whether an expression of this type is a list of tags."""
    return expression_type in {None, "", _TAG}


def subscription_filter(expression: str | None, expression_type: str | None = None) -> MessageFilter:
    """The filter of an expression like ``TagA || TagB``. One without a tag, such as blanks, matches nothing.

    Raises:
        FilterExpressionInvalid: the expression has nothing but ``||``.
        LimitExceeded: it has too many tags.
    """
    return (_kept if len(expression or "") <= _MOST_KEPT else _last_long)(expression, expression_type)


def _read(expression: str | None, expression_type: str | None) -> MessageFilter:
    if expression_type == "":  # Apache finds no tags in such an expression
        if not expression:
            raise FilterExpressionInvalid(_FAILED)
        return EVERYTHING if expression == ALL else _of_codes(frozenset())
    if not expression or expression == ALL:
        return EVERYTHING
    if expression.count(_OR) >= MOST_ITEMS:
        raise LimitExceeded(ITEMS, MOST_ITEMS)
    parts = expression.split(_OR)
    if not any(parts):
        raise FilterExpressionInvalid(_FAILED)
    return _of_codes(frozenset(string_hash(tag) for part in parts if (tag := part.strip(_BLANKS))))


_kept: Final = lru_cache(maxsize=1024)(_read)
_last_long: Final = lru_cache(maxsize=1)(_read)  # a receive needs the same one several times


def data_filter(subscription: SubscriptionData) -> MessageFilter:
    """The filter of a tag subscription in a heartbeat: its codes count, not its expression."""
    if subscription.sub_string == ALL or subscription.class_filter_mode:
        return EVERYTHING
    return _of_codes(subscription.code_set)


def _of_codes(codes: frozenset[int]) -> MessageFilter:
    return MessageFilter(by_code=codes.__contains__, codes=codes, size=_BYTES + _BYTES_EACH * len(codes))
