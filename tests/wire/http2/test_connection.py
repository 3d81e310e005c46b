"""The twin; `tests/kernel/http2` has the same scenarios for the kernel.

What comes for streams that are over, and how exactly a connection ends, the kernel's library judges otherwise: so that
is tested here.
"""

from __future__ import annotations

import pytest
from hyperframe.frame import DataFrame, GoAwayFrame, HeadersFrame, RstStreamFrame, WindowUpdateFrame

from rocketwire.wire.http2.connection import PythonHttp2
from rocketwire.wire.http2.events import (
    FAILED,
    FLOW_CONTROL_ERROR,
    RESET,
    STREAM_CLOSED,
)
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import CANCEL, STREAM, Client, request
from tests.wire.http2.scenarios.all import SCENARIOS, Scenario
from tests.wire.http2.script import block, frame, frames_in, seen_by_client

HEADERS = block(*request())
END_STREAM, END_HEADERS = 1, 4


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenario(scenario: Scenario) -> None:
    scenario(PythonHttp2)


def begun(stream: int = 1, *, ended: bool = False) -> bytes:
    return frame(1, END_HEADERS | ended, stream, HEADERS)


def resets(client: Client) -> list[tuple[int, int]]:
    """The streams that the server resets now, and why."""
    frames = frames_in(client.server.output(1 << 20))
    return [(each.stream_id, each.error_code) for each in frames if isinstance(each, RstStreamFrame)]


def test_what_comes_for_a_stream_that_the_client_reset() -> None:
    client = Client(PythonHttp2)
    client.give(begun() + RstStreamFrame(1, CANCEL).serialize())
    client.give(DataFrame(1, b"x").serialize() + WindowUpdateFrame(1, window_increment=5).serialize())
    assert resets(client) == [(1, STREAM_CLOSED)]
    client = Client(PythonHttp2)
    client.give(begun() + RstStreamFrame(1, CANCEL).serialize() + begun())
    assert resets(client) == [(1, STREAM_CLOSED)]
    assert client.events == []


def test_frames_in_flight_when_the_server_reset_a_stream() -> None:
    client = Client(PythonHttp2)
    client.give(begun())
    client.server.reset(1, CANCEL)
    client.give(DataFrame(1, b"x").serialize() + begun(ended=True) + RstStreamFrame(1, CANCEL).serialize())
    assert resets(client) == [(1, CANCEL), (1, STREAM_CLOSED), (1, STREAM_CLOSED)]
    assert client.events == []


def test_what_comes_for_a_stream_that_both_ended() -> None:
    client = Client(PythonHttp2)
    call = client.call()
    client.echo(client.turn())
    client.give(DataFrame(call, b"x").serialize())
    assert resets(client) == [(call, STREAM_CLOSED)]
    client = Client(PythonHttp2)
    client.call()
    client.echo(client.turn())
    client.raw(begun())
    assert (client.kinds[-1], client.goaway) == (FAILED, STREAM_CLOSED)


@pytest.mark.parametrize("more", [DataFrame(1, b"x").serialize(), begun(), begun(ended=True)])
def test_what_comes_behind_the_end_of_a_request(more: bytes) -> None:
    client = Client(PythonHttp2)
    client.call()
    client.turn()
    assert client.raw(more) == [(RESET, 1, STREAM_CLOSED)]
    assert client.answer(1).reset == STREAM_CLOSED


def test_a_request_keeps_to_its_window() -> None:
    client = Client(PythonHttp2)
    html = frame(1, END_HEADERS, 1, block(*request(content_type="text/html")))  # nothing of it is let in
    client.give(html + DataFrame(1, bytes(16_000)).serialize() * 5)
    assert [event[:2] for event in client.events] == [(FAILED, FLOW_CONTROL_ERROR)]


def test_headers_in_many_frames_with_an_end() -> None:
    client = Client(PythonHttp2)
    pieces = [HEADERS[at : at + 50] for at in range(0, len(HEADERS), 50)]
    frames = [frame(1, END_STREAM, 1, pieces[0]), *(frame(9, 0, 1, piece) for piece in pieces[1:])]
    client.give(b"".join([*frames, frame(9, END_HEADERS, 1, b"")]))
    (answer,) = seen_by_client(client.server.output(1 << 20), set()).values()
    assert (b"grpc-message", b"the request has no message") in answer[0][1]


def test_a_long_status_takes_many_frames() -> None:
    client = Client(PythonHttp2)
    call = client.call()
    client.turn()
    client.server.finish(call, 12, "é" * 10_000)
    client.turn()
    assert client.answer(call).status == ("12", "%C3%A9" * 10_000)


def test_the_last_stream_of_a_goaway_stays() -> None:
    client = Client(PythonHttp2)
    client.give(begun())
    client.server.goaway()
    client.give(begun(3) + HeadersFrame(2, b"", flags=["END_HEADERS"]).serialize())
    frames = frames_in(client.server.output(1 << 20))
    last = [each.last_stream_id for each in frames if isinstance(each, GoAwayFrame)]
    assert last == [1, 1]


def test_a_table_of_headers_without_room_gets_none() -> None:
    client = Client(PythonHttp2)
    client.h2.update_settings({1: 0})
    call = client.call()
    client.echo(client.turn())
    assert client.answer(call).status == ("0", None)


def test_a_request_in_one_frame_may_have_a_length_and_padding() -> None:
    client = Client(PythonHttp2)
    stream = client.open(request(STREAM[:-1], "POST", "application/grpc", ("content-length", "6")))
    client.h2.send_data(stream, add_prefix(b"x"), end_stream=True, pad_length=5)
    assert [event[4] for event in client.turn()] == [b"x"]
