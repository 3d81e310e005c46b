"""What a producer or consumer is on every front end: its arguments, and the methods that do not wait.

`blocking.clients` and `aio.clients` add the methods that wait, each an operation of the client's core.
"""

from __future__ import annotations

import ssl
from abc import ABC, abstractmethod

from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.consuming import PushConsumerCore
from rocketwire.remoting.core.offsets import Begin
from rocketwire.remoting.core.pulling import PullConsumerCore
from rocketwire.remoting.core.sending import ProducerCore
from rocketwire.remoting.core.steps import Runtime
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.messages import Queue
from rocketwire.wire.facts.codes import SerializeType


class FrontEnd(ABC):
    """What runs the operations of a client."""

    @abstractmethod
    def _runtime(self, settings: ClientSettings) -> Runtime:
        """Make the runner of a client, and return what it gives the core."""


class ProducerBase(FrontEnd):
    """Sends messages.

    Args:
        group: The name of the producers that belong together.
        name_servers: `HOST:PORT`, several with `;` between.
        credentials: The account, where the endpoint has accounts.
        tls: Encrypts the connections, as `ssl.create_default_context()` does.
        timeout: Seconds to wait for each answer.
        retries: How often a send that failed is repeated, on another broker if there is one. A message whose answer was
            lost is then stored twice.
        max_message_size: Bytes of the largest body, and of the largest batch.
        serialize: How headers are written; the endpoint takes both.

    Raises:
        NameServersInvalid: an address is invalid.
    """

    def __init__(
        self,
        group: str,
        name_servers: str,
        *,
        credentials: Credentials | None = None,
        tls: ssl.SSLContext | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        max_message_size: int = 4 << 20,
        serialize: SerializeType = SerializeType.JSON,
    ) -> None:
        settings = ClientSettings(
            group=group,
            name_servers=name_servers,
            credentials=credentials,
            tls=tls,
            timeout=timeout,
            serialize=serialize,
        )
        client = ClientCore(settings, self._runtime(settings))
        self._core = ProducerCore(client, retries=retries, most=max_message_size)


class PullConsumerBase(FrontEnd):
    """Fetches messages of queues that the application chooses.

    Members of a group do not share queues automatically: for that there is `PushConsumer`.

    Args:
        group: The consumer group, for which offsets are committed.
        name_servers: `HOST:PORT`, several with `;` between.
        begin: Where a queue begins of which the group has committed no offset; a number is a time in ms since 1970.
        max_messages: Messages of one queue that a poll returns at most; brokers allow 32 unless they are set otherwise.
        credentials: The account, where the endpoint has accounts.
        tls: Encrypts the connections, as `ssl.create_default_context()` does.
        timeout: Seconds to wait for each answer.
        serialize: How headers are written; the endpoint takes both.

    Raises:
        NameServersInvalid: an address is invalid.
    """

    def __init__(
        self,
        group: str,
        name_servers: str,
        *,
        begin: Begin | int = Begin.FIRST,
        max_messages: int = 32,
        credentials: Credentials | None = None,
        tls: ssl.SSLContext | None = None,
        timeout: float = 10.0,
        serialize: SerializeType = SerializeType.JSON,
    ) -> None:
        settings = ClientSettings(
            group=group,
            name_servers=name_servers,
            credentials=credentials,
            tls=tls,
            timeout=timeout,
            serialize=serialize,
        )
        self._core = PullConsumerCore(ClientCore(settings, self._runtime(settings)), begin=begin, most=max_messages)

    def positions(self) -> dict[Queue, int]:
        """The offset of each assigned queue at which the next poll continues."""
        return self._core.positions()

    def seek(self, queue: Queue, offset: int) -> None:
        """Continue a queue at an offset.

        Raises:
            SubscriptionInvalid: it is not assigned.
        """
        self._core.seek(queue, offset)


class PushConsumerBase(FrontEnd):
    """A member of a consumer group: calls a handler with each message.

    The members of a group, Java's too, share the queues of their topics; all members have the same subscriptions.
    A message is handled at least once: again when the handler fails, and also when a member ends before its offset is
    committed, which happens every five seconds, or when a queue goes to another member.

    Args:
        group: The consumer group.
        name_servers: `HOST:PORT`, several with `;` between.
        begin: Where the group begins in a queue of which it has committed no offset; a number is a time in ms since
            1970.
        concurrency: How many messages are handled at a time, each in a thread or a task; with 1, the messages of a
            queue come in order as long as none is retried.
        max_messages: Messages of one pull.
        max_retries: How often a message that fails is delivered again, before it becomes a dead letter.
        credentials: The account, where the endpoint has accounts.
        tls: Encrypts the connections, as `ssl.create_default_context()` does.
        timeout: Seconds to wait for each answer.
        serialize: How headers are written; the endpoint takes both.

    Raises:
        NameServersInvalid: an address is invalid.
        SubscriptionInvalid: the group is no valid name.
    """

    def __init__(
        self,
        group: str,
        name_servers: str,
        *,
        begin: Begin | int = Begin.LAST,
        concurrency: int = 20,
        max_messages: int = 32,
        max_retries: int = 16,
        credentials: Credentials | None = None,
        tls: ssl.SSLContext | None = None,
        timeout: float = 10.0,
        serialize: SerializeType = SerializeType.JSON,
    ) -> None:
        settings = ClientSettings(
            group=group,
            name_servers=name_servers,
            credentials=credentials,
            tls=tls,
            timeout=timeout,
            serialize=serialize,
        )
        client = ClientCore(settings, self._runtime(settings))
        self._core = PushConsumerCore(
            client, begin=begin, concurrency=concurrency, most=max_messages, max_retries=max_retries
        )

    def subscribe(self, topic: str, *, tags: str = "*", sql: str | None = None) -> None:
        """Consume a topic; before `start`.

        Args:
            topic: The topic; it need not exist yet.
            tags: Only messages with one of these tags: `a || b`.
            sql: Only messages whose properties satisfy this SQL92 expression, if the broker allows such filters.

        Raises:
            SubscriptionInvalid: the topic is no name, or the filter is wrong.
        """
        self._core.subscribe(topic, tags=tags, sql=sql)
