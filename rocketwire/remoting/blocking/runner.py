"""Runs the operations of a client that blocks: an event loop in a thread performs them, as for `aio`."""

from __future__ import annotations

import asyncio  # noqa: TID251 - its loop runs handlers in a pool of threads that ends with the program
import math
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TypeVar

from rocketwire.remoting.aio.runner import AsyncRunner
from rocketwire.remoting.core.client import ClientSettings
from rocketwire.remoting.core.steps import Operation, Responder
from rocketwire.remoting.errors import ClientClosed
from rocketwire.remoting.messages import Later, ReceivedMessage

T = TypeVar("T")
Handler = Callable[[ReceivedMessage], Later | None]


class BlockingRunner:
    """The event loop of one client, which begins with the first operation. Threads may share it.

    Attributes:
        around: What the client's core gets.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self._runner = AsyncRunner(settings, close_seconds=math.inf)
        self.around = self._runner.around
        self._lock = threading.Lock()
        self._events: asyncio.AbstractEventLoop | None = None
        self._handlers: ThreadPoolExecutor | None = None
        self._last_steps: Future[Operation[None]] = Future()
        self._ended: Future[None] = Future()

    def serve(self, handler: Handler, responder: Responder, *, threads: int) -> None:
        """Call the handler in so many threads at most, and answer requests of brokers with `responder`."""
        pool = self._handlers = ThreadPoolExecutor(threads, thread_name_prefix="rocketwire")

        def call(message: ReceivedMessage) -> Later | None:
            try:
                return handler(message)
            except Exception:
                raise
            except BaseException as error:  # SystemExit would end the event loop
                raise RuntimeError(f"the handler raised {error!r}") from error

        async def handle(message: ReceivedMessage) -> Later | None:
            return await asyncio.get_running_loop().run_in_executor(pool, call, message)

        self._runner.handler, self._runner.responder = handle, responder

    def run(self, operation: Operation[T]) -> T:
        """Run an operation to its end.

        Raises:
            ClientClosed: the client is closed.
        """
        performing = self._runner.run(operation)
        try:
            future = asyncio.run_coroutine_threadsafe(performing, self._opened())
        except BaseException as error:
            performing.close()
            operation.close()
            if isinstance(error, RuntimeError) and self._ended.done():  # the loop ended meanwhile
                raise ClientClosed from None
            raise
        try:
            return future.result()
        except CancelledError:
            raise ClientClosed from None
        except BaseException:  # a KeyboardInterrupt ends the wait: no thread takes the result
            future.cancel()
            raise

    def close(self, last_steps: Operation[None]) -> None:
        """Run the last operation, then end all others and all connections. Again: nothing."""
        with self._lock:
            is_first = not self._last_steps.done()
            if is_first:
                self._last_steps.set_result(last_steps)
        if not is_first or self._events is None:
            last_steps.close()
            return
        self._ended.result()
        if self._handlers is not None:
            self._handlers.shutdown(wait=False)

    def _opened(self) -> asyncio.AbstractEventLoop:
        """The event loop, which begins if it does not run yet."""
        with self._lock:
            if self._last_steps.done():
                raise ClientClosed
            if self._events is None:
                opened: Future[asyncio.AbstractEventLoop] = Future()
                threading.Thread(target=self._loop, args=(opened,), name="rocketwire", daemon=True).start()
                self._events = opened.result()
            return self._events

    def _loop(self, opened: Future[asyncio.AbstractEventLoop]) -> None:
        try:
            asyncio.run(self._main(opened))
        except BaseException as error:  # noqa: BLE001 - `close` raises it
            (self._ended if opened.done() else opened).set_exception(error)
        else:
            self._ended.set_result(None)

    async def _main(self, opened: Future[asyncio.AbstractEventLoop]) -> None:
        await self._runner.open()
        opened.set_result(asyncio.get_running_loop())
        await self._runner.close(await asyncio.wrap_future(self._last_steps))
