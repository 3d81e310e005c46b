"""What happens on a gRPC connection, and the interface of both implementations."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeAlias

CALL: Final = 0
"""`(CALL, stream, path, headers, payload)`: a whole request with one message, which the client has ended."""
OPENED: Final = 1
"""`(OPENED, stream, path, headers)`: a request with a stream of messages has begun."""
MESSAGE: Final = 2
"""`(MESSAGE, stream, payload)`: a message of such a request."""
ENDED: Final = 3
"""`(ENDED, stream)`: such a request has no further message; its answer may continue."""
RESET: Final = 4
"""`(RESET, stream, code)`: a call is over that is not answered, or whose answer has messages that `output` has not
returned; `code` is HTTP/2's. Its client cancelled it, or broke a rule."""
FAILED: Final = 5
"""`(FAILED, code, text)`: the connection is of no use any more: write what `output` has, then close it. The last event.
`code` is HTTP/2's: `NO_ERROR` if the client has left, otherwise the rule that it broke."""
TOO_LONG: Final = 6
"""`(TOO_LONG, stream, length)`: a message of a request is longer than allowed; the call is answered already."""

Event: TypeAlias = tuple[Any, ...]
"""The kind, the stream, and what the kind has besides. `headers` maps names to values; names repeated are joined by
commas. It has `:authority`, and no other pseudo-header."""

NO_ERROR: Final = 0
PROTOCOL_ERROR: Final = 1
INTERNAL_ERROR: Final = 2
FLOW_CONTROL_ERROR: Final = 3
STREAM_CLOSED: Final = 5
FRAME_SIZE_ERROR: Final = 6
REFUSED_STREAM: Final = 7
COMPRESSION_ERROR: Final = 9
ENHANCE_YOUR_CALM: Final = 11

OK: Final = 0
RESOURCE_EXHAUSTED: Final = 8
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13

STREAM_WINDOW: Final = 65_535
"""What a client may send of a request, in bytes, before its window is enlarged: HTTP/2's own default."""


class Http2(Protocol):
    """The server's side of one HTTP/2 connection that carries gRPC calls.

    It answers without the server what is no call: other methods than POST with HTTP's 405, other content types than
    gRPC's with 415, messages that are compressed, too long or incomplete with a gRPC status. Answers to calls that are
    over are dropped without an error, for a client may cancel one at any time.

    Args (of the implementations, all by keyword):
        streaming: The paths whose requests are streams of messages.
        max_message: How long a message of a request may be, in bytes, without its prefix of 5.
        longest: The same of single methods, by path; `max_message` holds for the others.
        max_header_list: How large the headers of a request may be, in bytes, as SETTINGS_MAX_HEADER_LIST_SIZE counts
            them. A client that sends more loses its connection.
        max_streams: How many calls may be open at once; more are refused, and those whose headers would be more than
            `window` bytes together: compressed, they cost their client next to nothing.
        window: How much data may be on its way on the connection, in bytes. Long messages are let in as long as they
            are no more than that together, and at least one. Unfinished requests hold four times as much at most: then
            the last of them is answered with RESOURCE_EXHAUSTED.
        stream_window: As much a client may send of a request before the server has let it in, in bytes.
    """

    @property
    def waiting(self) -> int:
        """Bytes of messages to the client that `output` has not returned yet."""
        ...

    @property
    def held(self) -> int:
        """Bytes of requests that are not whole yet."""
        ...

    @property
    def heads(self) -> int:
        """Bytes of the headers of calls whose answer is not finished."""
        ...

    @property
    def streams(self) -> int:
        """Calls whose answer is not finished."""
        ...

    def receive(self, data: bytes | bytearray | memoryview) -> list[Event]:
        """Take the bytes of a read, in whatever pieces they come, and return what happened, in order."""
        ...

    def unary(self, stream: int, payload: bytes) -> None:
        """Answer a call with one message and status OK."""
        ...

    def unary_each(self, answers: list[tuple[int, bytes]]) -> None:
        """Answer calls as `unary` does, each a stream and its message."""
        ...

    def answer(self, stream: int, payloads: list[bytes]) -> None:
        """Answer a call with these messages and status OK."""
        ...

    def message(self, stream: int, payload: bytes) -> None:
        """Send one message of an answer that has several."""
        ...

    def finish(self, stream: int, status: int, text: str = "") -> None:
        """End an answer with a gRPC status."""
        ...

    def reset(self, stream: int, code: int) -> None:
        """End a call whose answer is not finished; `code` is HTTP/2's."""
        ...

    def goaway(self, code: int = NO_ERROR) -> None:
        """Request that the client use another connection. Calls that have come are served; new ones are ignored."""
        ...

    def output(self, most: int) -> bytes:
        """The next bytes to write, `most` at most; none if there are none, or if the client's windows are used up."""
        ...
