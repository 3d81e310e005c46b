"""Requests of the server's own that wait for a client's answer.

Answers are matched by opaque; one to a request nobody made, or that was given up, is dropped, as Apache does. One task
a connection watches the time, and lives only while something waits: its scope's deadline is the earliest of the calls'.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import trio

from rocketwire.server.core.request import Answer
from rocketwire.server.core.works import Steps
from rocketwire.server.net.in_flight import InFlight

log = logging.getLogger(__name__)

LIMIT: Final = 1024
LIMIT_BYTES: Final = 16 * 1024 * 1024


Done: TypeAlias = Callable[[Answer | None], Steps[None] | None]
"""What is told of an answer, or that there is none; for an answer it gives what is to be done if that may take long."""


class _Call(NamedTuple):
    deadline: float
    size: int
    done: Done


class ClientCalls:
    """The calls that wait on one connection: no more are added when `LIMIT` wait, or `LIMIT_BYTES` in all.

    Attributes:
        size: Bytes of the requests that wait.
    """

    __slots__ = ("_in_flight", "_nursery", "_timer", "_waiting", "size")

    def __init__(self, nursery: trio.Nursery, in_flight: InFlight) -> None:
        self._nursery = nursery
        self._in_flight = in_flight
        self._waiting: dict[int, _Call] = {}
        self.size = 0
        self._timer: trio.CancelScope | None = None

    @property
    def full(self) -> bool:
        """Whether so many wait, or such large ones, that none may be added."""
        return len(self._waiting) >= LIMIT or self.size >= LIMIT_BYTES

    def add(self, opaque: int, *, size: int, seconds: float, done: Done) -> None:
        """Wait for the answer with that opaque to a request of `size` bytes: who asked may keep as many until then."""
        deadline = trio.current_time() + seconds
        self._waiting[opaque] = _Call(deadline, size, done)
        self.size += size
        self._in_flight.add(size)
        if self._timer is None:
            self._timer = trio.CancelScope(deadline=deadline)
            self._nursery.start_soon(self._watch)
        else:
            self._timer.deadline = min(self._timer.deadline, deadline)

    def answered(self, opaque: int, answer: Answer) -> Steps[None] | None:
        """Hand an answer to the call that waits for it, if one does; give what is to be done if that may take long."""
        return self._finish(opaque, answer)

    def close(self) -> None:
        """Give up all calls."""
        if self._timer is not None:
            self._timer.cancel()
        for opaque in list(self._waiting):
            self._finish(opaque, None)

    async def _watch(self) -> None:
        """Give up each call at its time, until none waits."""
        while self._waiting:
            deadline = min(call.deadline for call in self._waiting.values())
            with trio.CancelScope(deadline=deadline) as self._timer:
                await trio.sleep_forever()
            now = trio.current_time()
            for opaque in [opaque for opaque, call in self._waiting.items() if call.deadline <= now]:
                self._finish(opaque, None)
                await trio.lowlevel.checkpoint()  # what becomes of it may be work, as storing a reply: others' turn
        self._timer = None

    def _finish(self, opaque: int, answer: Answer | None) -> Steps[None] | None:
        """Tell a call of its answer, unless it was told already: others' ends may even have closed the connection."""
        call = self._waiting.pop(opaque, None)
        if call is None:
            return None
        self.size -= call.size
        self._in_flight.add(-call.size)
        try:
            return call.done(answer)
        except Exception:  # a bug in what waits for one answer must not end the connection that brought it
            log.exception("answer of a client")
            return None
