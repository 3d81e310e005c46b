"""An event loop in a separate thread, for checks that need one: the fuzzer calls them from outside of it."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import trio
import trio.testing

_Outcome = tuple[Any, BaseException | None]


class Loop:
    """Runs async functions one after the other in one task, on a clock that stands still unless it is moved."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._done: SimpleQueue[_Outcome] = SimpleQueue()

    def run(self, function: Callable[..., Awaitable[Any]], *args: Any) -> Any:
        """What the function returns or raises."""
        self._send((function, args, self._done.put))
        result, error = self._done.get()
        if error is not None:
            raise error
        return result


@contextmanager
def running() -> Iterator[Loop]:
    """A loop until the block ends."""
    started: SimpleQueue[Loop] = SimpleQueue()

    def send_from_outside(token: trio.lowlevel.TrioToken, send: Callable[[Any], None]) -> Callable[[Any], None]:
        return lambda requested: token.run_sync_soon(send, requested)

    async def main() -> None:
        send, receive = trio.open_memory_channel[Any](1)
        started.put(Loop(send_from_outside(trio.lowlevel.current_trio_token(), send.send_nowait)))
        with send, receive:
            async for requested in receive:
                if requested is None:
                    break
                await _answer(*requested)

    thread = threading.Thread(target=lambda: trio.run(main, clock=trio.testing.MockClock()), daemon=True)
    thread.start()
    loop = started.get()
    try:
        yield loop
    finally:
        loop._send(None)
        thread.join()


async def _answer(function: Callable[..., Awaitable[Any]], args: Any, done: Callable[[_Outcome], None]) -> None:
    try:
        result = await function(*args)
    except Exception as error:  # noqa: BLE001 - whatever it is, the calling thread gets it
        done((None, error))
    except BaseException as error:
        done((None, RuntimeError(f"the loop ends: {error!r}")))
        raise
    else:
        done((result, None))
