"""The dependencies of pulls, in the handlers and in the kernel's plans."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.errors import (
    FAQ,
    GroupNotFound,
    NotPermitted,
    QueueIllegal,
    SubscriptionNotFound,
    TopicNotFound,
)
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.filters import MessageFilter, selection
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.offsets import OffsetTable
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.facts.codes import Permission, PullSysFlag
from rocketwire.wire.headers.pull import PullMessageRequestHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class PullServices:
    """The dependencies of serving pulls."""

    broker_keys: LiveGroup[BrokerKeys]
    clients: ClientGroups
    deliveries: Counters[GroupTopic]
    invalidation: CacheInvalidation
    filters: ConsumerFilters
    filter_keys: LiveGroup[FilterKeys]
    groups: SubscriptionGroups
    limit_keys: LiveGroup[LimitKeys]
    long_poll: LongPoll
    metrics: Metrics
    offsets: OffsetTable
    pull_answers: PullAnswers
    throttle: Throttle
    topics: BrokerTopics


def filter_of_pull(services: PullServices, fields: PullMessageRequestHeader, remote: str) -> MessageFilter:
    """The filter of a pull; `remote` is the client's address, for the remark of a refusal.

    Raises:
        ServerError: it is not served.
    """
    return _filter(services, fields, _check(services, fields, remote))


def _check(services: PullServices, fields: PullMessageRequestHeader, remote: str) -> SubscriptionGroupConfig:
    """The checks of a 4.9.7 broker, in its order."""
    broker = services.broker_keys.current
    if not broker.broker_permission & Permission.READ:
        raise NotPermitted(f"the broker[{broker.advertised_host}] pulling message is forbidden")
    group = services.groups.find(fields.consumer_group)
    if group is None:
        raise GroupNotFound(fields.consumer_group)
    if not group.consume_enable:
        raise NotPermitted("subscription group no permission, " + fields.consumer_group)
    topic = services.topics.get(fields.topic)
    if topic is None:
        raise TopicNotFound(fields.topic, gap=" ")
    if not topic.perm & Permission.READ:
        raise NotPermitted(f"the topic[{fields.topic}] pulling message is forbidden")
    if not 0 <= fields.queue_id < topic.read_queue_nums:
        raise QueueIllegal(
            f"queueId[{fields.queue_id}] is illegal, topic:[{fields.topic}] "
            f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[{remote}]"
        )
    return group


def _filter(services: PullServices, fields: PullMessageRequestHeader, group: SubscriptionGroupConfig) -> MessageFilter:
    """The consumer's filter: from the request, or from its last heartbeat."""
    if fields.sys_flag & PullSysFlag.SUBSCRIPTION:
        most = services.limit_keys.current.max_heartbeat_bytes
        return selection.filter_of_request(
            services.filter_keys.current, fields.subscription, fields.expression_type, most_bytes=most
        )
    consumers = services.clients.consumer(fields.consumer_group)
    if consumers is None:
        raise SubscriptionNotFound("the consumer's group info not exist" + FAQ)
    if consumers.broadcasting and not group.consume_broadcast_enable:
        raise NotPermitted(f"the consumer group[{fields.consumer_group}] can not consume by broadcast way")
    subscription = consumers.subscriptions.get(fields.topic)
    if subscription is None:
        raise SubscriptionNotFound("the consumer's subscription not exist" + FAQ)
    return selection.filter_of_group(
        services.filter_keys.current, services.filters, fields.consumer_group, subscription, fields.sub_version
    )
