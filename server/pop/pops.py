"""POP of one broker, put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator

import trio

from rocketwire.server.config.broker_keys import BrokerKeys
from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.background import BackgroundBudget
from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.core.clocks.due_time import DueTime
from rocketwire.server.core.metrics import Metrics
from rocketwire.server.core.request import Peer
from rocketwire.server.filters.keys import FilterKeys
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.server.limits.limits import Limits
from rocketwire.server.messages.message_writer import MessageWriter
from rocketwire.server.pop.acks import Acks
from rocketwire.server.pop.checks import PopChecks
from rocketwire.server.pop.keys import PopKeys
from rocketwire.server.pop.ordered import OrderedDeliveries, PopQueue
from rocketwire.server.pop.peeking import Peeking
from rocketwire.server.pop.polls import Polls
from rocketwire.server.pop.pop_reader import PopReader
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import PopRecords
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.deliveries import UnorderedDeliveries
from rocketwire.server.pop.reviving.redelivery import Redelivery
from rocketwire.server.pop.reviving.resetting import OffsetResetter
from rocketwire.server.pop.reviving.reviver import Reviver, TimerProgressView
from rocketwire.server.pop.services import PopServices
from rocketwire.server.pull.keys import TransferKeys
from rocketwire.server.statistics.counters import Counters
from rocketwire.server.statistics.statistics import GroupTopic
from rocketwire.server.throttle.throttle import Throttle
from rocketwire.server.timer.keys import TimerKeys
from rocketwire.server.topics.subscription_groups import SubscriptionGroups
from rocketwire.server.topics.topics import BrokerTopics
from rocketwire.store.protocol import StoreProtocol
from rocketwire.store.tables.offsets import OffsetTable


class Pops:
    """POP of one broker.

    Attributes:
        services: What its handlers are given.
        reviver: Makes messages visible again; None where check points cannot be written, as there is no timer.
    """

    def __init__(
        self,
        *,
        store: StoreProtocol,
        storing: MessageWriter,
        offsets: OffsetTable,
        topics: BrokerTopics,
        groups: SubscriptionGroups,
        timer: TimerProgressView | None,
        ordered: OrderedDeliveries,
        pop_keys: LiveGroup[PopKeys],
        broker_keys: LiveGroup[BrokerKeys],
        timer_keys: LiveGroup[TimerKeys],
        transfer_keys: LiveGroup[TransferKeys],
        filter_keys: LiveGroup[FilterKeys],
        limit_keys: LiveGroup[LimitKeys],
        limits: Limits,
        throttle: Throttle,
        metrics: Metrics,
        deliveries: Counters[GroupTopic],
        clock: Clock,
        due_time: DueTime,
        choose: Callable[[int], int],
        wake: Callable[[], None],
        store_host: bytes,
        renewals: Renewals,
        indexed: bool,
        budget: BackgroundBudget,
        resets: OffsetResetter,
    ) -> None:
        """Put it together; `wake` is called when messages were stored, and serves all who wait."""
        pop_topics = PopTopics(pop_keys, broker_keys, topics)
        records = PopRecords(pop_topics.revive, store_host)
        checks = PopChecks(broker_keys=broker_keys, timer_keys=timer_keys, topics=topics, groups=groups, store=store)
        broker_name = broker_keys.current.broker_name
        taking = PopReader(
            store=store,
            offsets=offsets,
            keys=pop_keys,
            transfer_keys=transfer_keys,
            topic=topics.get,
            pop_topics=pop_topics,
            records=records,
            ordered=ordered,
            clock=clock,
            choose=choose,
            metrics=metrics,
            deliveries=deliveries,
            throttle=throttle,
            broker_name=broker_name,
        )
        acks = Acks(
            checks=checks,
            pop_topics=pop_topics,
            records=records,
            ordered=ordered,
            storing=storing,
            deliveries=UnorderedDeliveries(store, pop_topics.revive, indexed=indexed),
            timer_keys=timer_keys,
            clock=clock,
            resets=resets,
        )
        peeking = Peeking(
            store=store,
            offsets=offsets,
            pop_topics=pop_topics,
            ordered=ordered,
            choose=choose,
            metrics=metrics,
            deliveries=deliveries,
        )
        self.services = PopServices(
            acks=acks,
            broker_name=broker_name,
            checks=checks,
            clock=clock,
            due_time=due_time,
            filter_keys=filter_keys,
            limit_keys=limit_keys,
            notifications=Polls(pop_keys, limits, storing, budget),
            peeking=peeking,
            polls=Polls(pop_keys, limits, storing, budget),
            pop_topics=pop_topics,
            resets=resets,
            reader=taking,
            throttle=throttle,
        )
        self._polls = self.services.polls, self.services.notifications
        self.reviver: Reviver | None = None
        if timer is not None:
            coming_again = Redelivery(
                store=store,
                storing=storing,
                offsets=offsets,
                pop_topics=pop_topics,
                records=records,
                groups=groups,
                clock=clock,
                wake=wake,
                broker_name=broker_name,
                host=store_host,
                renewals=renewals,
                resets=resets,
            )
            self.reviver = Reviver(
                store=store,
                offsets=offsets,
                topic=pop_topics.revive,
                timer=timer,
                clock=clock,
                broker_name=broker_name,
                coming_again=coming_again,
                budget=budget,
            )
            due_time.moved.subscribe(self.reviver.clock_moved)

    @property
    def held(self) -> int:
        """How many requests wait."""
        return sum(polls.held for polls in self._polls)

    def arrived(self, queues: Collection[tuple[str, int]]) -> None:
        """Note that messages were stored in these queues; `wake` serves who waits for them."""
        for polls in self._polls:
            if polls.held:
                polls.arrived(queues)
        if self.reviver is not None:
            self.reviver.arrived(queues)

    def queue_freed(self, queue: PopQueue) -> None:
        """Note that a queue gives messages again that were to be taken in order; `wake` serves who waits for them."""
        for polls in self._polls:
            polls.wake_queue(queue)

    def wake(self) -> None:
        """Serve who waits for what arrived."""
        for polls in self._polls:
            polls.wake()

    def start(self, nursery: trio.Nursery) -> None:
        """Start the recurring work."""
        for polls in self._polls:
            nursery.start_soon(polls.run)
        if self.reviver is not None:
            nursery.start_soon(self.reviver.run)

    def end_all(self) -> None:
        """Answer all requests that wait soon, so that the next ones are checked again."""
        for polls in self._polls:
            polls.end_all()

    def end_topic(self, topic: str, error: Exception) -> Generator[None, None, None]:
        """Answer all requests that wait for a topic with an error, some at each step."""
        for polls in self._polls:
            yield from polls.end_topic(topic, error)

    def peer_closed(self, peer: Peer) -> None:
        """Drop the requests of a closed connection."""
        for polls in self._polls:
            polls.peer_closed(peer)
