"""The push consumer, for asyncio and trio."""

from __future__ import annotations

import ssl
from typing import Self

import anyio

from rocketwire.remoting.aio.runner import AsyncRunner, Handler
from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.consuming import PushConsumerCore
from rocketwire.remoting.core.offsets import Begin
from rocketwire.remoting.core.responding import BrokerRequestResponder
from rocketwire.remoting.credentials import Credentials
from rocketwire.wire.facts.codes import SerializeType


class PushConsumer:
    """A member of a consumer group: calls a handler with each message. Use it in an `async with` block.

    The members of a group, Java's too, share the queues of their topics; all members have the same subscriptions.
    A message is handled at least once: again when the handler fails, and also when a member ends before its offset is
    committed, which happens every five seconds, or when a queue goes to another member.

    Args:
        group: The consumer group.
        name_servers: `HOST:PORT`, several with `;` between.
        begin: Where the group begins in a queue of which it has committed no offset; a number is a time in ms since
            1970.
        concurrency: How many messages are handled at a time, each in a task; with 1, the messages of a queue come in
            order as long as none is retried.
        max_messages: Messages of one pull.
        max_retries: How often a message that fails comes again, before it becomes a dead letter.
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
        self._runner = AsyncRunner(settings)
        client = ClientCore(settings, self._runner.around)
        self._core = PushConsumerCore(
            client, begin=begin, concurrency=concurrency, most=max_messages, max_retries=max_retries
        )
        self._stopped = anyio.Event()

    async def __aenter__(self) -> Self:
        """Open it; it joins the group with `start` or `run`."""
        await self._runner.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.aclose()

    def subscribe(self, topic: str, *, tags: str = "*", sql: str | None = None) -> None:
        """Consume a topic; before `start`.

        Args:
            topic: The topic; it may come to be later.
            tags: Only messages with one of these tags: `a || b`.
            sql: Only messages whose properties satisfy this SQL92 expression, if the broker allows such filters.

        Raises:
            SubscriptionInvalid: the topic is no name, or the filter is wrong.
        """
        self._core.subscribe(topic, tags=tags, sql=sql)

    async def start(self, handler: Handler) -> None:
        """Join the group, and call the handler in tasks from now on, until `aclose`.

        The handler returns None for a message that is consumed. It raises, or returns `Later`, for one that is to be
        tried again; what it raises is logged. It must not call `aclose`.

        Raises:
            SubscriptionInvalid: there is no subscription, or it has started before.
            NotReached: no name server answers.
            Refused: a broker refuses a subscription.
        """
        self._runner.handler = handler
        self._runner.responder = BrokerRequestResponder(self._core).respond
        await self._runner.run(self._core.start())

    async def run(self, handler: Handler) -> None:
        """Do as `start` does, and return after `stop`."""
        await self.start(handler)
        await self._stopped.wait()

    def stop(self) -> None:
        """Make `run` return; the handler may call it, too."""
        self._stopped.set()

    async def aclose(self) -> None:
        """Wait for handlers that run, commit, leave the group and close all connections: ten seconds at most."""
        self._stopped.set()
        await self._runner.close(self._core.finish())
