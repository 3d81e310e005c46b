"""Calls that ended before their answers were sent: what each of them took is given back, some of them at a time.

A client that disconnects, or cancels hundreds of receives, causes thousands of requests. They are served in steps of
2 ms, over all connections together, so that no other request waits for them.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

import trio

from rocketwire.server.grpc.calls import Call

_STEP_SECONDS: Final = 0.002


class CancelTarget(Protocol):
    """The connection of a call."""

    def cancel_now(self, call: Call) -> None:
        """Drop the requests of a call that wait, and give back what it took. It must not fail."""


class CancelQueue:
    """The calls that are to be cancelled; `run` does it. While that does not run, each is cancelled at once."""

    def __init__(self) -> None:
        self._calls: deque[tuple[CancelTarget, Call]] = deque()
        self._some = trio.Event()
        self._runs = False

    def add(self, connection: CancelTarget, call: Call) -> None:
        """Cancel a call soon."""
        if self._runs:
            self._calls.append((connection, call))
            self._some.set()
        else:
            connection.cancel_now(call)

    async def run(self) -> None:
        """Cancel calls; never returns."""
        self._runs = True
        try:
            while True:
                await self._some.wait()
                self._some = trio.Event()
                while self._calls:
                    self._step(trio.current_time() + _STEP_SECONDS)
                    await trio.lowlevel.checkpoint()
        finally:
            self._runs = False
            while self._calls:
                self._cancel_next()

    def _step(self, until: float) -> None:
        while self._calls and trio.current_time() < until:
            self._cancel_next()

    def _cancel_next(self) -> None:
        connection, call = self._calls.popleft()
        connection.cancel_now(call)
