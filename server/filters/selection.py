"""The choice of a pull's filter: the one in the request, or the one of its group's heartbeat."""

from __future__ import annotations

from typing import Final

from rocketwire.server.core.errors import (
    FilterDataMissing,
    FilterDataNotLatest,
    FilterExpressionInvalid,
    FilterTypeUnsupported,
    SubscriptionNotLatest,
)
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.filters import EVERYTHING, MessageFilter, tag
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.filters.sql import LEAST_TEXT, SQL92, PropertiesTest, SqlFilter, compile_sql
from rocketwire.wire import names
from rocketwire.wire.bodies.client import SubscriptionData
from rocketwire.wire.facts.properties import RETRY_TOPIC
from rocketwire.wire.properties import property_reader

_retry_topic_of: Final = property_reader(RETRY_TOPIC.encode())


def check_expression(keys: FilterKeys, expression: str | None, expression_type: str | None) -> None:
    """Check a subscription before it is used; any text is valid for tags.

    Raises:
        FilterTypeUnsupported: the broker filters by tags only.
        FilterExpressionInvalid: the expression cannot be parsed; the text has the position.
    """
    if not tag.is_tag_type(expression_type):
        _compiled(keys, expression, expression_type)


def _compiled(keys: FilterKeys, expression: str | None, expression_type: str | None) -> SqlFilter:
    _check_enabled(keys, expression_type)
    if expression_type != SQL92:
        raise FilterExpressionInvalid(f"no filter is of type {expression_type}")
    return compile_sql(expression or "")


def filter_of_request(
    keys: FilterKeys, expression: str | None, expression_type: str | None, *, most_bytes: int
) -> MessageFilter:
    """The filter in a pull request; `most_bytes` are those of the longest heartbeat.

    Raises:
        FilterTypeUnsupported: the broker filters by tags only.
        FilterExpressionInvalid: the expression cannot be parsed; the text has the position.
        LimitExceeded: the expression is longer than the longest heartbeat.
    """
    if expression is not None and len(expression) > most_bytes:
        raise LimitExceeded("maxHeartbeatBytes", most_bytes)
    if tag.is_tag_type(expression_type):
        return tag.subscription_filter(expression, expression_type)
    try:
        chosen = _compiled(keys, expression, expression_type)
    except FilterExpressionInvalid as error:
        raise FilterExpressionInvalid(f"parse the consumer's subscription failed: {error}") from None
    return _by_sql(chosen)


def _by_sql(chosen: SqlFilter) -> MessageFilter:
    return MessageFilter(
        by_properties=chosen.wanted, most_text=chosen.most_text, properties=chosen.properties, size=chosen.size
    )


def filter_of_group(
    keys: FilterKeys, filters: ConsumerFilters, group: str, subscription: SubscriptionData, version: int
) -> MessageFilter:
    """The filter of a group that subscribes in its heartbeats; `version` is that of the consumer's own subscription.

    Raises:
        SubscriptionNotLatest: the heartbeat has not come yet.
        FilterDataMissing: the expression was not accepted.
        FilterDataNotLatest: the newest expression was not accepted.
        FilterTypeUnsupported: the broker filters by tags only.
    """
    if subscription.sub_version < version:
        raise SubscriptionNotLatest
    if tag.is_tag_type(subscription.expression_type):
        chosen = tag.data_filter(subscription)
        retries = subscription.topic.startswith(names.RETRY_PREFIX) and not subscription.class_filter_mode
        if retries and keys.filter_support_retry:
            return chosen._replace(by_properties=_of_retries(filters, group), most_text=LEAST_TEXT)
        return chosen
    registered = filters.get(subscription.topic, group)
    if registered is None:
        raise FilterDataMissing
    if registered.version < version:
        raise FilterDataNotLatest
    _check_enabled(keys, subscription.expression_type)
    if subscription.class_filter_mode:
        return EVERYTHING
    return _by_sql(registered.compiled)


def _of_retries(filters: ConsumerFilters, group: str) -> PropertiesTest:
    """Retried messages are filtered by the subscription to the topic they came from."""

    def wanted(properties: bytes) -> bool:
        topic = _retry_topic_of(properties)
        registered = None if topic is None else filters.get(topic.decode("utf-8", "replace"), group)
        return registered is None or registered.compiled.wanted(properties)

    return wanted


def _check_enabled(keys: FilterKeys, expression_type: str | None) -> None:
    if not keys.enable_property_filter:
        raise FilterTypeUnsupported(str(expression_type))
