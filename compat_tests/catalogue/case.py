"""What a scenario is given: the client under test at an endpoint, with separate topics and groups."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rocketwire.compat.clients.client import Client
from rocketwire.compat.endpoint import Facts
from rocketwire.compat.messages import Event, Outgoing
from rocketwire.compat.reader import read_topic
from rocketwire.remoting.admin.groups import put_group
from rocketwire.remoting.admin.topics import put_topic
from rocketwire.remoting.errors import RemotingError
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import Permission

_ROUTED_WITHIN: Final = 60.0  # seconds; brokers register a new topic at the name server at once


class NotPossible(Exception):
    """A scenario finds that the endpoint or the client cannot do what it needs; the text has the reason."""


@dataclass(slots=True, kw_only=True)
class Case:
    """One run of one scenario with one client.

    Attributes:
        client: The client under test.
        offered: The programs that it offers.
        helper: A Java client for what the client under test does not offer; None where none can run.
        endpoint: What is known of the endpoint.
        prefix: Begins the names of all topics and groups.
        deadline: When, in the time of `time.monotonic`, it is over at the latest.
    """

    client: Client
    offered: frozenset[str]
    helper: Client | None
    endpoint: Facts
    prefix: str
    deadline: float = math.inf
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def unique(self, name: str) -> str:
        """The name for a topic that no other run has."""
        return f"{self.prefix}_{name}_{next(self._numbers)}"

    def group(self, name: str = "group") -> str:
        """The name of a consumer or producer group that no other run has."""
        return self.unique(name)

    def topic(self, queues: int = 4, *, name: str = "Topic", kind: str = "", on_one: bool = False) -> str:
        """A new topic, made by an administrator.

        Args:
            queues: How many it has at each broker.
            name: A part of its name.
            kind: Its message type, where brokers know types.
            on_one: Whether it is on one broker, not on every: with one queue, its messages have one order.

        Raises:
            NotPossible: the endpoint does not let topics be made.
        """
        topic = self.unique(name)
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=Permission.READ | Permission.WRITE,
        )
        try:
            with self.endpoint.access.cluster() as cluster:
                brokers = list(cluster.all_brokers().values())
                for broker in brokers[:1] if on_one else brokers:
                    put_topic(broker, config, message_type=kind or None)
                self.wait_until(lambda: topic in cluster.topics(), "the name server knows the new topic")
        except RemotingError as error:
            raise NotPossible(f"no topic can be made: {error}") from error
        return topic

    def consumers(self, *, orderly: bool = False, retries: int = 16) -> str:
        """A new consumer group, made on every broker by an administrator: clients of 5.x need an existing one.

        Args:
            orderly: Whether clients of 5.x consume in the order of message groups.
            retries: How often a failed message is redelivered.

        Raises:
            NotPossible: the endpoint does not let groups be made.
        """
        name = self.group()
        config = SubscriptionGroupConfig(
            group_name=name, retry_max_times=retries, consume_message_orderly=orderly, consume_broadcast_enable=False
        )
        try:
            with self.endpoint.access.cluster() as cluster:
                for broker in cluster.all_brokers().values():
                    put_group(broker, config)
        except RemotingError as error:
            raise NotPossible(f"no group can be made: {error}") from error
        return name

    def has_topic(self, topic: str) -> bool:
        """Whether the name server knows a topic."""
        with self.endpoint.access.cluster() as cluster:
            return topic in cluster.topics()

    def doing(self, program: str) -> Client:
        """The client under test if it offers a program, else the helping one. Raises NotPossible."""
        if program in self.offered:
            return self.client
        if self.helper is None:
            raise NotPossible(f"the client does not offer {program}, and no helping Java client can run here")
        return self.helper

    def read(self, topic: str, count: int, *, group: str = "") -> list[Event]:
        """The messages of a topic in the order of its queues, once `count` of them are stored.

        Read with the client under test if it pulls, else with rocketwire's own client.
        """
        if "PullAll" in self.offered:
            return self.client.only(
                "received", "PullAll", topic=topic, group=group or self.group("reader"), count=count
            )
        return read_topic(self.endpoint.access, topic, count, until=self.deadline)

    def send_to_queues(self, topic: str, messages: Sequence[Outgoing]) -> list[Event]:
        """Send each message to its queue."""
        return self.doing("SendToQueue").only("sent", "SendToQueue", topic=topic, message=messages)

    def pause(self, seconds: float) -> None:
        """Wait so long, or until the case has to be over."""
        time.sleep(max(0.0, min(seconds, self.deadline - time.monotonic())))

    def wait_until(self, holds: Callable[[], bool], what: str, *, within: float = _ROUTED_WITHIN) -> None:
        """Return once something holds; AssertionError if it does not within so many seconds."""
        end = min(time.monotonic() + within, self.deadline)
        while not holds():
            assert time.monotonic() < end, f"not within {within:.0f} s: {what}"
            time.sleep(0.05)
