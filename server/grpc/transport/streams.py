"""Streams of messages in both directions: telemetry and reflection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from google.protobuf.message import Message

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import Connection
    from rocketwire.wire.http2.events import Http2


class Listening(Protocol):
    """What is done with a client's messages."""

    def received(self, payload: bytes) -> None:
        """Take a message."""

    def leaving(self) -> None:
        """The server is about to close the connection; what is sent now may still arrive."""

    def closed(self) -> None:
        """The stream is over; called once."""


Streaming: TypeAlias = "Callable[[Stream], Listening]"
"""Makes the server's end of a stream that a client opens."""


class Stream:
    """One stream.

    Attributes:
        connection: Its connection.
        headers: What the client said when it opened it.
        over: Whether nothing can be sent any more.
    """

    __slots__ = ("_http2", "_listening", "connection", "headers", "number", "over")

    def __init__(self, connection: Connection, number: int, headers: Mapping[str, str], http2: Http2) -> None:
        self.connection = connection
        self.headers = headers
        self.number = number
        self._http2 = http2
        self.over = False
        self._listening: Listening

    def begin(self, streaming: Streaming) -> None:
        """Say what is done with its messages."""
        self._listening = streaming(self)

    def received(self, payload: bytes) -> None:
        """Take a message of the client."""
        if not self.over:
            self._listening.received(payload)

    def send(self, message: Message) -> None:
        """Write a message; `Connection.flush` sends it. Nothing happens when the stream is over."""
        if not self.over:
            self._http2.message(self.number, message.SerializeToString())

    def finish(self, status: int = 0, text: str = "") -> None:
        """End the stream with a status of gRPC."""
        if not self.over:
            self._http2.finish(self.number, status, text)
            self.connection.forget(self.number)
            self.close()

    def leaving(self) -> None:
        """The server is about to close the connection."""
        if not self.over:
            self._listening.leaving()

    def ended(self) -> None:
        """The client has sent its last message."""
        self.finish()

    def close(self) -> None:
        """The stream is over."""
        if not self.over:
            self.over = True
            self._listening.closed()
