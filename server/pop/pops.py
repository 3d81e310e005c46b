"""POP of one broker, put together."""

from __future__ import annotations

from collections.abc import Collection, Generator

import trio

from rocketwire.server.core.request import Peer
from rocketwire.server.pop.acks import Acks
from rocketwire.server.pop.checks import PopChecks
from rocketwire.server.pop.ordered import PopQueue
from rocketwire.server.pop.parts import PopAccounting, PopRuntime, PopSettings, PopState
from rocketwire.server.pop.peeking import Peeking
from rocketwire.server.pop.polls import Polls
from rocketwire.server.pop.pop_reader import PopReader
from rocketwire.server.pop.pop_topics import PopTopics
from rocketwire.server.pop.records import PopRecords
from rocketwire.server.pop.renewals import Renewals
from rocketwire.server.pop.reviving.deliveries import UnorderedDeliveries
from rocketwire.server.pop.reviving.redelivery import Redelivery
from rocketwire.server.pop.reviving.reviver import Reviver
from rocketwire.server.pop.services import PopServices
from rocketwire.server.timer.timer import Timer


class Pops:
    """POP of one broker.

    Attributes:
        services: The services of its handlers.
        reviver: Makes messages visible again; None where check points cannot be written, as there is no timer.
    """

    def __init__(
        self,
        state: PopState,
        settings: PopSettings,
        accounting: PopAccounting,
        runtime: PopRuntime,
        *,
        timer: Timer | None,
        renewals: Renewals,
        indexed: bool,
    ) -> None:
        """Put it together.

        Args:
            state: What it reads and changes.
            settings: The configuration.
            accounting: Counts and bounds what clients get.
            runtime: The clock, chance and tasks of the broker.
            timer: What the timer has delivered; None: there is no timer.
            renewals: The connected clients whose messages are renewed.
            indexed: Whether the store has an index of keys.
        """
        broker_name = settings.broker.current.broker_name
        pop_topics = PopTopics(settings.pop, settings.broker, state.topics)
        records = PopRecords(pop_topics.revive, runtime.host)
        checks = PopChecks(
            broker_keys=settings.broker,
            timer_keys=settings.timer,
            topics=state.topics,
            groups=state.groups,
            store=state.store,
        )
        self.services = PopServices(
            acks=Acks(
                state,
                checks,
                pop_topics=pop_topics,
                records=records,
                deliveries=UnorderedDeliveries(state.store, pop_topics.revive, indexed=indexed),
                clock=runtime.clock,
            ),
            broker_name=broker_name,
            checks=checks,
            clock=runtime.clock,
            due_time=runtime.due_time,
            filter_keys=settings.filters,
            limit_keys=settings.limits,
            notifications=Polls(settings.pop, accounting.limits, state.storing, runtime.budget),
            peeking=Peeking(state, accounting, pop_topics=pop_topics, choose=runtime.choose),
            polls=Polls(settings.pop, accounting.limits, state.storing, runtime.budget),
            pop_topics=pop_topics,
            resets=state.resets,
            reader=PopReader(state, settings, accounting, runtime, pop_topics=pop_topics, records=records),
            throttle=accounting.throttle,
        )
        self._polls = self.services.polls, self.services.notifications
        self.reviver: Reviver | None = None
        if timer is not None:
            redelivery = Redelivery(
                state, runtime, broker_name, pop_topics=pop_topics, records=records, renewals=renewals
            )
            self.reviver = Reviver(
                state,
                runtime,
                topic=pop_topics.revive,
                timer=timer,
                broker_name=broker_name,
                redelivery=redelivery,
            )
            runtime.due_time.moved.subscribe(self.reviver.clock_moved)

    @property
    def held(self) -> int:
        """How many requests wait."""
        return sum(polls.held for polls in self._polls)

    def arrived(self, queues: Collection[tuple[str, int]]) -> None:
        """Note that messages were stored in these queues; `wake` serves the requests that wait for them."""
        for polls in self._polls:
            if polls.held:
                polls.arrived(queues)
        if self.reviver is not None:
            self.reviver.arrived(queues)

    def queue_freed(self, queue: PopQueue) -> None:
        """Note that a queue in order gives messages again; `wake` serves the requests that wait for them."""
        for polls in self._polls:
            polls.wake_queue(queue)

    def wake(self) -> None:
        """Try the requests that wait for what arrived."""
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

    def consumer_left(self, peer: Peer, group: str) -> None:
        """Give no more messages to the waiting requests of a consumer that unregistered."""
        for polls in self._polls:
            polls.consumer_left(peer, group)

    def peer_closed(self, peer: Peer) -> None:
        """Drop the requests of a closed connection."""
        for polls in self._polls:
            polls.peer_closed(peer)
