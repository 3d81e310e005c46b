"""The requests of a connection's calls that wait for their replies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from rocketwire.server.core.request import Reply, Request
from rocketwire.server.grpc.calls import Call
from rocketwire.wire.java import INT32_MAX

_MOST_LATE: Final = 256
"""How many requests of cancelled calls may be replied to late."""


class PendingRequests:
    """Requests by opaque, each with its call and its place among the requests of the call's step."""

    __slots__ = ("_intercepts", "_late", "_opaques", "_pending")

    def __init__(self) -> None:
        self._opaques = count(1)
        self._pending: dict[int, tuple[Call, int]] = {}
        self._intercepts: dict[int, Callable[[Reply], None]] = {}
        self._late: deque[int] = deque()

    def next_opaque(self) -> int:
        """A number for a request that no waiting one has."""
        return next(self._opaques) & INT32_MAX

    def add(self, call: Call, requests: Sequence[Request[Any]]) -> None:
        """Remember the requests of a call's step."""
        for index, request in enumerate(requests):
            self._pending[request.header.opaque] = (call, index)
        call.requests = requests

    def intercept(self, opaque: int, take: Callable[[Reply], None]) -> None:
        """Pass the next reply to a request to `take`; the request waits for another one."""
        self._intercepts[opaque] = take

    def take_call(self, opaque: int, reply: Reply) -> tuple[Call, int] | None:
        """The request's call and place, which are forgotten; None: it is intercepted, or no call waits."""
        found = self._pending.get(opaque)
        if found is None:
            return None
        if self._intercepts and opaque in self._intercepts:
            self._intercepts.pop(opaque)(reply)
            return None
        del self._pending[opaque]
        return found

    def forget(self, opaque: int) -> Call | None:
        """Forget a request; return its call."""
        found = self._pending.pop(opaque, None)
        return None if found is None else found[0]

    def stream_calls(self) -> set[Call]:
        """The calls that wait and were made for messages of streams."""
        return {call for call, _ in self._pending.values() if call.done is not None}

    def forget_later(self, call: Call) -> None:
        """Forget, in time, the requests of a call that is over.

        Replies may come still, of requests that a flush or long work delays; to others never.
        """
        requests, call.requests = call.requests, ()  # a cycle, see `Call.take_reply`
        for request in requests:
            if request.header.opaque in self._pending:
                self._late.append(request.header.opaque)
        while len(self._late) > _MOST_LATE:
            self._pending.pop(self._late.popleft(), None)
