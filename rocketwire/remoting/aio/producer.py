"""The producer, for asyncio and trio."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Self

from rocketwire.remoting.aio.runner import AsyncRunner
from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.sending import ProducerCore
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.messages import Message, Queue, SendResult
from rocketwire.wire.facts.codes import SerializeType


class Producer:
    """Sends messages. Tasks may share it; use it in an `async with` block.

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
        self._runner = AsyncRunner(settings)
        self._core = ProducerCore(ClientCore(settings, self._runner.around), retries=retries, most=max_message_size)

    async def __aenter__(self) -> Self:
        """Reach a name server.

        Raises:
            NotReached, Refused: none answers, or it refuses.
        """
        try:
            await self._runner.open()
            await self._runner.run(self._core.open())
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.aclose()

    async def aclose(self) -> None:
        """Leave the group and close all connections."""
        await self._runner.close(self._core.close())

    async def send(self, message: Message, *, queue: Queue | None = None) -> SendResult:
        """Send a message, to a queue if one is named, and wait until a broker has it.

        Raises:
            MessageInvalid: it cannot be sent as it is.
            NoSuchTopic: there is no such topic, and none is created.
            NotReached, Refused: no broker took it; the last broker's failure.
        """
        return await self._runner.run(self._core.send(message, queue))

    async def send_batch(self, messages: Sequence[Message], *, queue: Queue | None = None) -> SendResult:
        """Send messages of one topic in one request: the broker stores all of them in one queue, in order.

        Raises:
            MessageInvalid: one cannot be sent, or not in a batch: messages with a delay, or more than
                `max_message_size` bytes.
            NoSuchTopic, NotReached, Refused: as with `send`.
        """
        return await self._runner.run(self._core.send_batch(messages, queue))

    async def send_oneway(self, message: Message, *, queue: Queue | None = None) -> None:
        """Send a message without an answer: it may be lost, and nobody says so.

        Raises:
            MessageInvalid, NoSuchTopic, NotReached: as with `send`.
        """
        await self._runner.run(self._core.send_oneway(message, queue))

    async def queues(self, topic: str) -> list[Queue]:
        """The queues of a topic that take messages, sorted.

        Raises:
            NoSuchTopic, NotReached, Refused: as with `send`.
        """
        return await self._runner.run(self._core.queues(topic))
