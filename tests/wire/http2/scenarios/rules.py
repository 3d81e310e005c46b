"""The rules of a connection: settings, pings, errors."""

from __future__ import annotations

from h2 import events as h2_events
from h2.settings import SettingCodes
from hyperframe.frame import (
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from rocketwire.wire.http2.events import CALL, FAILED, RESET
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import (
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    KIB,
    LIMITS,
    PATH,
    PREFACE,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    Client,
    Make,
    request,
)


def settings_have_the_limits(make: Make) -> None:
    client = Client(make, max_streams=77, max_header_list=5000)
    settings = client.h2.remote_settings
    assert (settings.max_concurrent_streams, settings.max_header_list_size) == (77, 5000)
    assert settings.initial_window_size == 65_535
    assert client.h2.outbound_flow_control_window == LIMITS["window"]


def pings_are_answered(make: Make) -> None:
    client = Client(make)
    client.h2.ping(b"12345678")
    client.turn()
    assert [event.ping_data for event in client.said if isinstance(event, h2_events.PingAckReceived)] == [b"12345678"]
    assert client.raw(PingFrame(0, b"87654321", flags=["ACK"])) == []


def what_is_no_http2_fails(make: Make) -> None:
    for data in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX"):
        server = make(**LIMITS)
        for byte in data:
            events = server.receive(bytes([byte]))
            if events:
                break
        assert events == [(FAILED, PROTOCOL_ERROR, "no HTTP/2 connection preface")]
        assert server.receive(b"more") == []
        out = server.output(1 << 16)
        assert out.endswith(GoAwayFrame(0, error_code=PROTOCOL_ERROR).serialize())
        assert server.output(1 << 16) == b""
        server.goaway()
        assert server.output(1 << 16) == b""


def broken_rules_fail(make: Make) -> None:
    head = request()
    cases: list[tuple[int, bytes]] = [
        (PROTOCOL_ERROR, DataFrame(1, b"idle").serialize()),
        (PROTOCOL_ERROR, HeadersFrame(2, b"\x82", flags=["END_HEADERS"]).serialize()),
        (PROTOCOL_ERROR, b"\0\0\4\3\0\0\0\0\0\0\0\0\0"),  # RST_STREAM of stream 0
        (PROTOCOL_ERROR, b"\0\0\0\4\0\0\0\0\1"),  # SETTINGS of stream 1
        (PROTOCOL_ERROR, b"\0\0\4\5\4\0\0\0\1\0\0\0\2"),  # PUSH_PROMISE
        (PROTOCOL_ERROR, b"\0\0\0\x09\4\0\0\0\1"),  # CONTINUATION of nothing
        (PROTOCOL_ERROR, b"\0\0\4\x08\0\0\0\0\0\0\0\0\0"),  # WINDOW_UPDATE by 0
        (PROTOCOL_ERROR, b"\0\0\2\0\x08\0\0\0\1\5x"),  # padding longer than the frame, on an idle stream
        (6, b"\0\x40\1\0\0\0\0\0\1"),  # a frame of 16385 bytes
        (6, b"\0\0\7\6\0\0\0\0\0" + bytes(7)),  # PING
        (6, b"\0\0\4\2\0\0\0\0\1" + bytes(4)),  # PRIORITY
        (6, b"\0\0\5\4\0\0\0\0\0" + bytes(5)),  # SETTINGS
        (6, b"\0\0\6\4\1\0\0\0\0" + bytes(6)),  # SETTINGS with ACK and content
        (FLOW_CONTROL_ERROR, WindowUpdateFrame(0, window_increment=(1 << 31) - 1).serialize()),
        (FLOW_CONTROL_ERROR, SettingsFrame(0, {SettingCodes.INITIAL_WINDOW_SIZE: 1 << 31}).serialize()),
        (9, HeadersFrame(1, b"\xff\xff\xff\xff\xff\xff", flags=["END_HEADERS"]).serialize()),
        (ENHANCE_YOUR_CALM, SettingsFrame(0, dict.fromkeys(range(100, 133), 1)).serialize()),
    ]
    for code, data in cases:
        client = Client(make)
        client.raw(data)
        assert client.kinds == [FAILED], data
        assert client.goaway == code or (code in {6, 9} and client.goaway == PROTOCOL_ERROR), (client.goaway, data)
    client = Client(make)
    client.call()
    assert client.turn()
    client.raw(HeadersFrame(3, client.h2.encoder.encode(head)).serialize(), PingFrame(0, bytes(8)))
    assert client.events[1:] == [(FAILED, PROTOCOL_ERROR, "a block of headers is interrupted")]
    assert client.server.streams == 0
    client.server.unary(1, b"too late")
    client.server.reset(1, 0)
    assert client.server.output(100) == b""
    server = make(**LIMITS)
    assert server.receive(PREFACE[:24] + PingFrame(0, bytes(8)).serialize())[0][:2] == (FAILED, PROTOCOL_ERROR)


def content_length_is_held_to(make: Make) -> None:
    client = Client(make)
    more = ("content-length", "9")
    client.call(headers=request(PATH, "POST", "application/grpc", more, more))
    assert [event[0] for event in client.turn()] == [CALL]
    for headers, data, end in (
        ([("content-length", "8")], add_prefix(b"ping"), False),
        ([("content-length", "10")], add_prefix(b"ping"), True),
        ([("content-length", "9"), ("content-length", "10")], b"", False),
        ([("content-length", "+9")], b"", False),
        ([("content-length", "")], b"", False),
    ):
        client = Client(make)
        stream = client.open(request(PATH, "POST", "application/grpc", *headers))
        client.h2.send_data(stream, data, end_stream=end)
        client.turn()
        assert (client.kinds, client.goaway) == ([FAILED], PROTOCOL_ERROR), headers


def too_many_calls_are_refused(make: Make) -> None:
    client = Client(make, max_streams=3)
    client.h2.remote_settings.update({SettingCodes.MAX_CONCURRENT_STREAMS: 100})
    client.h2.remote_settings.acknowledge()
    streams = [client.call() for _ in range(5)]
    events = client.turn()
    assert [event[1] for event in events] == streams[:3]
    assert [client.answer(stream).reset for stream in streams] == [None] * 3 + [REFUSED_STREAM] * 2
    client.echo(events)
    stream = client.call()
    client.echo(client.turn())
    assert client.answer(stream).ended


def calls_whose_headers_are_too_much_together_are_refused(make: Make) -> None:
    client = Client(make, window=64 * KIB)
    large = [*request(), *[("x-a", "a" * 3800)] * 3]
    streams = [client.open(large) for _ in range(8)]
    client.turn()
    assert 3 * 11_000 < client.server.heads < 64 * KIB
    assert [client.answer(stream).reset for stream in streams] == [None] * 5 + [REFUSED_STREAM] * 3
    for stream in streams[:5]:
        client.h2.reset_stream(stream)
    client.turn()
    assert (client.server.heads, client.server.streams) == (0, 0)
    client.call()
    client.echo(client.turn())
    assert client.server.heads == 0


def an_overflowing_window_resets_its_stream(make: Make) -> None:
    client = Client(make)
    stream = client.call()
    client.turn()
    assert client.raw(WindowUpdateFrame(stream, window_increment=(1 << 31) - 1)) == [
        (RESET, stream, FLOW_CONTROL_ERROR)
    ]
    assert client.answer(stream).reset == FLOW_CONTROL_ERROR
    assert client.server.streams == 0
