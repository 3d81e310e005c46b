"""Producer and consumers for asyncio and trio: what waits is awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import anyio

from rocketwire.remoting.aio.runner import AsyncRunner, Handler
from rocketwire.remoting.clients import FrontEnd, ProducerBase, PullConsumerBase, PushConsumerBase
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.pulling import PullConsumerCore
from rocketwire.remoting.core.responding import BrokerRequestResponder
from rocketwire.remoting.core.sending import ProducerCore
from rocketwire.remoting.core.steps import Operation, Runtime

P = ParamSpec("P")
T = TypeVar("T")


def awaits(
    operation: Callable[Concatenate[Any, P], Operation[T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method that awaits the result of an operation of `_core`, which `_runner` performs."""

    @wraps(operation)
    async def method(self: Any, /, *args: P.args, **named: P.kwargs) -> T:  # noqa: ANN401 - any client
        result: T = await self._runner.run(operation(self._core, *args, **named))
        return result

    return method


class AsyncClient(FrontEnd):
    """A client in an `async with` block."""

    _core: Any

    def _runtime(self, settings: ClientSettings) -> Runtime:
        self._runner = AsyncRunner(settings)
        return self._runner.around

    async def __aenter__(self) -> Self:
        """Reach a name server; a push consumer does it in `start`.

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
        """Leave the group and close all connections; a pull consumer commits nothing."""
        await self._runner.close(self._core.close())


class Producer(AsyncClient, ProducerBase):
    """Sends messages. Tasks may share it; use it in an `async with` block."""

    send = awaits(ProducerCore.send)
    send_batch = awaits(ProducerCore.send_batch)
    send_oneway = awaits(ProducerCore.send_oneway)
    queues = awaits(ProducerCore.queues)


class PullConsumer(AsyncClient, PullConsumerBase):
    """Fetches messages of queues that the application chooses. One task uses it, in an `async with` block."""

    queues = awaits(PullConsumerCore.queues)
    assign = awaits(PullConsumerCore.assign)
    poll = awaits(PullConsumerCore.poll)
    seek_to_time = awaits(PullConsumerCore.seek_to_time)
    seek_to_first = awaits(PullConsumerCore.seek_to_first)
    seek_to_end = awaits(PullConsumerCore.seek_to_end)
    offset_at = awaits(PullConsumerCore.offset_at)
    first_offset = awaits(PullConsumerCore.first_offset)
    end_offset = awaits(PullConsumerCore.end_offset)
    committed = awaits(PullConsumerCore.committed)
    commit = awaits(PullConsumerCore.commit)


class PushConsumer(AsyncClient, PushConsumerBase):
    """A member of a consumer group: calls a handler with each message. Use it in an `async with` block."""

    def _runtime(self, settings: ClientSettings) -> Runtime:
        self._stopped = anyio.Event()
        return super()._runtime(settings)

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
        await super().aclose()
