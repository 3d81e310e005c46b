"""The services that metrics and health read; they own their counts."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.maintenance.retention import FileRetention
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.timer import Timer
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredServices:
    """The services; `timer` is None if timer messages are refused."""

    clients: ClientGroups
    clock: Clock
    lifetime: FileRetention
    long_poll: LongPoll
    metrics: Metrics
    offsets: OffsetTable
    pops: Pops
    store: MessageStore
    throttle: Throttle
    timer: Timer | None
    topics: BrokerTopics
    transactions: Transactions
