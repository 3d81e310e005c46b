"""What the parts of POP share: the broker's state, its configuration, its counters, and its runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.waiting import DueTime
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pop.order.ordered_queues import OrderedQueues
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.pull.keys import TransferKeys
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable


@dataclass(frozen=True, slots=True, kw_only=True)
class PopState:
    """What POP reads and changes.

    Attributes:
        store: The messages.
        storing: Appends check points, acknowledgements and redelivered messages.
        offsets: The groups' offsets.
        topics: The topics.
        groups: The consumer groups.
        ordered: Keeps which messages are out in order.
        resets: The offsets that groups were set to.
    """

    store: StoreProtocol
    storing: MessageWriter
    offsets: OffsetTable
    topics: BrokerTopics
    groups: SubscriptionGroups
    ordered: OrderedQueues
    resets: OffsetResetter


@dataclass(frozen=True, slots=True, kw_only=True)
class PopSettings:
    """The configuration that POP follows."""

    pop: LiveGroup[PopKeys]
    broker: LiveGroup[BrokerKeys]
    timer: LiveGroup[TimerKeys]
    transfer: LiveGroup[TransferKeys]
    filters: LiveGroup[FilterKeys]
    limits: LiveGroup[LimitKeys]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopAccounting:
    """What counts and bounds what clients get.

    Attributes:
        metrics: Counts all messages.
        deliveries: Counts those of each group and topic.
        throttle: The quotas.
        limits: How much requests that wait may keep.
    """

    metrics: Metrics
    deliveries: Counters[GroupTopic]
    throttle: Throttle
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class PopRuntime:
    """The clock, chance and tasks of the broker.

    Attributes:
        clock: Gives the time in ms since 1970.
        due_time: Knows when clients' clocks differ.
        choose: Gives a random number below another.
        wake: Tries all waiting requests, after messages were stored.
        budget: Of the background work.
        host: The broker's address, as records have it.
    """

    clock: Clock
    due_time: DueTime
    choose: Callable[[int], int]
    wake: Callable[[], None]
    budget: BackgroundBudget
    host: bytes
