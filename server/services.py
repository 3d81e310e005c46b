"""What handlers work with: the broker's and the name server's services, each the owner of its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketwire.server.clock import Clock
from rocketwire.server.consume_rates import ConsumeRates
from rocketwire.server.decisions import Decisions
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.groups import ClientGroups
from rocketwire.server.heartbeats import Heartbeats
from rocketwire.server.key_value_config import KeyValueConfig
from rocketwire.server.lifetime import Lifetime
from rocketwire.server.limits import Limits
from rocketwire.server.live_config import LiveConfig
from rocketwire.server.long_poll import LongPoll
from rocketwire.server.metrics import Metrics
from rocketwire.server.offset_moved import OffsetMoved
from rocketwire.server.order_locks import OrderLocks
from rocketwire.server.pull_answers import PullAnswers
from rocketwire.server.queue_removal import QueueRemoval
from rocketwire.server.recall import Recall
from rocketwire.server.replies import Replies
from rocketwire.server.routes import RouteTable
from rocketwire.server.runtime_info import RuntimeInfo
from rocketwire.server.send_back import SendBack
from rocketwire.server.sending import Sending
from rocketwire.server.subscription_groups import SubscriptionGroups
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.timer import Timer
from rocketwire.server.topics import BrokerTopics
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.offsets import OffsetTable
from rocketwire.store.store import MessageStore

if TYPE_CHECKING:  # it brings a YAML reader along, which is loaded where access control is on
    from rocketwire.server.acl.control import AccessControl


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerServices:
    """The broker's services.

    `address` is the advertised one, `store_host` the same as records hold it; `timer` is None where timer messages are
    refused, `access` where everybody may do everything.
    """

    config: LiveConfig
    clock: Clock
    store: MessageStore
    address: str
    store_host: bytes
    topics: BrokerTopics
    groups: SubscriptionGroups
    clients: ClientGroups
    heartbeats: Heartbeats
    offsets: OffsetTable
    long_poll: LongPoll
    pull_answers: PullAnswers
    order_locks: OrderLocks
    runtime_info: RuntimeInfo
    sending: Sending
    send_back: SendBack
    recall: Recall
    replies: Replies
    transactions: Transactions
    metrics: Metrics
    lifetime: Lifetime
    queue_removal: QueueRemoval
    offset_moved: OffsetMoved
    filters: ConsumerFilters
    consume_rates: ConsumeRates
    decisions: Decisions
    throttle: Throttle
    timer: Timer | None
    access: AccessControl | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerServices:
    """The name server's services."""

    routes: RouteTable
    key_values: KeyValueConfig
    limits: Limits
