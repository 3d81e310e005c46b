"""What a client and a session do with connections, read from bytes: any bytes are a script.

Several connections, of whatever implementation, get the same bytes and answers. `Run.check` compares them: the events,
what is held, and what a client sees. Where one ends the connection the other may not, for h2 and nghttp2 differ in what
they forgive; until then they agree. So they do until the client sends GOAWAY.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hpack import Decoder, Encoder
from hyperframe.frame import DataFrame, Frame, GoAwayFrame, HeadersFrame, RstStreamFrame

from rocketwire.wire.http2.events import CALL, FAILED, OPENED, Event, Http2
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import KIB, PREFACE, STREAM, Make, request

LIMITS: Final = {
    "streaming": frozenset({STREAM}),
    "max_message": 100 * KIB,
    "longest": {STREAM: 50 * KIB},
    "max_header_list": 2 * KIB,
    "max_streams": 5,
    "window": 128 * KIB,
}
OPS: Final = (
    *("frame", "call", "begin", "data", "cancel", "settings", "window", "read", "part", "write"),
    *("unary", "message", "finish", "reset", "goaway"),
)
"""The meaning of the first byte of a step."""
_MOST_OUTPUT: Final = 1 << 20
_END_STREAM, _END_HEADERS = 1, 4
_STATUSES: Final = (0, 5, 13)


def step(op: str, *numbers: int, data: bytes = b"") -> bytes:
    """A step of a script."""
    return bytes([OPS.index(op), *numbers]) + data


def scripts() -> Iterator[bytes]:
    """Some that are sound."""
    for answer in (step("unary", 0, 3), step("finish", 0, 1), step("reset", 0, 8)):
        yield step("call", 0, 4, data=b"ping") + step("read", 0) + answer + step("write", 100)
    telemetry = step("begin", 1) + step("data", 1, 0, 3, 255) + step("read", 0) + step("message", 0, 9)
    yield telemetry + step("data", 1, 1, 0, 5) + step("read", 0) + step("finish", 0, 0) + step("write", 255)
    yield telemetry + step("cancel", 1) + step("read", 0) + step("call", 0, 1, data=b"x") + step("part", 77)
    windows = step("settings", 0) + step("call", 0, 4, data=b"ping") + step("unary", 0, 255) + step("write", 255)
    yield windows + step("window", 1, 9) + step("write", 9) + step("settings", 200) + step("read", 0)
    yield step("begin", 0) + b"".join(step("data", 1, 0, 255, size) for size in (199, *[200] * 6)) + step("read", 0)
    for kind in range(10):
        yield step("begin", 1) + step("frame", 1, kind, 4, 8, data=bytes(8)) + step("goaway", 0, 0) + step("begin", 0)
    yield b"".join(step("begin", number) for number in range(len(_BLOCKS))) + step("frame", 0, 6, 0, 8, data=bytes(8))


def block(*headers: Any) -> bytes:
    """Headers that mean the same whatever came before them."""
    return Encoder().encode(list(headers))


_BLOCKS: Final = (
    block(*request()),
    block(*request(STREAM)),
    block(*request(), ("x-b", "1"), ("x-b", "\xff")),
    block(*request(method="GET")),
    block(*request(content_type="text/html")),
    block(*request(), ("X-Upper", "1")),
    block(*request(), ("te", "gzip")),
    block(("x-trailer", "1")),
    block(*request(), ("content-length", "9")),
)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame of whatever kind."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


class _Bytes:
    """The script, byte for byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def number(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]


class Run:
    """A script, carried out with a connection of each kind."""

    def __init__(self, makes: Sequence[Make]) -> None:
        self.servers: list[Http2] = [make(**LIMITS) for make in makes]
        self.events: list[list[Event]] = [[] for _ in makes]
        self.output = [bytearray() for _ in makes]
        self._read = bytearray(PREFACE)
        self._next = 1
        self._known: list[int] = []  # streams with an event
        self._ended: set[int] = set()  # streams that the client ended
        self._left = False  # whether the client sent GOAWAY
        self._disturbed: set[int] = set()  # ... and reset, or continued with: whatever comes of them is dropped

    @property
    def failed(self) -> bool:
        """Whether one of the connections is over."""
        return any(events and events[-1][0] == FAILED for events in self.events)

    def carry_out(self, script: bytes) -> None:
        """All of it, and what remains to be sent."""
        data = _Bytes(script)
        while data and not self.failed:
            self._step(data)
        self._deliver()
        self._write(_MOST_OUTPUT)

    def check(self) -> None:
        """The connections agree.

        Raises:
            AssertionError: they do not.
        """
        first, *others = self.events
        for other in others:
            ended = [events for events in (first, other) if events and events[-1][0] == FAILED]
            if not ended and not self._left:
                assert first == other
                continue
            same = min(len(events) - (events in ended) for events in (first, other))
            assert first[:same] == other[:same]
            return
        assert len({(server.streams, server.held, server.waiting) for server in self.servers}) == 1
        seen = [seen_by_client(bytes(output), self._disturbed) for output in self.output]
        assert all(other == seen[0] for other in seen[1:]), seen

    def _step(self, data: _Bytes) -> None:
        op, stream = OPS[data.number() % len(OPS)], data.number()
        match op:
            case "frame":
                kind, flags = data.number(), data.number()
                self._send(kind % 12, flags, stream, data.take(data.number()))
            case "call":
                opened = self._begin(stream)
                self._send(0, _END_STREAM, opened, add_prefix(data.take(data.number())))
            case "begin":
                self._begin(stream)
            case "data":
                flags, size = data.number() & 9, data.number()
                self._send(0, flags, stream, _message(size, data.number()))
            case "cancel":
                self._send(3, 0, stream, b"\0\0\0\x08")
            case "settings":
                self._send(4, 0, 0, b"\0\4\0\0\0" + bytes([stream]))
            case "window":
                self._send(8, 0, stream, b"\0\0" + bytes([data.number(), 1]))
            case "part":
                self._deliver(stream)
            case "write":
                self._write(stream * 64)
            case _:
                self._deliver()
                self._answer(op, stream, data)

    def _answer(self, op: str, choice: int, data: _Bytes) -> None:
        stream = self._known[choice % len(self._known)] if self._known else choice
        size = data.number()
        for server in self.servers:
            match op:
                case "unary":
                    server.unary(stream, bytes(size * 300))
                case "message":
                    server.message(stream, bytes(size * 300))
                case "finish":
                    server.finish(stream, _STATUSES[size % 3], "é%" if size % 2 else "")
                case "reset":
                    server.reset(stream, size)
                case "goaway":
                    server.goaway()

    def _begin(self, choice: int) -> int:
        stream = self._next
        self._next += 2
        flags = _END_HEADERS | (choice >> 7 & _END_STREAM)
        self._send(1, flags, stream, _BLOCKS[choice % len(_BLOCKS)])
        return stream

    def _send(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self._left = self._left or kind == 7
        if kind == 3 or (kind in {0, 1} and stream in self._ended):
            self._disturbed.add(stream)
        if kind in {0, 1} and flags & _END_STREAM:
            self._ended.add(stream)
        self._read += frame(kind, flags, stream, payload)

    def _deliver(self, most: int | None = None) -> None:
        data = bytes(self._read[:most])
        del self._read[:most]
        for server, events in zip(self.servers, self.events, strict=True):
            more = server.receive(data)
            events += [(FAILED,) if event[0] == FAILED else event for event in more]
        if not self.failed:
            self._known = [event[1] for event in self.events[0] if event[0] in {CALL, OPENED}]

    def _write(self, most: int) -> None:
        if self.failed:
            return
        for server, output in zip(self.servers, self.output, strict=True):
            data = server.output(most)
            assert len(data) <= most
            output.extend(data)


def _message(size: int, cut: int) -> bytes:
    """A message of up to 100 KiB of which so much is sent; or its rest."""
    message = add_prefix(bytes(size * 401))
    return message[: cut * 60] if cut < 200 else message[:16_000]


def seen_by_client(data: bytes, without: set[int]) -> dict[int, list[Any]]:
    """What a client reads of each stream: headers, data joined, and how it ended. Later resets add nothing.

    Streams beyond a GOAWAY are over for the client, whatever comes.
    """
    last = 1 << 31
    decoder = Decoder()
    streams: dict[int, list[Any]] = {}
    for each in frames_in(data):
        seen = streams.setdefault(each.stream_id, [])
        if seen and seen[-1][0] == "reset":
            continue
        if isinstance(each, GoAwayFrame):
            last = each.last_stream_id
        elif isinstance(each, HeadersFrame):
            headers = decoder.decode(each.data, raw=True)
            seen.append(("headers", [(bytes(name), bytes(value)) for name, value in headers]))
        elif isinstance(each, DataFrame) and each.data:
            if seen[-1][0] == "data":
                seen[-1] = ("data", seen[-1][1] + each.data)
            else:
                seen.append(("data", each.data))
        elif isinstance(each, RstStreamFrame) and seen[-1:] != [("end",)]:  # else it is a hint
            seen.append(("reset", each.error_code))
        if "END_STREAM" in each.flags:
            seen.append(("end",))
    return {stream: seen for stream, seen in streams.items() if 0 < stream <= last and seen and stream not in without}


def frames_in(data: bytes) -> Iterator[Frame]:
    """The frames of an output."""
    at = 0
    while at + 9 <= len(data):
        found, length = Frame.parse_frame_header(memoryview(data[at : at + 9]))
        body = data[at + 9 : at + 9 + length]
        if len(body) < length:  # the rest is not taken yet
            return
        found.parse_body(memoryview(body))
        yield found
        at += 9 + length
