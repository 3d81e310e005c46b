"""The open calls of a connection: how they begin, and how they end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rocketwire.wire.http2 import events as happened
from rocketwire.wire.http2 import frames as f
from rocketwire.wire.http2.answers import CONTENT_TYPE, Answers
from rocketwire.wire.http2.call import Call
from rocketwire.wire.http2.events import PROTOCOL_ERROR, REFUSED_STREAM, STREAM_CLOSED
from rocketwire.wire.http2.guard import FrameGuard, Http2Violation
from rocketwire.wire.http2.header_blocks import Headers, Run
from rocketwire.wire.http2.reading import Reading
from rocketwire.wire.http2.requests import HeadersMalformed, check_header, content_length, read_head
from rocketwire.wire.http2.streams import How, Streams

_POST: Final = "POST"


class Calls:
    """All calls whose answer is not finished; the arguments are those of `Http2`.

    Attributes:
        open: Those calls, by stream.
        streams: All other streams.
        answers: Sends their answers.
        reading: Reads their requests.
        heads: Bytes of their headers.
        client_window: The window of each new stream's answer, in bytes.
        last: The last stream that is served; None: there is none so far.
    """

    __slots__ = (
        "_guard",
        "_longest",
        "_max_message",
        "_most",
        "_stream_window",
        "_streaming",
        "_window",
        "answers",
        "client_window",
        "heads",
        "last",
        "open",
        "reading",
        "streams",
    )

    def __init__(
        self,
        guard: FrameGuard,
        *,
        streaming: frozenset[str],
        max_message: int,
        longest: Mapping[str, int],
        max_streams: int,
        window: int,
        stream_window: int,
    ) -> None:
        """`guard` is told of streams that the client made this side reset."""
        self._guard = guard
        self._streaming = streaming
        self._max_message = max_message
        self._longest = longest
        self._most = max_streams
        self._window = window
        self._stream_window = stream_window
        self.answers = Answers(self._answered)
        self.reading = Reading(self.answers, window=window, stream_window=stream_window)
        self.streams = Streams()
        self.open: dict[int, Call] = {}
        self.heads = 0
        self.client_window = happened.STREAM_WINDOW
        self.last: int | None = None

    # --- how they begin

    def headers(self, stream: int, run: Run | None, headers: Headers, size: int) -> Call | None:
        """Take the headers of a stream that is not open; the call, if they begin one.

        Raises:
            Violation: the stream cannot begin.
        """
        streams = self.streams
        if stream <= streams.last:
            self._late_headers(stream)
            return None
        streams.begin(stream)
        if self.last is not None:
            streams.reset(stream, How.RESET_HERE)  # its client learns it from the GOAWAY
            return None
        if len(self.open) >= self._most or self.heads + size > self._window:
            self._refuse(stream, REFUSED_STREAM)
            return None
        try:
            return self._begin(stream, run, headers, size)
        except HeadersMalformed:
            self._refuse(stream, PROTOCOL_ERROR)
            return None

    def _begin(self, stream: int, run: Run | None, headers: Headers, size: int) -> Call:
        head = read_head(run, headers)
        length = head.fields.get("content-length")
        expected = None if length is None else content_length(length)
        streaming = head.path in self._streaming
        longest = self._longest.get(head.path, self._max_message)
        call = Call(
            stream,
            head,
            streaming=streaming,
            longest=longest,
            room=self._stream_window,
            window=self.client_window,
        )
        call.expected = expected
        call.head = size
        self.heads += size
        self.open[stream] = call
        if head.method != _POST:
            self.answers.finish_http(call, ((":status", "405"), ("allow", _POST)))
        elif not head.fields.get("content-type", "").startswith(CONTENT_TYPE):
            self.answers.finish_http(call, ((":status", "415"),))
        elif streaming:
            self.reading.events.append((happened.OPENED, stream, head.path, head.fields))
        return call

    def _refuse(self, stream: int, code: int) -> None:
        """Reset a stream that is no call."""
        self.reset(stream, code)
        self._guard.charge_reset()

    def trailers(self, call: Call, headers: Headers, *, ended: bool) -> None:
        """Take further headers of a call.

        Raises:
            Violation: they do not end it.
        """
        if call.ended:
            self.stream_error(call, STREAM_CLOSED)
            return
        if not ended:
            raise Http2Violation(PROTOCOL_ERROR, "trailers without an end")
        try:
            for name, value in headers:
                check_header(name, value)
        except HeadersMalformed:
            self.reset(call.stream, PROTOCOL_ERROR)
            self.broken(call, PROTOCOL_ERROR)

    # --- frames of streams that are not open

    def _late_headers(self, stream: int) -> None:
        how = self.streams.how(stream)
        if how is How.SKIPPED:
            raise Http2Violation(PROTOCOL_ERROR, f"stream {stream} begins after a later one")
        if how is How.ENDED:
            raise Http2Violation(STREAM_CLOSED, f"headers of stream {stream}, which is over")
        self._guard.charge_reset()
        if how is How.RESET_THERE:  # else they were under way
            self.answers.out += f.rst_stream(stream, STREAM_CLOSED)

    def late_data(self, stream: int) -> None:
        """Data of a stream that is not open.

        Raises:
            Violation: it never was.
        """
        self.require_begun(stream, "data")
        if self.streams.how(stream) is not How.RESET_HERE:  # else it was under way
            self._refuse(stream, STREAM_CLOSED)

    def require_begun(self, stream: int, what: str) -> None:
        """Look whether a stream that is not open was open once.

        Raises:
            Violation: it was not.
        """
        if self.streams.how(stream) is How.IDLE:
            raise Http2Violation(PROTOCOL_ERROR, f"{what} of stream {stream}, which has not begun")

    # --- how they end

    def stream_error(self, call: Call, code: int) -> None:
        """The client broke a rule that concerns this call only."""
        self._guard.charge_reset()
        self.reset(call.stream, code)
        self.broken(call, code)

    def broken(self, call: Call, code: int) -> None:
        """A call is over whose answer has not gone out."""
        undelivered = call.trailers is None or bool(call.out)
        if undelivered and (call.streaming or call.ended):
            self.reading.events.append((happened.RESET, call.stream, code))
        self.forget(call)

    def reset(self, stream: int, code: int) -> None:
        """Tell the client that a stream is over."""
        self.answers.out += f.rst_stream(stream, code)
        self.streams.reset(stream, How.RESET_HERE)

    def _answered(self, call: Call) -> None:
        if not call.ended:
            self.streams.reset(call.stream, How.RESET_HERE)
        self.forget(call)

    def forget(self, call: Call, *, lets_in: bool = True) -> None:
        """A call is over; others may come in, unless the connection is over, too."""
        del self.open[call.stream]
        self.heads -= call.head
        self.answers.drop(call)
        self.reading.drop(call, lets_in=lets_in)
