"""The dependencies of pulls, in the handlers and in the kernel's plans."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.metrics import Metrics
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
