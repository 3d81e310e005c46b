"""What the monitoring endpoint reads: the services that own the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketwire.server.delay.delivery import DelayDelivery
from rocketwire.server.faults.faulty import FaultInjection
from rocketwire.server.monitoring.latencies import Latencies
from rocketwire.server.monitoring.services import MonitoredServices
from rocketwire.server.net.admission.descriptors import Descriptors
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.hub import Hub
from rocketwire.server.net.listener import Listener

Listeners = Mapping[str, Sequence[Listener]]
"""By listener: name server, broker."""


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
