"""The push consumer: shares the queues with the other members of its group, pulls them and calls the handler.

These operations run at the same time: one pulls all queues, some call the handler, others send heartbeats, rebalance
and commit. They share the state of `PushConsumerCore`.
"""

from __future__ import annotations

import logging
from typing import Final

from rocketwire.remoting.core.client import HEARTBEAT_SECONDS, ClientCore
from rocketwire.remoting.core.fetching import FetchedMessages, QueueFetcher
from rocketwire.remoting.core.group_requests import allocate_queues, consumer_ids
from rocketwire.remoting.core.handling import MessageHandling
from rocketwire.remoting.core.incoming import decode_messages
from rocketwire.remoting.core.offsets import Begin, OffsetRequests
from rocketwire.remoting.core.process_queue import ProcessQueue
from rocketwire.remoting.core.steps import Operation, Sleep, WaitForSignal
from rocketwire.remoting.core.subscription import EVERYTHING, subscription
from rocketwire.remoting.errors import NoSuchTopic, Refused, RemotingError, SubscriptionInvalid
from rocketwire.remoting.messages import Queue, ReceivedMessage
from rocketwire.wire.bodies.client import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    SubscriptionData,
)
from rocketwire.wire.names import RETRY_PREFIX, group_name_error, retry_topic

log = logging.getLogger(__name__)

REBALANCE_SECONDS: Final = 20.0
RETRY_REBALANCE_SECONDS: Final = 2.0
"""Seconds until what could not be done is tried again: a topic without a route, a broker that did not answer."""
COMMIT_SECONDS: Final = 5.0
_FETCH_SECONDS: Final = 60.0


class PushConsumerCore:
    """One member of a consumer group.

    Args:
        client: The client.
        begin: Where the group begins in a queue without a committed offset; a number is a time in ms.
        concurrency: How many messages are handled at a time.
        most: Messages of one pull.
        max_retries: How often a message that failed is delivered again, before it becomes a dead letter.

    Attributes:
        subscriptions: By topic; the group's retry topic among them.
        stocks: The queues of this member.
        handling: What is done with their messages.
    """

    def __init__(
        self, client: ClientCore, *, begin: Begin | int, concurrency: int, most: int, max_retries: int
    ) -> None:
        problem = group_name_error(client.settings.group)
        if problem is not None:
            raise SubscriptionInvalid(problem)
        self.client = client
        self.group = client.settings.group
        self.begin = begin
        self.concurrency = concurrency
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.process_queues: dict[Queue, ProcessQueue[ReceivedMessage]] = {}
        self.offsets = OffsetRequests(client, client.settings.group)
        self.started_at = 0
        self._fetching = QueueFetcher(
            client, self.subscriptions, most=most, with_subscription=False, decode=decode_messages
        )
        self.handling = MessageHandling(client, self._fetching.signal, max_retries=max_retries)
        self._rebalance = client.runtime.new_signal()
        self._heartbeat = client.runtime.new_signal()
        self._is_ending = False

    def subscribe(self, topic: str, *, tags: str = EVERYTHING, sql: str | None = None) -> None:
        """Consume a topic; before the start."""
        if self.started_at:
            raise SubscriptionInvalid("subscribe before the consumer starts")
        self.subscriptions[topic] = subscription(topic, tags=tags, sql=sql, version=self.client.runtime.wall())

    def start(self) -> Operation[None]:
        """Join the group, and begin to consume.

        Raises:
            SubscriptionInvalid: there is no subscription, or it has started before.
            NotReached: no name server answers.
            Refused: a broker refuses a subscription.
        """
        if self.started_at:
            raise SubscriptionInvalid("the consumer has started")
        if not self.subscriptions:
            raise SubscriptionInvalid("there is no subscription")
        for by in list(self.subscriptions.values()):
            yield from self._check(by)
        retries = retry_topic(self.group)
        self.subscriptions.setdefault(retries, subscription(retries, version=self.client.runtime.wall()))
        self.started_at = self.client.runtime.wall()
        yield from self.client.heartbeat(self.heartbeat_data())
        start = self.client.runtime.start
        start(self._rebalances())
        start(self._heartbeats())
        start(self._pulls())
        start(self._commits())
        for _ in range(self.concurrency):
            start(self.handling.run_handlers())

    def open(self) -> Operation[None]:
        """Nothing: the consumer joins its group in `start`."""
        yield from ()

    def close(self) -> Operation[None]:
        """Take no more messages, wait for the handlers, commit, and leave the group."""
        self._is_ending = True
        yield from self.handling.finish()
        for queue, stock in list(self.process_queues.items()):
            yield from self._commit(queue, stock, wait=True)
        self.process_queues.clear()
        if self.started_at:
            yield from self.client.unregister(consumer_group=self.group)

    def rebalance_soon(self) -> None:
        """Members came or went."""
        self._rebalance.set()

    def heartbeat_data(self) -> HeartbeatData:
        """The heartbeat of this member."""
        begin = self.begin.value if isinstance(self.begin, Begin) else ConsumeFromWhere.CONSUME_FROM_TIMESTAMP
        group = ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=begin,
            subscription_data_set=tuple(self.subscriptions.values()),
        )
        return HeartbeatData(client_id=self.client.client_id, consumer_data_set=(group,))

    def reset(self, queue: Queue, offset: int) -> None:
        """Consume a queue of this member from an offset on; what handlers do now does not count."""
        if queue in self.process_queues:
            self._take(queue, offset)

    def _check(self, by: SubscriptionData) -> Operation[None]:
        """Find a topic and have its brokers check the filter; a topic that does not exist yet is checked later."""
        try:
            yield from self.client.route(by.topic)
        except NoSuchTopic as error:
            log.warning("%s; its route is requested again", error)
            return
        yield from self.client.check_filter(by)

    # --- members and queues

    def _heartbeats(self) -> Operation[None]:
        heard = True
        while True:
            yield WaitForSignal(self._heartbeat, HEARTBEAT_SECONDS if heard else RETRY_REBALANCE_SECONDS)
            heard = yield from self.client.heartbeat(self.heartbeat_data())

    def _rebalances(self) -> Operation[None]:
        """Every twenty seconds, and when members come or go."""
        while not self._is_ending:
            complete = True
            for topic in self.subscriptions:
                complete &= yield from self._rebalance_topic(topic)
            yield WaitForSignal(self._rebalance, REBALANCE_SECONDS if complete else RETRY_REBALANCE_SECONDS)

    def _rebalance_topic(self, topic: str) -> Operation[bool]:
        """Take this member's queues of a topic, and release others; false: try again soon.

        The route is requested again: members with different routes leave some queues to no member, and have others
        twice.
        """
        self.client.expire_route(topic)
        try:
            queues = yield from self.client.readable_queues(topic)
            members = yield from self._members(topic)
            if self.client.client_id not in members:
                self._heartbeat.set()  # the broker has forgotten this member
                log.info("group %s: the broker does not know this member; it joins again", self.group)
                yield from self._keep_only(topic, [])
                return False
            mine = allocate_queues(self.client.client_id, members, queues)
            yield from self._keep_only(topic, mine)
            return (yield from self._take_new(mine))
        except NoSuchTopic:
            return False
        except RemotingError as error:
            log.warning("group %s, topic %s: rebalancing failed: %s", self.group, topic, error)
            self.client.expire_route(topic)
            if isinstance(error, Refused):
                self._heartbeat.set()  # a broker refuses to list the members of a group that it does not know
            return False

    def _take_new(self, mine: list[Queue]) -> Operation[bool]:
        """Begin with queues that this member has not had; false: not with all, for a broker does not answer."""
        complete = True
        for queue in mine:
            if queue not in self.process_queues:
                try:
                    self._take(queue, (yield from self._start(queue)))
                except RemotingError as error:
                    log.warning("%s: where to begin is not known: %s", queue, error)
                    complete = False
        return complete

    def _members(self, topic: str) -> Operation[tuple[str, ...]]:
        """The client ids of the group, from the first broker of the topic that answers."""
        route = yield from self.client.route(topic)
        failure: RemotingError = NoSuchTopic(topic, self.client.settings.name_servers)
        for broker in route.broker_datas:
            try:
                return (yield from consumer_ids(self.client, self.client.broker(broker.broker_name), self.group))
            except RemotingError as error:
                failure = error
        raise failure

    def _start(self, queue: Queue) -> Operation[int]:
        """Where a queue continues; messages to be retried are never skipped."""
        begin = Begin.FIRST if queue.topic.startswith(RETRY_PREFIX) else self.begin
        return (yield from self.offsets.start(queue, begin))

    def _keep_only(self, topic: str, mine: list[Queue]) -> Operation[None]:
        for queue, stock in list(self.process_queues.items()):
            if queue.topic == topic and queue not in mine:
                self._fetching.drop(queue)
                stock.is_dropped = True
                del self.process_queues[queue]
                yield from self._commit(queue, stock, wait=True)

    def _take(self, queue: Queue, offset: int) -> None:
        before = self.process_queues.get(queue)
        if before is not None:
            before.is_dropped = True
        self.process_queues[queue] = ProcessQueue(offset)
        self._fetching.seek(queue, offset)

    # --- offsets

    def _commits(self) -> Operation[None]:
        while True:
            yield Sleep(COMMIT_SECONDS)
            for queue, stock in list(self.process_queues.items()):
                yield from self._commit(queue, stock, wait=False)

    def _commit(self, queue: Queue, stock: ProcessQueue[ReceivedMessage], *, wait: bool) -> Operation[None]:
        offset = stock.offset
        if offset == stock.committed:
            return
        try:
            yield from self.offsets.commit(queue, offset, wait=wait)
            stock.committed = offset
        except RemotingError as error:
            log.warning("%s: the offset %d was not committed: %s", queue, offset, error)

    # --- messages

    def _pulls(self) -> Operation[None]:
        while not self._is_ending:
            for fetched in (yield from self._fetching.fetch(_FETCH_SECONDS, self._has_room)):
                self._arrived(fetched)

    def _has_room(self, queue: Queue) -> bool:
        return not self._is_ending and self.process_queues[queue].has_room

    def _arrived(self, fetched: FetchedMessages[ReceivedMessage]) -> None:
        if fetched.error is not None:
            log.warning("%s: a pull failed, and is tried again: %s", fetched.queue, fetched.error)
            self._heartbeat.set()  # a broker that was restarted knows no member
            return
        if fetched.moved:
            log.warning("%s: messages are gone; it continues at offset %d", fetched.queue, fetched.next_offset)
            self.reset(fetched.queue, fetched.next_offset)
            return
        stock = self.process_queues.get(fetched.queue)
        if stock is None:  # the consumer ends
            return
        stock.pulled_at = self.client.runtime.wall()
        for each in fetched.messages:
            stock.add(each.queue_offset, each, len(each.body))
        stock.next_offset = fetched.next_offset
        self.handling.add(stock, fetched.messages)
