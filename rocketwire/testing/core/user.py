"""The operations of an endpoint's own client: creating topics and groups, sending, receiving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import count
from typing import Final

from rocketwire.remoting.admin.topics import topic_header
from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.sending import ProducerCore
from rocketwire.remoting.core.session import ClientRequest
from rocketwire.remoting.core.steps import Operation, RemoteServer, Runtime
from rocketwire.remoting.errors import MessageInvalid
from rocketwire.remoting.messages import Message, ReceivedMessage, SendResult
from rocketwire.testing.core.inbox import GroupInbox, stored
from rocketwire.wire.addresses import parse_address
from rocketwire.wire.bodies import encode_body
from rocketwire.wire.bodies.group import SubscriptionGroupConfig
from rocketwire.wire.bodies.topic import TopicConfig
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.facts.properties import TIMER_DELAY_MS


def create_topic(
    client: ClientCore, broker: RemoteServer, name: str, *, queues: int, order: bool, message_type: str | None
) -> Operation[None]:
    """Create or change a topic.

    Raises:
        Refused: the broker does not do it; its remark has the reason.
        NotReached: it does not answer.
    """
    config = TopicConfig(topic_name=name, read_queue_nums=queues, write_queue_nums=queues, order=order)
    fields = topic_header(config, message_type)
    yield from client.ask(broker, ClientRequest(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))
    client.expire_route(name)


def create_group(client: ClientCore, broker: RemoteServer, name: str, *, retries: int) -> Operation[None]:
    """Create or change a consumer group, whose messages are tried again so many times.

    Raises:
        Refused, NotReached: as with `create_topic`.
    """
    body = encode_body(SubscriptionGroupConfig(group_name=name, retry_max_times=retries))
    yield from client.ask(broker, ClientRequest(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body))


OWN_GROUP: Final = "rocketwire-testing"
"""The group of producers and consumers that the endpoint's own client is in, where no other is named."""
_LARGEST: Final = 4 << 20


class EndpointUser:
    """One client of an endpoint.

    Args:
        settings: Its addresses and account.
        broker: `HOST:PORT`.
        around: The front end's.
    """

    def __init__(self, settings: ClientSettings, broker: str, around: Runtime) -> None:
        self._settings = settings
        self._around = around
        self._client = ClientCore(settings, around)
        self._broker = RemoteServer("broker", parse_address(broker))
        self._sending = ProducerCore(self._client, retries=2, most=_LARGEST)
        self._inboxes: dict[tuple[str, str], GroupInbox] = {}
        self._numbers = count(1)
        self._unique = around.entropy(3).hex()

    def name(self, kind: str) -> str:
        """A name that nothing else has at this endpoint."""
        return f"{kind}-{self._unique}-{next(self._numbers)}"

    def topic(
        self, name: str | None = None, queues: int = 4, *, order: bool = False, message_type: str | None = None
    ) -> Operation[str]:
        """Create a topic, with a new name if none is given; returns the name.

        Args:
            name: Its name.
            queues: The number of its queues.
            order: Whether it is marked as one for ordered messages.
            message_type: Which messages it takes, as in 5.x: NORMAL, FIFO, DELAY, TRANSACTION.

        Raises:
            Refused: the broker does not create it; its remark has the reason.
        """
        name = name or self.name("topic")
        yield from create_topic(self._client, self._broker, name, queues=queues, order=order, message_type=message_type)
        return name

    def group(self, name: str | None = None, *, retries: int | None = None) -> Operation[str]:
        """A name that no group has yet. With `retries` the group is created: so often messages are tried again.

        Raises:
            Refused: the broker does not create it.
        """
        name = name or self.name("group")
        if retries is not None:
            yield from create_group(self._client, self._broker, name, retries=retries)
        return name

    def send(
        self,
        topic: str,
        body: bytes | str,
        *,
        tags: str | None = None,
        keys: str | Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        delay: timedelta | float | None = None,
        delay_level: int = 0,
        order_key: str | None = None,
    ) -> Operation[SendResult]:
        """Send a message and wait until the broker has it.

        Args:
            topic: Where to.
            body: At least one byte; a text is written as UTF-8.
            tags: One word.
            keys: Words by which it can be found, or one.
            properties: Texts by name.
            delay: Deliver it so many seconds later, by the endpoint's clock.
            delay_level: Deliver it after the delay of this level; 3 is 10 s.
            order_key: Messages with equal keys go to the same queue.

        Raises:
            MessageInvalid: it cannot be sent as it is: its delay is negative, or given twice, for instance.
            NoSuchTopic, NotReached, Refused: the broker did not take it.
        """
        all_properties = dict(properties or {})
        if delay is not None:
            seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
            if seconds < 0 or delay_level:
                raise MessageInvalid("a delay is 0 s or longer, and there is no delay level beside it")
            if seconds:
                all_properties[TIMER_DELAY_MS] = str(round(seconds * 1000))
        message = Message(
            topic,
            body.encode() if isinstance(body, str) else body,
            tags=tags,
            keys=keys,
            properties=all_properties,
            delay_level=delay_level,
            order_key=order_key,
        )
        return (yield from self._sending.send(message))

    def receive(
        self, topic: str, *, timeout: float = 10.0, count: int = 1, group: str | None = None
    ) -> Operation[list[ReceivedMessage]]:
        """Take the next messages of a topic, in the order in which they were stored.

        The next call continues behind them. Without a group the endpoint's own client uses a group without other
        members; a group that is named continues where its members are. A topic that does not exist yet is waited for.

        Args:
            topic: The topic.
            timeout: How many seconds to wait for `count` messages; then there are fewer, or none.
            count: The most messages.
            group: The consumer group whose offsets are used and committed.

        Raises:
            NoSuchTopic: the topic was not created in time.
            NotReached, Refused: the broker does not give them.
        """
        group = group or OWN_GROUP
        inbox = self._inboxes.get((topic, group))
        if inbox is None:
            settings = ClientSettings(
                group=group,
                name_servers=self._settings.name_servers,
                credentials=self._settings.credentials,
                tls=self._settings.tls,
            )
            inbox = self._inboxes[topic, group] = GroupInbox(ClientCore(settings, self._around), topic)
        return (yield from inbox.receive(count, timeout))

    def messages(self, topic: str) -> Operation[list[ReceivedMessage]]:
        """Everything that a topic has stored, in that order; no group's offsets change.

        Raises:
            NoSuchTopic: there is no such topic.
        """
        return (yield from stored(self._client, topic))

    def close(self) -> Operation[None]:
        """Nothing: this client is in no group that has to know."""
        yield from ()
