"""What handlers work with: the broker's and the name server's services, each the owner of its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocketwire.server.admin.runtime_info import RuntimeInfo
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.clients.heartbeats import Heartbeats
from rocketwire.server.clients.order_locks import OrderLocks
from rocketwire.server.config.limits import Limits
from rocketwire.server.config.live import LiveConfig
from rocketwire.server.core.clock import Clock
from rocketwire.server.core.decisions import Decisions
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.filters.consumer_filters import ConsumerFilters
from rocketwire.server.guards.throttle.throttle import Throttle
from rocketwire.server.messages.storing import Storing
from rocketwire.server.name_server.key_values import KeyValueConfig
from rocketwire.server.name_server.routes import RouteTable
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.consume_rates import ConsumeRates
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.pull.offset_moved import OffsetMoved
from rocketwire.server.retry.send_back import SendBack
from rocketwire.server.send.replies import Replies
from rocketwire.server.send.sending import Sending
from rocketwire.server.timer.recall import Recall
from rocketwire.server.timer.timer import Timer
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.service import Transactions
from rocketwire.server.upkeep.lifetime import Lifetime
from rocketwire.server.upkeep.queue_removal import QueueRemoval
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable

if TYPE_CHECKING:  # it brings a YAML reader along, which is loaded where access control is on
    from rocketwire.server.guards.acl.control import AccessControl


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
    storing: Storing
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
