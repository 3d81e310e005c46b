"""The front ends of the client behind one interface, so that a test runs with each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from rocketwire import remoting
from rocketwire.remoting import aio


class InLoop:
    """An asynchronous client in a separate thread, used from outside as if it blocked: calls become awaits."""

    def __init__(self, backend: str, make: Callable[[], Any]) -> None:
        self._backend = backend
        self._make = make
        self._stack = ExitStack()
        self._portal: BlockingPortal
        self._client: Any = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal(self._backend))
            made = self._portal.call(self._make)
            self._client = stack.enter_context(self._portal.wrap_async_context_manager(made))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            async def awaited() -> Any:
                found = getattr(self._client, name)(*args, **named)
                return await found if isinstance(found, Awaitable) else found

            return self._portal.call(awaited)

        return call


class Blocking:
    """The client with threads."""

    name = "blocking"

    def producer(self, *args: Any, **named: Any) -> Any:
        return remoting.Producer(*args, **named)

    def pull_consumer(self, *args: Any, **named: Any) -> Any:
        return remoting.PullConsumer(*args, **named)

    def push_consumer(self, *args: Any, **named: Any) -> Any:
        return remoting.PushConsumer(*args, **named)


class _PushInLoop(InLoop):
    """Handlers of tests do not wait: they become coroutines."""

    def start(self, handler: Callable[[Any], Any]) -> None:
        async def handle(message: Any) -> Any:
            return handler(message)

        self.__getattr__("start")(handle)


class Asynchronous:
    """The client on an event loop, of which `name` is the library."""

    def __init__(self, name: str) -> None:
        self.name = name

    def producer(self, *args: Any, **named: Any) -> Any:
        return InLoop(self.name, lambda: aio.Producer(*args, **named))

    def pull_consumer(self, *args: Any, **named: Any) -> Any:
        return InLoop(self.name, lambda: aio.PullConsumer(*args, **named))

    def push_consumer(self, *args: Any, **named: Any) -> Any:
        return _PushInLoop(self.name, lambda: aio.PushConsumer(*args, **named))


FRONT_ENDS = (Blocking(), Asynchronous("asyncio"), Asynchronous("trio"))
