"""What the monitoring endpoint reads: the services that own the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.faults.faulty import FaultInjection
from rocketwire.server.maintenance.retention import FileRetention
from rocketwire.server.monitoring.latencies import Latencies
from rocketwire.server.net.admission.descriptors import Descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.hub import Hub
from rocketwire.server.net.listener import Listener
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.timer import Timer
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.server.transactions.service import Transactions
from rocketwire.store.store import MessageStore
from rocketwire.store.tables.offsets import OffsetTable

Listeners = Mapping[str, Sequence[Listener]]
"""By listener: name server, broker."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringSources:
    """What is measured: services own their counts, which are only read; `faults` is None if none are allowed."""

    services: MonitoredServices
    delays: DelayDelivery
    listeners: Listeners
    hubs: Sequence[Hub]
    in_flight: InFlight
    latencies: Latencies
    faults: FaultInjection | None
    descriptors: Descriptors
