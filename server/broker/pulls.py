"""Pulls at one broker, and those that wait for messages."""

from __future__ import annotations

from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.pull.offset_moved import OffsetMovedEvents
from rocketwire.server.pull.services import PullServices
from rocketwire.server.statistics.statistics import Statistics
from rocketwire.server.throttle.throttle import Throttle


def make_pulls(
    base: Foundation, tables: BrokerTables, throttle: Throttle, clients: ClientGroups, statistics: Statistics
) -> PullServices:
    """What the handlers of pulls are given."""
    live, broker_name = base.config, base.started.broker.broker_name
    moved = OffsetMovedEvents(base.store, broker_name=broker_name, store_host=base.store_host, clock=base.clock)
    answers = PullAnswers(
        base.store,
        transfer_keys=live[TransferKeys],
        long_poll_keys=live[LongPollKeys],
        metrics=base.metrics,
        deliveries=statistics.delivered,
        offset_moved=moved,
        throttle=throttle,
    )
    return PullServices(
        broker_keys=live[BrokerKeys],
        clients=clients,
        deliveries=statistics.delivered,
        invalidation=base.invalidation,
        filters=tables.filters,
        filter_keys=live[FilterKeys],
        groups=tables.groups,
        limit_keys=live[LimitKeys],
        long_poll=LongPoll(answers, base.in_flight.limits, base.background),
        metrics=base.metrics,
        offsets=tables.offsets,
        pull_answers=answers,
        throttle=throttle,
        topics=tables.topics,
    )
