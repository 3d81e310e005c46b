"""Producer and consumers whose methods block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from rocketwire.remoting.blocking.runner import BlockingRunner, Handler
from rocketwire.remoting.clients import FrontEnd, ProducerBase, PullConsumerBase, PushConsumerBase
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.pulling import PullConsumerCore
from rocketwire.remoting.core.responding import BrokerRequestResponder
from rocketwire.remoting.core.sending import ProducerCore
from rocketwire.remoting.core.steps import Operation, Runtime

P = ParamSpec("P")
T = TypeVar("T")


def blocks(operation: Callable[Concatenate[Any, P], Operation[T]]) -> Callable[Concatenate[Any, P], T]:
    """The method that waits for the result of an operation of `_core`, which `_runner` performs."""

    @wraps(operation)
    def method(self: Any, /, *args: P.args, **named: P.kwargs) -> T:  # noqa: ANN401 - any client
        result: T = self._runner.run(operation(self._core, *args, **named))
        return result

    return method


class BlockingClient(FrontEnd):
    """A client in a `with` block."""

    _core: Any

    def _runtime(self, settings: ClientSettings) -> Runtime:
        self._runner = BlockingRunner(settings)
        return self._runner.around

    def __enter__(self) -> Self:
        """Reach a name server; a push consumer does it in `start`.

        Raises:
            NotReached, Refused: none answers, or it refuses.
        """
        try:
            self._runner.run(self._core.open())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Leave the group and close all connections; a pull consumer commits nothing."""
        self._runner.close(self._core.close())


class Producer(BlockingClient, ProducerBase):
    """Sends messages. Threads may share it; use it in a `with` block."""

    send = blocks(ProducerCore.send)
    send_batch = blocks(ProducerCore.send_batch)
    send_oneway = blocks(ProducerCore.send_oneway)
    queues = blocks(ProducerCore.queues)


class PullConsumer(BlockingClient, PullConsumerBase):
    """Fetches messages of queues that the application chooses. One thread uses it, in a `with` block."""

    queues = blocks(PullConsumerCore.queues)
    assign = blocks(PullConsumerCore.assign)
    poll = blocks(PullConsumerCore.poll)
    seek_to_time = blocks(PullConsumerCore.seek_to_time)
    seek_to_first = blocks(PullConsumerCore.seek_to_first)
    seek_to_end = blocks(PullConsumerCore.seek_to_end)
    offset_at = blocks(PullConsumerCore.offset_at)
    first_offset = blocks(PullConsumerCore.first_offset)
    end_offset = blocks(PullConsumerCore.end_offset)
    committed = blocks(PullConsumerCore.committed)
    commit = blocks(PullConsumerCore.commit)


class PushConsumer(BlockingClient, PushConsumerBase):
    """A member of a consumer group: calls a handler with each message. Use it in a `with` block."""

    def _runtime(self, settings: ClientSettings) -> Runtime:
        self._stopped = threading.Event()
        return super()._runtime(settings)

    def start(self, handler: Handler) -> None:
        """Join the group, and call the handler in threads from now on, until `close`.

        The handler returns None for a message that is consumed. It raises, or returns `Later`, for one that is to be
        tried again; what it raises is logged. It must not call `close`.

        Raises:
            SubscriptionInvalid: there is no subscription, or it has started before.
            NotReached: no name server answers.
            Refused: a broker refuses a subscription.
        """
        self._runner.serve(handler, BrokerRequestResponder(self._core).respond, threads=self._core.concurrency + 1)
        self._runner.run(self._core.start())

    def run(self, handler: Handler) -> None:
        """Do as `start` does, and return after `stop`."""
        self.start(handler)
        self._stopped.wait()

    def stop(self) -> None:
        """Make `run` return; any thread may call it, and the handler."""
        self._stopped.set()

    def close(self) -> None:
        """Wait for handlers that run, commit the offsets, leave the group and close all connections."""
        self._stopped.set()
        super().close()
