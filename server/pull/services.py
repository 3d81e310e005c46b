"""What pulls are given: by the general handlers, and by the kernel's plans."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.cache_invalidation import CacheInvalidation
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.guards.throttle.throttle import Throttle
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.consume_rates import ConsumeRates
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.tables.offsets import OffsetTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PullServices:
    """What serving pulls takes."""

    clients: ClientGroups
    config: LiveConfig
    consume_rates: ConsumeRates
    invalidation: CacheInvalidation
    filters: ConsumerFilters
    groups: SubscriptionGroups
    long_poll: LongPoll
    metrics: Metrics
    offsets: OffsetTable
    pull_answers: PullAnswers
    throttle: Throttle
    topics: BrokerTopics
