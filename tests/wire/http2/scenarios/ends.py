"""Calls that are cancelled, reset, or outlived by their connection."""

from __future__ import annotations

from hyperframe.frame import (
    DataFrame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    WindowUpdateFrame,
)

from rocketwire.wire.http2.events import ENDED, FAILED, MESSAGE, RESET
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import (
    CANCEL,
    STREAM,
    Client,
    Make,
    request,
)


def cancelled_calls_are_reported_once(make: Make) -> None:
    client = Client(make)
    whole, part, open_ = client.call(), client.open(), client.open(request(STREAM))
    client.h2.send_data(part, b"\0\0\0\0\5x")
    client.turn()
    for stream in (whole, part, open_):
        client.h2.reset_stream(stream, CANCEL)
    assert client.turn() == [(RESET, whole, CANCEL), (RESET, open_, CANCEL)]
    for stream in (whole, part, open_):
        client.server.unary(stream, b"too late")
        client.server.message(stream, b"too late")
        client.server.finish(stream, 0)
        client.server.reset(stream, CANCEL)
    assert (client.server.streams, client.server.held, client.server.waiting) == (0, 0, 0)
    client.turn()
    assert client.answer(whole) == ({}, b"", {}, False, None)


def cancelled_answers_are_dropped(make: Make) -> None:
    client = Client(make, opens_windows=False)
    answered, streamed = client.call(), client.call()
    client.turn()
    client.server.unary(answered, bytes(100_000))
    client.server.message(streamed, bytes(100_000))
    client.turn()
    assert client.server.waiting > 100_000
    client.h2.reset_stream(answered, CANCEL)
    client.h2.reset_stream(streamed, CANCEL)
    # Of the first one, too: its caller learns that a whole answer was not delivered.
    assert client.turn() == [(RESET, answered, CANCEL), (RESET, streamed, CANCEL)]
    assert (client.server.streams, client.server.waiting) == (0, 0)


def the_server_may_reset(make: Make) -> None:
    client = Client(make)
    stream = client.call()
    client.turn()
    client.server.message(stream, b"x")
    client.server.reset(stream, 2)
    client.turn()
    assert client.answer(stream).reset == 2
    client.server.reset(stream, 2)
    client.server.reset(77, 2)
    assert (client.server.streams, client.server.waiting, client.events[1:]) == (0, 0, [])


def frames_of_calls_that_are_over_are_harmless(make: Make) -> None:
    client = Client(make)
    stream = client.open(request(content_type="text/plain"))
    client.turn()
    assert client.raw(DataFrame(stream, b"late"), WindowUpdateFrame(stream, window_increment=5)) == []
    assert client.raw(RstStreamFrame(stream, CANCEL)) == []
    stream = client.call()
    client.echo(client.turn())
    assert client.answer(stream).status == ("0", None)


def shutdown_finishes_what_runs(make: Make) -> None:
    client = Client(make)
    running, open_ = client.call(), client.open(request(STREAM))
    client.turn()
    client.server.goaway()
    client.server.goaway(2)
    late = client.h2.get_next_available_stream_id()
    data = HeadersFrame(late, client.h2.encoder.encode(request()), flags=["END_HEADERS"]).serialize()
    data += DataFrame(late, add_prefix(b"x"), flags=["END_STREAM"]).serialize()
    data += DataFrame(open_, add_prefix(b"y"), flags=["END_STREAM"]).serialize()
    assert client.server.receive(data) == [(MESSAGE, open_, b"y"), (ENDED, open_)]
    client.server.unary(running, b"done")
    client.server.finish(open_, 0)
    out = client.server.output(1 << 16)
    assert GoAwayFrame(0, last_stream_id=open_).serialize() in out
    assert DataFrame(running, add_prefix(b"done")).serialize() in out
    assert client.server.streams == 0


def a_client_that_sends_goaway_gets_its_answers(make: Make) -> None:
    client = Client(make)
    stream = client.call()
    client.turn()
    assert client.raw(GoAwayFrame(0)) == []
    client.server.unary(stream, b"still")
    client.turn()
    assert client.answer(stream).data == add_prefix(b"still")
    assert client.raw(PingFrame(0, bytes(8))) == [(FAILED, 0, "the client has left")]
    assert client.goaway == 0
    client = Client(make)
    assert client.raw(GoAwayFrame(0), PingFrame(0, bytes(8))) == [(FAILED, 0, "the client has left")]
    client = Client(make)
    stream = client.call()
    client.turn()
    client.raw(GoAwayFrame(0))
    client.h2.reset_stream(stream, CANCEL)
    assert client.turn() == [(RESET, stream, CANCEL), (FAILED, 0, "the client has left")]
