"""Clients that want to wear the server out, and lively ones that only look so."""

from __future__ import annotations

import struct
from typing import Any

from h2.settings import SettingCodes
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from rocketwire.wire.http2.events import CALL, ENDED, FAILED, MESSAGE, OPENED
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import (
    CANCEL,
    ENHANCE_YOUR_CALM,
    KIB,
    STREAM,
    Client,
    Make,
    request,
)


def large_headers_fail(make: Make) -> None:
    size = sum(len(name) + len(value) + 32 for name, value in request())
    client = Client(make, max_header_list=size + 32 + 3)
    client.call(headers=[*request(), ("x", "yz")])
    assert [event[0] for event in client.turn()] == [CALL]
    client.call(headers=[*request(), ("x", "y" * 3)])
    client.turn()
    assert (client.kinds, client.goaway) == ([CALL, FAILED], ENHANCE_YOUR_CALM)


def an_hpack_bomb_fails(make: Make) -> None:
    client = Client(make)
    bomb = (
        client.h2.encoder.encode([*request(), ("x", "y" * 4000)]) + b"\xbe" * 5000
    )  # the newest entry, again and again
    client.raw(HeadersFrame(1, bomb, flags=["END_HEADERS"]))
    assert (client.kinds, client.goaway) == ([FAILED], ENHANCE_YOUR_CALM)


def continuations_are_few(make: Make) -> None:
    block = Client(make).h2.encoder.encode(request())
    for frames, fine in ((8, True), (9, False), (1000, False)):
        client = Client(make)
        client.open()
        client.h2.data_to_send()
        pieces: list[Frame] = [HeadersFrame(1, block, flags=["END_STREAM"])]
        pieces += [ContinuationFrame(1, b"") for _ in range(frames - 1)]
        pieces.append(ContinuationFrame(1, b"", flags=["END_HEADERS"]))
        client.raw(*pieces)
        assert client.goaway == (None if fine else ENHANCE_YOUR_CALM)
    client = Client(make)
    client.raw(HeadersFrame(1, bytes(16_000)), ContinuationFrame(1, bytes(1000)))
    assert (client.kinds, client.goaway) == ([FAILED], ENHANCE_YOUR_CALM)


def floods_fail(make: Make) -> None:
    floods: dict[str, Any] = {
        "settings": SettingsFrame(0, {SettingCodes.INITIAL_WINDOW_SIZE: 1000}),
        "ping": PingFrame(0, bytes(8)),
        "priority": PriorityFrame(1, depends_on=3),
        "data": DataFrame(1, b""),
        "short data": DataFrame(1, b"\0"),
        "window": WindowUpdateFrame(1, window_increment=1),
        "window of the connection": WindowUpdateFrame(0, window_increment=1),
        "reset": RstStreamFrame(1),
        "goaway": GoAwayFrame(0),
        "unknown": b"\0\0\0\x77\0\0\0\0\0",
    }
    for name, frame in floods.items():
        client = Client(make, max_message=64 * KIB)
        stream = client.open()
        client.h2.send_data(stream, add_prefix(bytes(10_000))[:5])
        client.turn()
        frames = frame if isinstance(frame, bytes) else frame.serialize()
        client.give(frames * 5000)
        assert client.kinds == [FAILED], name
        assert client.events[0][2] == "too many frames that carry no request"
        assert len(client.server.output(1 << 20)) < 5000 * 17
        assert client.server.streams == 0


def rapid_resets_fail(make: Make) -> None:
    client = Client(make)
    for number in range(1, 100):
        for _ in range(50):
            stream = client.call()
            client.h2.reset_stream(stream)
        client.give(client.h2.data_to_send())
        if client.events[-1][0] == FAILED:
            assert 15 < number < 25
            break
    assert client.events[-1][0] == FAILED
    assert client.server.streams == 0


def resets_made_by_the_server_count(make: Make) -> None:
    client = Client(make)
    for _ in range(100):
        for _ in range(50):
            stream = client.call()
            client.h2._prepare_for_sending([WindowUpdateFrame(stream, window_increment=(1 << 31) - 1)])
        client.give(client.h2.data_to_send())
        if client.events[-1][0] == FAILED:
            break
    assert client.events[-1][0] == FAILED
    assert len(client.events) < 3000


def a_lively_client_is_no_flood(make: Make) -> None:
    client = Client(make)
    for number in range(3000):
        client.h2.ping(bytes(8))
        if number % 3 == 0:
            client.h2.increment_flow_control_window(1)
        stream = client.call()
        client.turn()
        if number % 2:
            client.h2.reset_stream(stream, CANCEL)
        else:
            client.server.unary(stream, b"pong")
        client.turn()
    assert FAILED not in client.kinds


def ten_thousand_calls_at_once(make: Make) -> None:
    client = Client(make)
    block = client.h2.encoder.encode(request())
    block_again = client.h2.encoder.encode(request())
    data = DataFrame(1, add_prefix(b"poll"), flags=["END_STREAM"])
    calls = 0
    for first in range(1, 20_001, 200):
        read = bytearray()
        for stream in range(first, first + 200, 2):
            read += HeadersFrame(stream, block_again if stream > 1 else block, flags=["END_HEADERS"]).serialize()
            data.stream_id = stream
            read += data.serialize()
        calls += len(client.give(bytes(read)))
    assert (calls, client.server.streams) == (10_000, 10_000)
    for stream in range(1, 20_001, 2):
        client.server.unary(stream, b"x")
    out = sum(len(data) for data in iter(lambda: client.server.output(1 << 16), b""))
    assert out > 10_000 * 30
    assert (client.server.waiting, client.server.streams) == (0, 0)


def zero_windows_hold_answers(make: Make) -> None:
    client = Client(make, opens_windows=False)
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    streams = [client.call() for _ in range(500)]
    client.turn()
    for stream in streams:
        client.server.unary(stream, bytes(1000))
    client.turn()
    assert client.server.waiting == 500 * 1005
    for stream in streams:
        client.h2.increment_flow_control_window(1, stream)
    client.turn()
    assert client.server.waiting == 500 * 1004
    for stream in streams:
        client.h2.reset_stream(stream)
    client.turn()
    assert (client.server.waiting, client.server.streams) == (0, 0)


def single_bytes_have_the_same_result(make: Make) -> None:
    client = Client(make)
    client.call(b"first")
    stream = client.open(request(STREAM))
    client.h2.send_data(stream, add_prefix(b"message") + add_prefix(bytes(300)), pad_length=3)
    client.h2.ping(bytes(8))
    client.h2.send_data(stream, b"", end_stream=True)
    data = client.h2.data_to_send()
    whole = Client(make).give(data)
    assert [event[0] for event in whole] == [CALL, OPENED, MESSAGE, MESSAGE, ENDED]
    pieces = Client(make)
    for byte in data:
        pieces.give(bytes([byte]))
    assert pieces.events == whole
    views = Client(make)
    assert [*views.give(memoryview(data)[:50]), *views.give(bytearray(data[50:]))] == whole  # type: ignore[arg-type]


def numbers_are_as_python_has_them(make: Make) -> None:
    client = Client(make)
    client.call(struct.pack(">q", 1))
    (event,) = client.turn()
    assert type(event) is tuple
    assert [type(value) for value in event] == [int, int, str, dict, bytes]
