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
    """Requests by opaque, each with its call and its place among the requests that the call asked together."""

    __slots__ = ("_asked", "_diverted", "_late", "_opaques")

    def __init__(self) -> None:
        self._opaques = count(1)
        self._asked: dict[int, tuple[Call, int]] = {}
        self._diverted: dict[int, Callable[[Reply], None]] = {}
        self._late: deque[int] = deque()

    def next_opaque(self) -> int:
        """A number for a request that no waiting one has."""
        return next(self._opaques) & INT32_MAX

    def add(self, call: Call, requests: Sequence[Request[Any]]) -> None:
        """Remember the requests of a call's step."""
        asked = self._asked
        for index, request in enumerate(requests):
            asked[request.header.opaque] = (call, index)
        call.asked = requests

    def intercept(self, opaque: int, take: Callable[[Reply], None]) -> None:
        """Pass the next reply to a request to `take`; the request goes on waiting for another one."""
        self._diverted[opaque] = take

    def take_call(self, opaque: int, reply: Reply) -> tuple[Call, int] | None:
        """The request's call and place, which are forgotten; None if the reply is diverted, or nobody waits for it."""
        asked = self._asked.get(opaque)
        if asked is None:
            return None
        if self._diverted and opaque in self._diverted:
            self._diverted.pop(opaque)(reply)
            return None
        del self._asked[opaque]
        return asked

    def forget(self, opaque: int) -> Call | None:
        """Forget a request; return its call."""
        asked = self._asked.pop(opaque, None)
        return None if asked is None else asked[0]

    def stream_calls(self) -> set[Call]:
        """The calls that wait and were made for messages of streams."""
        return {call for call, _ in self._asked.values() if call.done is not None}

    def forget_later(self, call: Call) -> None:
        """Forget, in time, the requests of a call that is over.

        Replies may come still, of requests that a flush or long work holds up; to others never.
        """
        asked, call.asked = call.asked, ()  # a cycle, see `Call.replied`
        for request in asked:
            if request.header.opaque in self._asked:
                self._late.append(request.header.opaque)
        while len(self._late) > _MOST_LATE:
            self._asked.pop(self._late.popleft(), None)
