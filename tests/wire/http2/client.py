"""A gRPC client on h2, joined to a server's connection in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from h2 import events as h2_events
from h2.config import H2Configuration
from h2.connection import H2Connection
from hyperframe.frame import Frame, SettingsFrame

from rocketwire.wire.http2.events import CALL, Event, Http2
from rocketwire.wire.http2.messages import add_prefix

Make = Callable[..., Http2]

PATH: Final = "/apache.rocketmq.v2.MessagingService/SendMessage"
STREAM: Final = "/apache.rocketmq.v2.MessagingService/Telemetry"
KIB: Final = 1024
LIMITS: Final[dict[str, Any]] = {
    "streaming": frozenset({STREAM}),
    "max_message": 4096 * KIB,
    "max_header_list": 16 * KIB,
    "max_streams": 10_000,
    "window": 16 * 1024 * KIB,
}
METADATA: Final = (
    ("x-mq-client-id", "host@1@0@abc"),
    ("x-mq-language", "JAVA"),
    ("x-mq-client-version", "5.2.0"),
    ("x-mq-protocol", "v2"),
    ("x-mq-namespace", ""),
)
FIELDS: Final = {"content-type": "application/grpc", "te": "trailers", ":authority": "127.0.0.1:8081", **dict(METADATA)}
"""What an event has of the headers of `request`."""
PROTOCOL_ERROR, FLOW_CONTROL_ERROR, REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 1, 3, 7, 8, 11
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SettingsFrame(0).serialize()
Headers = Sequence[tuple[str | bytes, str | bytes]]


def request(path: str = PATH, method: str = "POST", content_type: str = "application/grpc", *more: Any) -> list[Any]:
    """The headers of a call."""
    return [
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "127.0.0.1:8081"),
        ("content-type", content_type),
        ("te", "trailers"),
        *METADATA,
        *more,
    ]


class Answer(NamedTuple):
    """What a client got for a call; `reset`: HTTP/2's code, None while the stream was not reset."""

    headers: dict[str, str]
    data: bytes
    trailers: dict[str, str]
    ended: bool
    reset: int | None

    @property
    def status(self) -> tuple[str | None, str | None]:
        found = self.trailers or self.headers
        return found.get("grpc-status"), found.get("grpc-message")


class Client:
    """Both ends: `turn` carries bytes there and back until none remain.

    Attributes:
        events: The events of the server's connection.
        said: The events of h2 at the client, but for what `answer` has.
    """

    def __init__(self, make: Make, *, opens_windows: bool = True, **limits: Any) -> None:
        self.server = make(**{**LIMITS, **limits})
        config = H2Configuration(client_side=True, validate_outbound_headers=False, normalize_outbound_headers=False)
        self.h2 = H2Connection(config)
        self.opens_windows = opens_windows
        self.events: list[Event] = []
        self.said: list[h2_events.Event] = []
        self.most_held = 0
        self.pending: dict[int, bytes] = {}  # data that the windows did not allow yet
        self._answers: dict[int, list[Any]] = {}
        self.h2.initiate_connection()
        self.turn()

    def turn(self) -> list[Event]:
        """Everything that is to send, both ways, until nothing moves; the server's new events."""
        known = len(self.events)
        moved = True
        while moved:
            moved = self.send_pending()
            data = self.h2.data_to_send()
            if data:
                self.give(data)
            moved = self.take() or bool(data) or moved
        return self.events[known:]

    def give(self, data: bytes) -> list[Event]:
        """Bytes to the server, as one read."""
        events = self.server.receive(data)
        self.events += events
        self.most_held = max(self.most_held, self.server.held)
        return events

    def take(self, most: int = 1 << 16) -> bool:
        """Take what the server has to send now; whether there was anything."""
        data = self.server.output(most)
        assert len(data) <= most
        for event in self.h2.receive_data(data):
            self._note(event)
        return bool(data)

    def _note(self, event: h2_events.Event) -> None:
        if isinstance(event, h2_events.ConnectionTerminated | h2_events.PingAckReceived | h2_events.PingReceived):
            self.said.append(event)
        stream = getattr(event, "stream_id", None)
        if not stream:
            return
        answer = self._answers.setdefault(stream, [{}, bytearray(), {}, False, None])
        if isinstance(event, h2_events.ResponseReceived):
            answer[0] = _texts(event.headers)
        elif isinstance(event, h2_events.TrailersReceived):
            answer[2] = _texts(event.headers)
        elif isinstance(event, h2_events.DataReceived):
            answer[1] += event.data
            if self.opens_windows:
                self.h2.acknowledge_received_data(event.flow_controlled_length, stream)
        elif isinstance(event, h2_events.StreamEnded):
            answer[3] = True
        elif isinstance(event, h2_events.StreamReset):
            self.pending.pop(stream, None)
            answer[4] = int(event.error_code)

    def open(self, headers: Headers | None = None, *, end: bool = False) -> int:
        """A new call, without data; its stream."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, request() if headers is None else headers, end_stream=end)
        return stream

    def call(self, payload: bytes = b"ping", headers: Headers | None = None) -> int:
        """A whole unary call; its stream. What the windows do not allow is sent in later turns."""
        stream = self.open(headers)
        self.pending[stream] = add_prefix(payload)
        self.send_pending()
        return stream

    def send_pending(self) -> bool:
        """Send 16 KiB of each request, one after the other, as the windows allow."""
        moved = False
        for stream, data in list(self.pending.items()):
            room = min(self.h2.local_flow_control_window(stream), 16 * KIB)
            if room <= 0:
                continue
            self.h2.send_data(stream, data[:room], end_stream=len(data) <= room)
            self.pending[stream] = data[room:]
            if len(data) <= room:
                del self.pending[stream]
            moved = True
        return moved

    def raw(self, *frames: Frame | bytes) -> list[Event]:
        """Frames of any kind, as one read; then a turn."""
        known = len(self.events)
        self.give(b"".join(frame if isinstance(frame, bytes) else frame.serialize() for frame in frames))
        self.turn()
        return self.events[known:]

    def answer(self, stream: int) -> Answer:
        """What has come for a call."""
        headers, data, trailers, ended, reset = self._answers.get(stream, ({}, b"", {}, False, None))
        return Answer(headers, bytes(data), trailers, ended, reset)

    def echo(self, events: Sequence[Event]) -> None:
        """Answer calls with their own payload."""
        for event in events:
            if event[0] == CALL:
                self.server.unary(event[1], event[4])
        self.turn()

    @property
    def kinds(self) -> list[int]:
        """The kinds of the server's events."""
        return [event[0] for event in self.events]

    @property
    def goaway(self) -> int | None:
        """The code of the server's GOAWAY; None: none came."""
        codes = [int(event.error_code or 0) for event in self.said if isinstance(event, h2_events.ConnectionTerminated)]
        return codes[-1] if codes else None


def _texts(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}
