"""Flow control, both ways."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from h2.settings import SettingCodes

from rocketwire.wire.http2.events import CALL, ENDED, OPENED, RESET
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import (
    CANCEL,
    FIELDS,
    KIB,
    PATH,
    PROTOCOL_ERROR,
    STREAM,
    Client,
    Make,
    request,
)


def answers_respect_the_windows_of_streams(make: Make) -> None:
    client = Client(make, opens_windows=False)
    first, second = client.call(), client.call()
    client.turn()
    client.h2.increment_flow_control_window(1 << 20)
    client.h2.increment_flow_control_window(1, second)
    client.turn()
    client.server.unary(first, bytes(100_000))
    client.server.unary(second, b"small")
    client.turn()
    assert client.answer(second).ended
    assert len(client.answer(first).data) == 65_535
    assert client.server.waiting == 100_005 - 65_535
    client.h2.increment_flow_control_window(10_000, first)
    client.turn()
    assert len(client.answer(first).data) == 75_535
    client.h2.increment_flow_control_window(100_000, first)
    client.turn()
    assert client.answer(first).data == add_prefix(bytes(100_000))
    assert (client.answer(first).status, client.server.waiting) == (("0", None), 0)


def answers_respect_the_window_of_the_connection(make: Make) -> None:
    client = Client(make, opens_windows=False)
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    streams = [client.call() for _ in range(4)]
    client.turn()
    for stream in streams:
        client.server.unary(stream, bytes(30_000))
    client.turn()
    assert sum(len(client.answer(stream).data) for stream in streams) == 65_535
    assert client.server.waiting == 4 * 30_005 - 65_535
    client.h2.increment_flow_control_window(1 << 20)
    client.turn()
    assert all(client.answer(stream).ended for stream in streams)


def settings_change_the_windows_of_streams(make: Make) -> None:
    client = Client(make, opens_windows=False)
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 0})
    client.h2.increment_flow_control_window(1 << 20)
    streams = [client.call() for _ in range(3)]
    client.turn()
    for stream in streams:
        client.server.unary(stream, bytes(50_000))
    client.server.finish(streams[2], 0)
    client.turn()
    assert all(client.answer(stream).headers and not client.answer(stream).data for stream in streams)
    assert client.server.waiting == 3 * 50_005
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 20_000, SettingCodes.ENABLE_PUSH: 0})
    client.turn()
    assert [len(client.answer(stream).data) for stream in streams] == [20_000] * 3
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 10_000})
    client.turn()
    client.h2.increment_flow_control_window(9_999, streams[0])
    client.turn()
    assert [len(client.answer(stream).data) for stream in streams] == [20_000] * 3
    client.h2.update_settings({SettingCodes.ENABLE_PUSH: 0})
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20})
    client.turn()
    assert all(client.answer(stream).ended for stream in streams)


def output_has_the_requested_length(make: Make) -> None:
    client = Client(make)
    client.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 1 << 20, SettingCodes.MAX_FRAME_SIZE: 1 << 18})
    client.h2.increment_flow_control_window(1 << 20)
    stream = client.call()
    client.turn()
    client.server.unary(stream, bytes(200_000))
    pieces = []
    for most in count(1):
        data = client.server.output(most)
        assert len(data) <= most
        client.h2.receive_data(data)
        pieces.append(data)
        if not data:
            break
    assert sum(map(len, pieces)) > 200_000
    assert max(map(len, pieces)) > 500
    assert client.server.output(0) == b""


def long_messages_come_through(make: Make) -> None:
    client = Client(make)
    payload = bytes(range(256)) * (16 * KIB)
    stream = client.call(payload)
    events = client.turn()
    assert events == [(CALL, stream, PATH, FIELDS, payload)]
    client.echo(events)
    assert client.answer(stream).data == add_prefix(payload)
    assert client.most_held <= len(payload) + 5


def many_long_messages_are_let_in_one_after_the_other(make: Make) -> None:
    client = Client(make, window=512 * KIB)
    payload = bytes(300 * KIB)
    streams = [client.call(payload) for _ in range(20)]
    client.turn()
    assert sorted(event[1] for event in client.events) == streams
    assert {event[0] for event in client.events} == {CALL}
    assert client.most_held <= 20 * 64 * KIB + 300 * KIB
    assert client.server.held == 0


def a_cancelled_long_message_makes_room(make: Make) -> None:
    client = Client(make, window=512 * KIB)
    first, second = client.open(), client.open()
    for stream in (first, second):
        client.h2.send_data(stream, add_prefix(bytes(400 * KIB))[: 16 * KIB])
    client.turn()
    assert client.h2.local_flow_control_window(first) > 256 * KIB > client.h2.local_flow_control_window(second)
    client.h2.reset_stream(first, CANCEL)
    client.turn()
    assert client.h2.local_flow_control_window(second) > 256 * KIB


def too_much_at_once_is_refused(make: Make) -> None:
    client = Client(make, window=64 * KIB)
    part = add_prefix(bytes(60 * KIB))[:-1]
    streams = [client.open() for _ in range(8)]
    telemetry = client.open(request(STREAM))
    for stream in [*streams, telemetry]:
        for at in range(0, len(part), 16_000):
            if not client.answer(stream).ended:
                client.h2.send_data(stream, part[at : at + 16_000])
                client.turn()
    assert client.server.held <= 4 * 64 * KIB
    refused = [stream for stream in streams if client.answer(stream).ended]
    assert refused == streams[4:]
    assert {client.answer(stream).status for stream in [*refused, telemetry]} == {("8", "too many unfinished requests")}
    assert client.events == [(OPENED, telemetry, STREAM, FIELDS), (RESET, telemetry, PROTOCOL_ERROR)]
    for stream in streams[:4]:
        client.h2.send_data(stream, b"\0", end_stream=True)
    assert [event[:2] for event in client.turn()] == [(CALL, stream) for stream in streams[:4]]


def windows_of_streams_open_with_their_messages(make: Make) -> None:
    client = Client(make, window=128 * KIB)
    stream = client.open(request(STREAM))
    sizes = [1, 1000, 16_000, 30_000, 65_000, 100_000, 0] * 4
    client.pending[stream] = b"".join(add_prefix(bytes(size)) for size in sizes)
    client.turn()
    assert [len(event[2]) for event in client.events[1:-1]] == sizes
    assert client.events[-1] == (ENDED, stream)


def padding_counts(make: Make) -> None:
    client = Client(make, window=128 * KIB)
    stream = client.open(request(STREAM))
    for number in range(2000):
        client.h2.send_data(stream, add_prefix(b"%d" % number), pad_length=200)
        client.turn()
    assert [event[2] for event in client.events[1:]] == [b"%d" % number for number in range(2000)]


def wrong_windows_are_not_taken(make: Make) -> None:
    wrong: list[dict[str, Any]] = [
        {"window": 65_534},
        {"window": 1 << 31},
        {"window": (1 << 31) - 4096 * KIB},
        {"stream_window": 65_534},
        {"stream_window": 1 << 25},
    ]
    for windows in wrong:
        with pytest.raises(ValueError, match="windows are from 65535 bytes to 2 GiB"):
            Client(make, **windows)
    client = Client(make, stream_window=1 << 20, window=1 << 20)
    assert client.h2.remote_settings.initial_window_size == 1 << 20
    client = Client(make, window=65_535)
    assert client.h2.outbound_flow_control_window == 65_535
