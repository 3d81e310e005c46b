"""The connection of a request, as dispatch sees it: a session of remoting frames, or a connection of gRPC calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.core.request import Reply
from rocketwire.wire.header import Header


class Caller(Protocol):
    """A connection whose requests are served."""

    @property
    def remote_text(self) -> str:
        """``host:port`` of the other end."""

    @property
    def pauses(self) -> bool:
        """Whether the rest of this read's requests must wait."""

    def request_yield(self) -> None:
        """Let other tasks run before the rest of this read is handled: the last request took long."""

    def answer(self, request: Header, serialize_type: int, reply: Reply) -> None:
        """Answer a request."""

    def flush(self) -> None:
        """Send what is written."""

    def run_long_request(self, task: Callable[[], Awaitable[None]], size: int) -> None:
        """Carry out a long request of `size` bytes."""

    def limited(self, error: LimitExceeded) -> None:
        """Count that a limit refused a request of this client."""


class GrpcCaller(Caller, Protocol):
    """A connection of gRPC calls."""

    def intercept(self, request: Header, take: Callable[[Reply], None]) -> None:
        """Pass the reply to one request to `take` instead of its call."""

    def abort(self, request: Header) -> None:
        """End the call of a request without an answer."""

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it."""

    def close(self) -> None:
        """Close the connection."""
