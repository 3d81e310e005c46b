"""Requests of the server's own that wait for a client's answer.

Answers are matched by opaque; one that matches no waiting request is dropped, as in Apache. One task a connection
watches the deadlines, and runs only while something waits: its scope's deadline is the earliest of all.
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

import trio

from rocketwire.remoting.core.session import Response
from rocketwire.remoting.core.steps import Operation
from rocketwire.server.core.request import OnClientAnswer
from rocketwire.server.net.admission.in_flight import InFlight

log = logging.getLogger(__name__)

LIMIT: Final = 1024
LIMIT_BYTES: Final = 16 * 1024 * 1024


class _Call(NamedTuple):
    deadline: float
    size: int
    done: OnClientAnswer


class ClientCalls:
    """The waiting requests of one connection: at most `LIMIT`, or `LIMIT_BYTES` in all.

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
        """Whether the limit of waiting requests or bytes is reached."""
        return len(self._waiting) >= LIMIT or self.size >= LIMIT_BYTES

    def add(self, opaque: int, *, size: int, seconds: float, done: OnClientAnswer) -> None:
        """Wait for the answer with that opaque; until then `size` bytes, which the caller may keep, are in flight."""
        deadline = trio.current_time() + seconds
        self._waiting[opaque] = _Call(deadline, size, done)
        self.size += size
        self._in_flight.add(size)
        if self._timer is None:
            self._timer = trio.CancelScope(deadline=deadline)
            self._nursery.start_soon(self._watch)
        else:
            self._timer.deadline = min(self._timer.deadline, deadline)

    def match_answer(self, opaque: int, answer: Response) -> Operation[None] | None:
        """Pass an answer to the request that waits for it, if any; return further work if that may take long."""
        return self._finish(opaque, answer)

    def close(self) -> None:
        """Cancel all waiting requests."""
        if self._timer is not None:
            self._timer.cancel()
        for opaque in list(self._waiting):
            self._finish(opaque, None)

    async def _watch(self) -> None:
        """Cancel each request at its deadline, until none waits."""
        while self._waiting:
            deadline = min(call.deadline for call in self._waiting.values())
            with trio.CancelScope(deadline=deadline) as self._timer:
                await trio.sleep_forever()
            now = trio.current_time()
            for opaque in [opaque for opaque, call in self._waiting.items() if call.deadline <= now]:
                self._finish(opaque, None)
                await trio.lowlevel.checkpoint()  # cancelling may be work, such as storing a reply: let other tasks run
        self._timer = None

    def _finish(self, opaque: int, answer: Response | None) -> Operation[None] | None:
        """Complete a waiting request, unless that was done: completing others may have closed the connection."""
        call = self._waiting.pop(opaque, None)
        if call is None:
            return None
        self.size -= call.size
        self._in_flight.add(-call.size)
        try:
            return call.done(answer)
        except Exception:  # a bug in handling one answer must not end the connection that brought it
            log.exception("answer of a client")
            return None
