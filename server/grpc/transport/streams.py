"""Streams of messages in both directions: telemetry and reflection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from google.protobuf.message import Message

from rocketwire.server.core.errors import ServerError
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.grpc.statuses import status_of_error
from rocketwire.server.grpc.transport.request_bounds import RequestMalformed
from rocketwire.wire.grpc.codes import Code, GrpcStatus, stream_status

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import GrpcConnection
    from rocketwire.server.grpc.transport.context import GrpcContext


class StreamListener(Protocol):
    """What is done with a client's messages."""

    def received(self, payload: bytes) -> None:
        """Take a message."""

    def leaving(self) -> None:
        """The server is about to close the connection; what is sent now may still arrive."""

    def closed(self) -> None:
        """The stream is over; called once."""


StreamFactory: TypeAlias = "Callable[[MessageStream], StreamListener]"
"""Makes the server's end of a stream that a client opens."""


class MessageStream:
    """One stream.

    Attributes:
        connection: Its connection.
        path: The method.
        headers: What the client sent when it opened it.
        over: Whether nothing can be sent any more.
    """

    __slots__ = ("_listening", "connection", "headers", "is_over", "number", "path")

    def __init__(self, connection: GrpcConnection, number: int, path: str, headers: Mapping[str, str]) -> None:
        self.connection = connection
        self.path = path
        self.headers = headers
        self.number = number
        self.is_over = False
        self._listening: StreamListener | None = None  # it is refused

    def set_listener(self, streaming: StreamFactory) -> None:
        """Set what is done with its messages."""
        self._listening = streaming(self)

    def received(self, payload: bytes) -> None:
        """Take a message of the client."""
        if not self.is_over and self._listening is not None:
            self._listening.received(payload)

    def send(self, message: Message) -> None:
        """Write a message; `GrpcConnection.flush` sends it. Nothing happens when the stream is over."""
        if not self.is_over:
            self.connection.http2.message(self.number, message.SerializeToString())

    def finish(self, status: int = 0, text: str = "") -> None:
        """End the stream with a status of gRPC."""
        if not self.is_over:
            self.connection.http2.finish(self.number, status, text)
            self.connection.forget(self.number)
            self.close()

    def refuse(self, error: ServerError) -> None:
        """End the stream because of an error."""
        if isinstance(error, LimitExceeded):
            self.connection.limited(error)
        status = status_of_error(error)
        self.finish(stream_status(Code(status.code)), status.message)

    def leaving(self) -> None:
        """The server is about to close the connection."""
        if not self.is_over and self._listening is not None:
            self._listening.leaving()

    def ended(self) -> None:
        """The client has sent its last message."""
        self.finish()

    def close(self) -> None:
        """The stream is over."""
        if not self.is_over:
            self.is_over = True
            listening, self._listening = self._listening, None  # a cycle, which only the collector would find
            if listening is not None:
                listening.closed()


class MessageStreams:
    """The streams of one connection."""

    __slots__ = ("_connection", "_serving", "_streams")

    def __init__(self, connection: GrpcConnection, serving: GrpcContext) -> None:
        self._connection = connection
        self._serving = serving
        self._streams: dict[int, MessageStream] = {}

    def open(self, number: int, path: str, headers: Mapping[str, str]) -> None:
        """Take a stream, if an account has opened it."""
        stream = self._streams[number] = MessageStream(self._connection, number, path, headers)
        try:
            self._serving.identify_caller(path, headers, self._connection.remote_text)
        except ServerError as error:
            stream.refuse(error)
        else:
            stream.set_listener(self._serving.streams[path])

    def message(self, number: int, payload: bytes) -> None:
        """Pass on a message of a stream, if it is not too large, and an account sends it."""
        stream = self._streams.get(number)
        if stream is None:
            return
        try:
            self._serving.identify_caller(stream.path, stream.headers, self._connection.remote_text)
            self._serving.bounds.check(stream.path, payload)
        except RequestMalformed as error:
            stream.finish(GrpcStatus.INTERNAL, f"the request cannot be parsed: {error}")
        except ServerError as error:
            stream.refuse(error)
        else:
            stream.received(payload)

    def ended(self, number: int) -> None:
        """The client has sent the last message of a stream."""
        stream = self._streams.get(number)
        if stream is not None:
            stream.ended()

    def reset(self, number: int) -> None:
        """The client cancels a stream."""
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.close()

    def forget(self, number: int) -> None:
        """Forget a stream that this end has finished."""
        self._streams.pop(number, None)

    def leaving(self) -> None:
        """The server is about to close the connection."""
        for stream in self._streams.values():
            stream.leaving()

    def close(self) -> None:
        """All streams are over."""
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.close()
