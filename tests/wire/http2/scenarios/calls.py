"""Whole requests, streams of messages, and what is no call."""

from __future__ import annotations

from hyperframe.frame import (
    HeadersFrame,
    RstStreamFrame,
)

from rocketwire.wire.http2.events import CALL, ENDED, FAILED, MESSAGE, OPENED, RESET, TOO_LONG, Event
from rocketwire.wire.http2.messages import add_prefix
from tests.wire.http2.client import (
    CANCEL,
    FIELDS,
    PATH,
    PROTOCOL_ERROR,
    STREAM,
    Client,
    Make,
    request,
)


def calls_are_whole_requests(make: Make) -> None:
    client = Client(make)
    streams = [client.call(b"payload %d" % number) for number in range(3)]
    events = client.turn()
    assert events == [(CALL, stream, PATH, FIELDS, b"payload %d" % number) for number, stream in enumerate(streams)]
    assert client.server.streams == 3
    client.echo(events)
    for number, stream in enumerate(streams):
        answer = client.answer(stream)
        assert answer.headers == {":status": "200", "content-type": "application/grpc"}
        assert answer.data == add_prefix(b"payload %d" % number)
        assert answer.trailers == {"grpc-status": "0"}
        assert (answer.ended, answer.reset) == (True, None)
    assert (client.server.streams, client.server.waiting, client.server.held) == (0, 0, 0)


def calls_come_and_go(make: Make) -> None:
    client = Client(make)
    for _ in range(100):
        stream = client.call()
        client.echo(client.turn())
        assert client.answer(stream).ended
    assert client.server.streams == 0


def empty_messages_are_messages(make: Make) -> None:
    client = Client(make)
    stream = client.call(b"")
    client.echo(client.turn())
    assert client.events == [(CALL, stream, PATH, FIELDS, b"")]
    assert client.answer(stream).data == add_prefix(b"")


def repeated_metadata_is_joined(make: Make) -> None:
    client = Client(make)
    more = [("x-a", "1"), ("x-a", ""), ("x-a", "2"), ("x-b", b"h\xc3\xa9"), (b"x-c", b"\xff!")]
    client.call(headers=request(PATH, "POST", "application/grpc+proto", *more))
    client.call(headers=[header for header in request() if header[0] != ":authority"])
    first, second = client.turn()
    assert first[3] == FIELDS | {"content-type": "application/grpc+proto", "x-a": "1,,2", "x-b": "hé", "x-c": "\ufffd!"}
    assert second[3] == {name: value for name, value in FIELDS.items() if name != ":authority"}


def a_stream_of_messages(make: Make) -> None:
    client = Client(make)
    stream = client.open(request(STREAM))
    assert client.turn() == [(OPENED, stream, STREAM, FIELDS)]
    client.h2.send_data(stream, add_prefix(b"one") + add_prefix(b"") + add_prefix(b"three")[:6])
    assert client.turn() == [(MESSAGE, stream, b"one"), (MESSAGE, stream, b"")]
    assert client.server.held == 6
    client.server.message(stream, b"answer")
    client.turn()
    answer = client.answer(stream)
    assert (answer.data, answer.ended) == (add_prefix(b"answer"), False)
    client.h2.send_data(stream, add_prefix(b"three")[6:], end_stream=True)
    assert client.turn() == [(MESSAGE, stream, b"three"), (ENDED, stream)]
    client.server.message(stream, b"more")
    client.server.finish(stream, 0)
    client.turn()
    answer = client.answer(stream)
    assert (answer.data, answer.status, answer.ended) == (
        add_prefix(b"answer") + add_prefix(b"more"),
        ("0", None),
        True,
    )
    assert answer.reset is None


def a_server_may_end_a_stream_of_messages_first(make: Make) -> None:
    client = Client(make)
    stream = client.open(request(STREAM))
    client.turn()
    client.server.message(stream, b"last")
    client.turn()
    client.server.finish(stream, 3, "bad settings")
    client.turn()
    answer = client.answer(stream)
    assert (answer.data, answer.status, answer.ended) == (add_prefix(b"last"), ("3", "bad settings"), True)
    assert answer.reset == 0
    assert client.server.streams == 0


def a_status_without_a_message(make: Make) -> None:
    client = Client(make)
    stream = client.call()
    client.turn()
    client.server.finish(stream, 12, "50 % of «x»\n~")
    client.turn()
    answer = client.answer(stream)
    assert answer.headers == {
        ":status": "200",
        "content-type": "application/grpc",
        "grpc-status": "12",
        "grpc-message": "50 %25 of %C2%ABx%C2%BB%0A~",
    }
    assert (answer.ended, answer.trailers, answer.reset) == (True, {}, None)


def a_status_after_messages(make: Make) -> None:
    client = Client(make)
    stream = client.call()
    client.turn()
    client.server.message(stream, b"one")
    client.server.message(stream, b"two")
    client.server.finish(stream, 13)
    client.server.message(stream, b"too late")
    client.server.finish(stream, 0)
    client.turn()
    answer = client.answer(stream)
    assert (answer.data, answer.trailers) == (add_prefix(b"one") + add_prefix(b"two"), {"grpc-status": "13"})


def what_is_no_grpc_gets_an_http_status(make: Make) -> None:
    client = Client(make)
    get = client.open(request(method="GET"), end=True)
    put = client.call(headers=request(STREAM, "PUT"))
    html = client.call(headers=request(content_type="text/html"))
    none = client.open([header for header in request() if header[0] != "content-type"])
    assert client.turn() == []
    assert client.answer(get) == ({":status": "405", "allow": "POST"}, b"", {}, True, None)
    assert client.answer(put).headers[":status"] == "405"
    assert client.answer(html).headers == {":status": "415"}
    assert (client.answer(none).headers, client.answer(none).reset) == ({":status": "415"}, 0)
    assert client.server.streams == 0
    assert client.raw(RstStreamFrame(none, CANCEL)) == []


def bad_messages_get_a_status(make: Make) -> None:
    client = Client(make, max_message=1000)
    whole = add_prefix(b"whole")
    cases = {
        b"\1\0\0\0\1x": ("12", "compressed messages are not supported"),
        b"\0\0\0\3\xe9": ("8", "message of 1001 bytes is longer than 1000"),
        b"\0\xff\xff\xff\xff": ("8", "message of 4294967295 bytes is longer than 1000"),
        b"": ("13", "the request has no message"),
        b"\0\0\0": ("13", "the request ends within a message"),
        whole[:-1]: ("13", "the request ends within a message"),
        whole + b"\0": ("13", "the request has more than one message"),
        whole + whole: ("13", "the request has more than one message"),
    }
    for ended in (True, False):
        for data, status in cases.items():
            if not ended and status[1] in {"the request has no message", "the request ends within a message"}:
                continue
            stream = client.open()
            client.h2.send_data(stream, data, end_stream=ended)
            length = int.from_bytes(data[1:5])
            assert client.turn() == ([(TOO_LONG, stream, length)] if status[0] == "8" else [])
            answer = client.answer(stream)
            assert (answer.status, answer.ended, answer.data) == (status, True, b"")
            assert answer.reset == (None if ended else 0)
    stream = client.open(end=True)
    client.turn()
    assert client.answer(stream).status == ("13", "the request has no message")
    assert (client.server.streams, client.server.held) == (0, 0)


def bad_messages_end_a_stream_of_messages(make: Make) -> None:
    client = Client(make, max_message=1000)
    for data, ended, messages in (
        (b"\1\0\0\0\1x", False, 0),
        (add_prefix(b"whole") + b"\0\0\0\3\xe9", False, 1),
        (add_prefix(b"whole") + b"\0", True, 1),
    ):
        stream = client.open(request(STREAM))
        client.h2.send_data(stream, data, end_stream=ended)
        expected: list[Event] = [(OPENED, stream, STREAM, FIELDS)] + [(MESSAGE, stream, b"whole")] * messages
        if data.endswith(b"\xe9"):
            expected.append((TOO_LONG, stream, 1001))
        assert client.turn() == [*expected, (RESET, stream, PROTOCOL_ERROR)]
        assert client.answer(stream).status[0] in {"8", "12", "13"}
    assert (client.server.streams, client.server.held) == (0, 0)


def methods_have_different_longest_messages(make: Make) -> None:
    client = Client(make, max_message=10, longest={PATH: 1000, STREAM: 20})
    for path, most in ((PATH, 1000), (STREAM, 20), ("/other/Method", 10)):
        within = client.open(request(path))
        client.h2.send_data(within, add_prefix(bytes(most)), end_stream=True)
        assert (MESSAGE if path == STREAM else CALL) in [event[0] for event in client.turn()]
        beyond = client.open(request(path))
        client.h2.send_data(beyond, add_prefix(bytes(most + 1))[:5])  # its length suffices
        assert (TOO_LONG, beyond, most + 1) in client.turn()
        assert client.answer(beyond).status == ("8", f"message of {most + 1} bytes is longer than {most}")
    assert client.server.held == 0


def malformed_headers_reset_their_stream(make: Make) -> None:
    client = Client(make)
    plain = request()
    malformed = [
        [header for header in plain if header[0] != ":path"],
        [header for header in plain if header[0] != ":method"],
        [header for header in plain if header[0] != ":scheme"],
        request(path=""),
        request(method=""),
        [*plain, (":path", "/late")],
        [(":status", "200"), *plain],
        [(":method", "POST"), *plain],
        [(":scheme", "http"), *plain],
        [*plain, ("X-Upper", "1")],
        [*plain, ("x y", "1")],
        [*plain, ("x:y", "1")],
        [*plain, ("", "1")],
        [*plain, (b"x-\xc3\xa9", b"1")],
        [*plain, ("x-a", "1\r\nx-b: 2")],
        [*plain, ("x-a", "\0")],
        [*plain, ("connection", "close")],
        [*plain, ("transfer-encoding", "chunked")],
        [*plain, ("upgrade", "h2c")],
        [*plain, ("keep-alive", "1")],
        [*plain, ("proxy-connection", "1")],
        [*plain, ("te", "gzip")],
    ]
    for headers in malformed:
        stream = client.open(headers)
        assert client.turn() == [], headers
        assert client.answer(stream) == ({}, b"", {}, False, PROTOCOL_ERROR), headers
    stream = client.call()
    client.echo(client.turn())
    assert client.answer(stream).status == ("0", None)


def trailers_end_a_request(make: Make) -> None:
    client = Client(make)
    good = client.open()
    client.h2.send_data(good, add_prefix(b"x"))
    client.h2.send_headers(good, [("x-checksum", "1")], end_stream=True)
    assert client.turn() == [(CALL, good, PATH, FIELDS, b"x")]
    bad = client.open(request(STREAM))
    client.turn()
    client.h2.send_headers(bad, [("x-fine", "1"), ("x:y", "1")], end_stream=True)
    assert client.turn() == [(RESET, bad, PROTOCOL_ERROR)]
    assert client.answer(bad).reset == PROTOCOL_ERROR
    untold = client.open()
    client.h2.send_headers(untold, [(":path", "/")], end_stream=True)
    assert client.turn() == []
    assert client.answer(untold).reset == PROTOCOL_ERROR
    answered = client.open(request(content_type="text/plain"))
    client.h2.send_headers(answered, [("x:y", "1")], end_stream=True)
    assert client.turn() == []
    open_ = client.open()
    client.turn()
    client.raw(HeadersFrame(open_, client.h2.encoder.encode([("x-a", "1")]), flags=["END_HEADERS"]))
    assert (client.kinds[-1], client.goaway) == (FAILED, PROTOCOL_ERROR)


def answers_at_once_are_single_answers(make: Make) -> None:
    client = Client(make)
    several, none, *each = [client.call() for _ in range(4)]
    client.turn()
    client.server.answer(several, [b"one", b"", b"three"])
    client.server.answer(none, [])
    client.server.unary_each([(stream, b"%d" % stream) for stream in each])
    client.turn()
    assert client.answer(several).data == add_prefix(b"one") + add_prefix(b"") + add_prefix(b"three")
    assert client.answer(none).data == b""
    assert [client.answer(stream).data for stream in each] == [add_prefix(b"%d" % stream) for stream in each]
    for stream in (several, none, *each):
        assert client.answer(stream).status == ("0", None)
        assert client.answer(stream).ended
