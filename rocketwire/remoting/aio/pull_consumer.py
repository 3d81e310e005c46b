"""The pull consumer, for asyncio and trio."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Self

from rocketwire.remoting.aio.runner import AsyncRunner
from rocketwire.remoting.core.client import ClientCore, ClientSettings
from rocketwire.remoting.core.offsets import Begin
from rocketwire.remoting.core.pulling import PullConsumerCore
from rocketwire.remoting.credentials import Credentials
from rocketwire.remoting.messages import Queue, ReceivedMessage
from rocketwire.wire.facts.codes import SerializeType


class PullConsumer:
    """Fetches messages of queues that the application chooses. One task uses it, in an `async with` block.

    Members of a group do not share queues by themselves: for that there is `PushConsumer`.

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
        self._runner = AsyncRunner(settings)
        self._core = PullConsumerCore(ClientCore(settings, self._runner.around), begin=begin, most=max_messages)

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
        """Close all connections. Nothing is committed."""
        await self._runner.close(self._core.close())

    async def queues(self, topic: str) -> list[Queue]:
        """The queues of a topic that can be read, sorted.

        Raises:
            NoSuchTopic: there is no such topic.
            NotReached, Refused: no name server answers, or it refuses.
        """
        return await self._runner.run(self._core.queues(topic))

    async def assign(
        self, topic: str, queues: Iterable[Queue] | None = None, *, tags: str = "*", sql: str | None = None
    ) -> None:
        """Fetch from queues of a topic, or from all that it has now, instead of those that were assigned of it before.

        Args:
            topic: The topic.
            queues: Some of its queues; all if they are not given.
            tags: Only messages with one of these tags: `a || b`.
            sql: Only messages whose properties satisfy this SQL92 expression, if the broker allows such filters.

        Raises:
            SubscriptionInvalid: a queue does not exist, or the filter is wrong.
            NoSuchTopic, NotReached, Refused: as with `queues`, or a broker refuses the SQL expression.
        """
        await self._runner.run(self._core.assign(topic, queues, tags=tags, sql=sql))

    async def poll(self, seconds: float = 5.0) -> list[ReceivedMessage]:
        """The next messages of the assigned queues, in order within each queue; none if none come in time.

        While a broker cannot be reached, its queues have none, and a warning is logged.

        Raises:
            SubscriptionInvalid: no queue is assigned.
            Refused: the broker refuses a pull: the account may not read the topic, for instance.
        """
        return await self._runner.run(self._core.poll(seconds))

    def positions(self) -> dict[Queue, int]:
        """The offset of each assigned queue at which the next poll continues."""
        return self._core.positions()

    def seek(self, queue: Queue, offset: int) -> None:
        """Continue a queue at an offset.

        Raises:
            SubscriptionInvalid: it is not assigned.
        """
        self._core.seek(queue, offset)

    async def seek_to_time(self, queue: Queue, milliseconds: int) -> None:
        """Continue a queue at its first message that was stored at or after a time, in ms since 1970.

        Raises:
            SubscriptionInvalid: it is not assigned.
            NotReached, Refused: the broker does not answer, or refuses.
        """
        await self._runner.run(self._core.seek_to_time(queue, milliseconds))

    async def seek_to_first(self, queue: Queue) -> None:
        """Continue a queue at its oldest message; raises as `seek_to_time`."""
        await self._runner.run(self._core.seek_to_first(queue))

    async def seek_to_end(self, queue: Queue) -> None:
        """Continue a queue behind its newest message; raises as `seek_to_time`."""
        await self._runner.run(self._core.seek_to_end(queue))

    async def offset_at(self, queue: Queue, milliseconds: int) -> int:
        """The offset of the first message that was stored at or after a time, in ms since 1970.

        Raises:
            NoSuchTopic, NotReached, Refused: it cannot be found out.
        """
        return await self._runner.run(self._core.offsets.at(queue, milliseconds))

    async def first_offset(self, queue: Queue) -> int:
        """The offset of the oldest message; raises as `offset_at`."""
        return await self._runner.run(self._core.offsets.first(queue))

    async def end_offset(self, queue: Queue) -> int:
        """The offset that the next message will get; raises as `offset_at`."""
        return await self._runner.run(self._core.offsets.end(queue))

    async def committed(self, queue: Queue) -> int | None:
        """The group's committed offset: of the next message to consume. None without one; raises as `offset_at`."""
        return await self._runner.run(self._core.offsets.committed(queue))

    async def commit(self) -> None:
        """Commit the positions: what was polled counts as consumed by the group.

        Raises:
            NotReached, Refused: a broker does not answer, or refuses.
        """
        await self._runner.run(self._core.commit())
