"""Both front ends of the client behind one interface, so that a test runs with each."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any, Self

import trio

from rocketwire import remoting
from rocketwire.remoting import trio as for_trio

DEADLINE = 120


class InTrio:
    """A client for trio in a thread of its own, used from outside as if it blocked: calls become awaits."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._ready = threading.Event()
        self._done: trio.Event
        self._token: trio.lowlevel.TrioToken
        self._client: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=trio.run, args=(self._main,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(DEADLINE)
        if self._error is not None:
            raise self._error
        return self

    def __exit__(self, *_: object) -> None:
        self._token.run_sync_soon(self._done.set)
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._done = trio.Event()
        try:
            async with self._make() as self._client:
                self._ready.set()
                await self._done.wait()
        except Exception as error:  # noqa: BLE001 - the thread that waits raises it
            self._error = error
            self._ready.set()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            async def awaited() -> Any:
                found = getattr(self._client, name)(*args, **named)
                return await found if isinstance(found, Awaitable) else found

            return trio.from_thread.run(awaited, trio_token=self._token)

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


class _PushInTrio(InTrio):
    """Handlers of tests do not wait: they become coroutines."""

    def start(self, handler: Callable[[Any], Any]) -> None:
        async def handle(message: Any) -> Any:
            return handler(message)

        self.__getattr__("start")(handle)


class Trio:
    """The client for trio."""

    name = "trio"

    def producer(self, *args: Any, **named: Any) -> Any:
        return InTrio(lambda: for_trio.Producer(*args, **named))

    def pull_consumer(self, *args: Any, **named: Any) -> Any:
        return InTrio(lambda: for_trio.PullConsumer(*args, **named))

    def push_consumer(self, *args: Any, **named: Any) -> Any:
        return _PushInTrio(lambda: for_trio.PushConsumer(*args, **named))


FRONT_ENDS = (Blocking(), Trio())
