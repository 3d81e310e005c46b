"""Group commit: callers that wait for an fsync are answered after the next flush that covers their messages.

One flush runs at a time, in a thread; callers that arrive meanwhile wait together for the one after it. Time-outs are
checked independently, so that a disk that hangs delays no answer longer than `timeout`. A flush that could not be
started is tried again: no caller gets an error for it before its time-out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import trio

from rocketwire.store.errors import FlushDelayed, StoreError
from rocketwire.store.event import Event

MAX_WAITING_BYTES: Final = 128 * 1024 * 1024
#: Seconds until a flush that could not be tried is tried again.
_AGAIN: Final = 0.1


class Flushable(Protocol):
    """What group commit needs of a store."""

    @property
    def flushed_offset(self) -> int:
        """Physical offset up to which the log is on the disk."""
        ...

    def flush_to(self, offset: int) -> None:
        """Return once the log up to `offset` is on the disk; blocking."""
        ...


#: Runs a blocking function somewhere and returns when it is done: trio.to_thread.run_sync, or inline in tests.
RunBlocking = Callable[[Callable[[], None]], Awaitable[None]]
Callback = Callable[[bool], None]


class GroupCommit:
    """Callers of one store that wait for a flush.

    Args:
        timeout: Seconds after which a caller gets False because the flush was not done in time.
        most: Bytes of memory that waiting callers may hold.

    Attributes:
        most: See above.
        answered: Called after the callbacks of one flush, or of callers that timed out, were called.
        flushed: Called with the seconds that a flush took.
    """

    def __init__(self, *, timeout: float = 5.0, most: int = MAX_WAITING_BYTES) -> None:
        self._timeout = timeout
        self.max_bytes = most
        self._kept = 0
        #: Waiting callers by number, oldest first: deadline, offset, callback, bytes kept.
        self._waiting: dict[int, tuple[float, int, Callback, int]] = {}
        self._count = 0
        self._work = trio.Event()
        self.on_answered = Event[[]]()
        self.flushed = Event[[float]]()

    def wait_durable(self, offset: int, callback: Callback, *, keeps: int = 0) -> None:
        """Have a callback called: True once the log up to `offset` is on the disk, False if that takes too long.

        The callback holds about `keeps` bytes of memory until then.
        """
        self._waiting[self._count] = (trio.current_time() + self._timeout, offset, callback, keeps)
        self._kept += keeps
        self._count += 1
        self._work.set()

    @property
    def is_full(self) -> bool:
        """Whether waiting callers hold so much memory that no more should come: the disk is too slow, or hangs."""
        return self._kept > self.max_bytes

    @property
    def has_waiters(self) -> bool:
        """Whether any caller waits for a flush."""
        return bool(self._waiting)

    async def run(self, store: Flushable, run_sync: RunBlocking) -> None:
        """Serve until cancelled; callers that still wait then get False."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._expire)
                while True:
                    while not self._waiting:
                        self._work = trio.Event()
                        await self._work.wait()
                    await self._flush_once(store, run_sync)
        finally:
            self._answer(list(self._waiting), durable=False)

    async def _flush_once(self, store: Flushable, run_sync: RunBlocking) -> None:
        target = max(offset for _, offset, _, _ in self._waiting.values())
        delayed = False
        began = trio.current_time()
        # If a sync fails, the store takes no more messages and reports why; no caller gets True.
        with contextlib.suppress(StoreError):
            try:
                await run_sync(lambda: store.flush_to(target))
            except FlushDelayed:
                delayed = True
        self.flushed(trio.current_time() - began)
        self._answer(self._up_to(store.flushed_offset), durable=True)
        if delayed:
            await trio.sleep(_AGAIN)
        else:
            self._answer(self._up_to(target), durable=False)

    def _up_to(self, limit: int) -> list[int]:
        return [number for number, (_, offset, _, _) in self._waiting.items() if offset <= limit]

    def _answer(self, numbers: list[int], *, durable: bool) -> None:
        for number in numbers:
            _, _, callback, keeps = self._waiting.pop(number)
            self._kept -= keeps
            callback(durable)
        if numbers:
            self.on_answered()

    async def _expire(self) -> None:
        while True:
            now = trio.current_time()
            self._answer(
                [number for number, (deadline, _, _, _) in self._waiting.items() if deadline <= now], durable=False
            )
            # Callers that come later have later deadlines, so none is due before this.
            oldest = next(iter(self._waiting.values()), None)
            await trio.sleep_until(oldest[0] if oldest else now + self._timeout)
