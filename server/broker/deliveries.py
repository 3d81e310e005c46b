"""The services that deliver messages at one broker: pulls and pops, and those of both that wait for messages.

Popped messages are acknowledged, renewed or delivered again.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from rocketwire.server.broker.foundation import Foundation
from rocketwire.server.broker.tables import BrokerTables
from rocketwire.server.clients.groups import ClientGroups
from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pop.order.ordered_queues import OrderedQueues
from rocketwire.server.pop.parts import PopAccounting, PopRuntime, PopSettings, PopState
from rocketwire.server.pop.pops import Pops
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.recovery import move_offsets
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.pull.answers import PullAnswers
from rocketwire.server.pull.keys import LongPollKeys, TransferKeys
from rocketwire.server.pull.long_poll import LongPoll
from rocketwire.server.pull.offset_moved import OffsetMovedEvents
from rocketwire.server.pull.services import PullServices
from rocketwire.server.statistics.statistics import Statistics
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.timer.timer import Timer


def make_pulls(
    base: Foundation, tables: BrokerTables, throttle: Throttle, clients: ClientGroups, statistics: Statistics
) -> PullServices:
    """The services of the handlers of pulls."""
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


class BrokerPops:
    """The services of pops.

    Args:
        base: What all services use.
        tables: Topics, groups and offsets.
        storing: Stores check points and what is delivered again.
        throttle: The quotas.
        statistics: Counts deliveries.
        timer: Delivers what is due later; None: nothing is.
        wake: Serves the requests that wait for what is stored.

    Attributes:
        renewals: Keeps popped messages invisible while their 5.x clients are connected.
        resets: Resets of offsets.
        pops: The pops.
    """

    def __init__(
        self,
        base: Foundation,
        tables: BrokerTables,
        storing: MessageWriter,
        throttle: Throttle,
        statistics: Statistics,
        timer: Timer | None,
        wake: Callable[[], None],
    ) -> None:
        live, config, store = base.config, base.started, base.store
        self._background = base.background
        self.renewals = Renewals(trio.current_time, base.clock, base.stopped)
        self.resets = OffsetResetter(
            tables.offset_resets,
            tables.offsets,
            store=store,
            clock=base.clock,
            timer_keys=live[TimerKeys],
            wake=wake,
        )
        self._ordered = ordered = OrderedQueues(
            tables.order_info,
            tables.offsets,
            renewals=self.renewals,
            resets=self.resets,
            topics=tables.topics,
            groups=tables.groups,
            clock=base.clock,
            due_time=base.due_time,
        )
        self.pops = Pops(
            PopState(
                store=store,
                storing=storing,
                offsets=tables.offsets,
                topics=tables.topics,
                groups=tables.groups,
                ordered=ordered,
                resets=self.resets,
            ),
            PopSettings(
                pop=live[PopKeys],
                broker=live[BrokerKeys],
                timer=live[TimerKeys],
                transfer=live[TransferKeys],
                filters=live[FilterKeys],
                limits=live[LimitKeys],
            ),
            PopAccounting(
                metrics=base.metrics,
                deliveries=statistics.delivered,
                throttle=throttle,
                limits=base.in_flight.limits,
            ),
            PopRuntime(
                clock=base.clock,
                due_time=base.due_time,
                choose=base.choose,
                wake=wake,
                budget=base.background,
                host=base.store_host,
            ),
            timer=timer,
            renewals=self.renewals,
            indexed=config.store.message_index_enable,
        )
        ordered.freed.subscribe(self.pops.queue_freed)
        for changed in (tables.topics.table.changed, tables.groups.table.changed):
            changed.subscribe(ordered.schedule_cleaning)
        store.arrivals.subscribe(self.pops.arrived)
        if not store.stopped_cleanly:
            interval = config.tables.flush_consumer_offset_interval
            revive_topic = self.pops.services.pop_topics.revive
            move_offsets(store, tables.offsets, self.resets, revive_topic, stopped=base.stopped, interval=interval)

    def start(self, nursery: trio.Nursery) -> None:
        """Start what delivers messages again, and what frees queues in order."""
        self.pops.start(nursery)
        nursery.start_soon(self._ordered.run, self._background)
