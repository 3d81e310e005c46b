"""Consumer groups: configurations, members and progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from rocketwire.remoting.connection import BlockingConnection
from rocketwire.wire.bodies import decode_body, encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupWrapper
from rocketwire.wire.bodies.online import ConsumerConnection, ConsumerRunningInfo
from rocketwire.wire.bodies.progress import ConsumeStats
from rocketwire.wire.facts.codes import RequestCode, ResponseCode
from rocketwire.wire.headers.group import DeleteSubscriptionGroupRequestHeader, GetConsumeStatsRequestHeader
from rocketwire.wire.headers.online import GetConsumerConnectionListRequestHeader, GetConsumerRunningInfoRequestHeader

_ON_LINE: Final = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)


def group_configs(broker: BlockingConnection) -> dict[str, SubscriptionGroupConfig]:
    """The configurations of all groups of a broker (201), by name.

    The request for one group (352) would create it where brokers may do that.
    """
    body = broker.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body
    return decode_body(SubscriptionGroupWrapper, body, most_entries=None).subscription_group_table


def put_group(broker: BlockingConnection, config: SubscriptionGroupConfig) -> None:
    """Create or change a group (200). Its attributes stay as they are: a request would write them as changes."""
    broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=encode_body(replace(config, attributes=None)))


def delete_group(broker: BlockingConnection, group: str, *, offsets: bool) -> None:
    """Delete a group's configuration (207), and with `offsets` its offsets, too."""
    fields = DeleteSubscriptionGroupRequestHeader(group_name=group, remove_offset=offsets, clean_offset=offsets)
    broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, fields)


def consumer_connections(broker: BlockingConnection, group: str) -> ConsumerConnection | None:
    """The members of a group that are connected to a broker (203), and its subscriptions; None if there are none."""
    return next(all_consumer_connections(broker, [group]))


def all_consumer_connections(broker: BlockingConnection, groups: Iterable[str]) -> Iterator[ConsumerConnection | None]:
    """The same for many groups, in their order."""
    requests = (GetConsumerConnectionListRequestHeader(consumer_group=group) for group in groups)
    for answer in broker.ask_all(RequestCode.GET_CONSUMER_CONNECTION_LIST, requests, fine=_ON_LINE):
        found = decode_body(ConsumerConnection, answer.body) if answer.code == ResponseCode.SUCCESS else None
        yield found if found is not None and found.connection_set else None


def progress(broker: BlockingConnection, group: str, topic: str | None = None) -> ConsumeStats:
    """How far a group is on a broker (208): in one topic, or in all that it has offsets of."""
    return next(progress_of_all(broker, [group], topic))


def progress_of_all(
    broker: BlockingConnection, groups: Iterable[str], topic: str | None = None
) -> Iterator[ConsumeStats]:
    """The same for many groups, in their order."""
    requests = (GetConsumeStatsRequestHeader(consumer_group=group, topic=topic) for group in groups)
    for answer in broker.ask_all(RequestCode.GET_CONSUME_STATS, requests):
        yield decode_body(ConsumeStats, answer.body, lenient_limit=None, most_entries=None)


def running_info(broker: BlockingConnection, group: str, client_id: str) -> ConsumerRunningInfo:
    """The running information of a member, requested through the broker (307)."""
    fields = GetConsumerRunningInfoRequestHeader(consumer_group=group, client_id=client_id, jstack_enable=False)
    answer = broker.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, fields)
    return decode_body(ConsumerRunningInfo, answer.body, lenient_limit=None)
