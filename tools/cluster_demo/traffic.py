"""The traffic of the demonstration, and the account of every message."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.aio import Producer, PushConsumer
from rocketwire.remoting.cluster import BlockingCluster
from rocketwire.remoting.core.offsets import Begin
from rocketwire.remoting.errors import RemotingError
from rocketwire.remoting.messages import Message, Queue, ReceivedMessage
from rocketwire.wire.bodies.topic import TopicConfig
from tools.cluster_demo.servers import DemoFailed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOPIC: Final = "Demo"
_GROUP: Final = "demo_consumers"
_QUEUES: Final = 4
_SENDERS: Final = 8
_PAUSE: Final = 0.02
"""Seconds that each sender waits between two messages: together they send some 300 a second."""
_AGAIN: Final = 0.1
"""Seconds until a send that failed is tried again."""
_ANSWER_SECONDS: Final = 3.0
_TOPIC_SECONDS: Final = 30.0
_DRAIN_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1
Place = tuple[Queue, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The outcomes of the messages.

    Attributes:
        acknowledged: Sent, and acknowledged by a broker.
        received: Of these, how many consumers got.
        lost: Of these, how many they did not get.
        given_twice: How many they got more than once.
        stored_twice: Of these, how many were sent again because the answer of a broker that had them was lost; the
            others were given again because their offset was not committed yet.
        failed_sends: Sends that failed, and were tried again.
    """

    acknowledged: int
    received: int
    lost: int
    given_twice: int
    stored_twice: int
    failed_sends: int


class Traffic:
    """Sends numbered messages, and notes which are received.

    Args:
        proxies: The addresses of the proxies, which the clients take for name servers.
        brokers: How many brokers there are.

    Attributes:
        failed_sends: How many sends failed, and were tried again.
        sent_at: When each message was acknowledged, in the time of `time.monotonic`.
        received_at: When each one came.
    """

    def __init__(self, proxies: Sequence[str], *, brokers: int) -> None:
        self._proxies = proxies
        self._brokers = brokers
        self._numbers: Iterator[int] = itertools.count()
        self._acknowledged: set[int] = set()
        self._places: dict[int, list[Place]] = defaultdict(list)
        self._come = 0
        self._ending = False
        self.failed_sends = 0
        self.sent_at: list[float] = []
        self.received_at: list[float] = []

    @property
    def lag(self) -> int:
        """How many messages were acknowledged, and have not come yet."""
        return len(self._acknowledged) - self._come

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send and receive. At the end, sends come to their ends, and messages that are on their way are awaited.

        Raises:
            DemoFailed: the topic could not be made.
        """
        await self._make_topic()
        first, second = self._proxies
        async with (
            Producer("demo_producers", f"{first};{second}", timeout=_ANSWER_SECONDS, retries=0) as producer,
            self._member(f"{first};{second}"),
            self._member(f"{second};{first}"),
        ):
            async with trio.open_nursery() as senders:
                for _ in range(_SENDERS):
                    senders.start_soon(self._send_on, producer)
                yield
                self._ending = True
                senders.cancel_scope.deadline = trio.current_time() + _DRAIN_SECONDS
            for _ in range(int(_DRAIN_SECONDS / _LOOK_SECONDS)):
                if self.lag:
                    await trio.sleep(_LOOK_SECONDS)

    async def _make_topic(self) -> None:
        """Make the topic on all brokers; the proxies may not know them all at once."""
        for _ in range(int(_TOPIC_SECONDS / _LOOK_SECONDS)):
            if await trio.to_thread.run_sync(self._made):
                return
            await trio.sleep(_LOOK_SECONDS)
        raise DemoFailed("the proxies do not know all brokers")

    def _made(self) -> bool:
        config = TopicConfig(topic_name=TOPIC, read_queue_nums=_QUEUES, write_queue_nums=_QUEUES)
        try:
            for proxy in self._proxies:
                with BlockingCluster(proxy) as cluster:
                    for each in cluster.all_brokers().values():
                        put_topic(each, config)
                    if len(cluster.readable_queues(TOPIC)) < _QUEUES * self._brokers:
                        return False
        except RemotingError:
            return False
        return True

    @asynccontextmanager
    async def _member(self, proxies: str) -> AsyncIterator[None]:
        """A member of the consumer group."""
        async with PushConsumer(_GROUP, proxies, begin=Begin.FIRST, timeout=_ANSWER_SECONDS) as consumer:
            consumer.subscribe(TOPIC)
            await consumer.start(self._receive)
            yield

    async def _receive(self, message: ReceivedMessage) -> None:
        number = int(message.body)
        if number in self._acknowledged and number not in self._places:
            self._come += 1
        self._places[number].append((message.queue, message.queue_offset))
        self.received_at.append(time.monotonic())

    async def _send_on(self, producer: Producer) -> None:
        while not self._ending:
            number = next(self._numbers)
            while not await self._sent(producer, Message(TOPIC, str(number).encode())):
                self.failed_sends += 1
                await trio.sleep(_AGAIN)
            self._acknowledged.add(number)
            self._come += number in self._places
            self.sent_at.append(time.monotonic())
            await trio.sleep(_PAUSE)

    async def _sent(self, producer: Producer, message: Message) -> bool:
        try:
            await producer.send(message)
        except RemotingError:
            return False
        return True

    def account(self) -> Account:
        """The outcomes of the messages until now."""
        received = self._acknowledged & self._places.keys()
        twice = [places for places in self._places.values() if len(places) > 1]
        return Account(
            acknowledged=len(self._acknowledged),
            received=len(received),
            lost=len(self._acknowledged) - len(received),
            given_twice=len(twice),
            stored_twice=sum(len(set(places)) > 1 for places in twice),
            failed_sends=self.failed_sends,
        )


def longest_pause(times: Sequence[float], since: float, until: float) -> float:
    """The longest time between two of `times` in a span, its ends included; in seconds."""
    within = [since, *(each for each in times if since < each < until), until]
    return max(later - earlier for earlier, later in itertools.pairwise(within))
