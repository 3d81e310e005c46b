"""HTTP over real sockets: answers, refusals and time limits."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from http.client import HTTPMessage, parse_headers
from io import BytesIO
from typing import Any, NamedTuple

import pytest
import trio
from hypothesis import strategies as st

from rocketwire.server.http import connection
from rocketwire.server.http.connection import LARGEST_BODY, LARGEST_HEAD
from rocketwire.server.http.messages import HttpRequest, HttpResponse, json_response, text_response
from rocketwire.server.http.server import HttpServer
from rocketwire.server.net.listener import bind
from tests.server.harness import NOW, Clock, mock_clock, settle

GET = b"GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: bytes


class Http:
    """A client that writes bytes as they are and reads whole answers."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._data = b""

    async def request(self, data: bytes, *, head: bool = False) -> Answer:
        await self.stream.send_all(data)
        return await self.answer(head=head)

    async def _until(self, end: bytes) -> bytes:
        while end not in self._data:
            more = await self.stream.receive_some()
            assert more, f"closed after {self._data!r}"
            self._data += more
        found, _, self._data = self._data.partition(end)
        return found + end

    async def answer(self, *, head: bool = False) -> Answer:
        lines = await self._until(b"\r\n\r\n")
        first, _, rest = lines.partition(b"\r\n")
        headers = parse_headers(BytesIO(rest))
        length = 0 if head else int(headers["content-length"] or 0)
        while len(self._data) < length:
            self._data += await self.stream.receive_some()
        body, self._data = self._data[:length], self._data[length:]
        return Answer(int(first.split()[1]), headers, body)

    async def closed(self) -> bool:
        """Whether the server closed the connection without another byte."""
        return self._data + await self.stream.receive_some() == b""


async def hello(request: HttpRequest) -> HttpResponse:
    return text_response(f"hello {dict(request.parameters)} {request.body!r}")


async def bug(_: HttpRequest) -> HttpResponse:
    raise ValueError("secret")


async def slow(_: HttpRequest) -> HttpResponse:
    await trio.sleep(1000)
    raise AssertionError


async def large(_: HttpRequest) -> HttpResponse:
    return HttpResponse(body=bytes(32 << 20))


async def bad_header(_: HttpRequest) -> HttpResponse:
    return HttpResponse(headers=(("X", "two\nlines"),))


async def as_json(_: HttpRequest) -> HttpResponse:
    return json_response({"a": [1]}, status=503)


ROUTES = {
    ("GET", "/hello"): hello,
    ("POST", "/hello"): hello,
    ("DELETE", "/gone"): hello,
    ("GET", "/bug"): bug,
    ("GET", "/slow"): slow,
    ("GET", "/large"): large,
    ("GET", "/bad header"): bad_header,
    ("GET", "/json"): as_json,
}


@contextlib.asynccontextmanager
async def http_server(host: str = "127.0.0.1", *, hosts: frozenset[str] = frozenset()) -> AsyncIterator[int]:
    """A server of `ROUTES`; its port."""
    sock = bind(host, 0, option="")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(HttpServer(sock, ROUTES, Clock(), hosts=hosts).run)
        yield sock.getsockname()[1]
        nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def http() -> AsyncIterator[Http]:
    async with http_server() as port, await trio.open_tcp_stream("127.0.0.1", port) as stream:
        yield Http(stream)


async def test_an_answer_has_its_type_length_and_date() -> None:
    async with http() as client:
        answer = await client.request(GET)
        assert (answer.status, answer.body) == (200, b"hello {} b''\n")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.headers["date"] == "Tue, 14 Nov 2023 22:13:20 GMT"
        assert answer.headers["cache-control"] == "no-store"
        assert NOW // 1000 == 1_700_000_000


async def test_a_connection_is_kept_and_pipelined_requests_are_answered_in_order() -> None:
    async with http() as client:
        await client.stream.send_all(GET * 3)
        assert [(await client.answer()).status for _ in range(3)] == [200] * 3
        assert (await client.request(GET)).status == 200


async def test_a_request_in_single_bytes_is_answered() -> None:
    async with http() as client:
        for byte in GET:
            await client.stream.send_all(bytes([byte]))
            await settle()
        assert (await client.answer()).status == 200


@pytest.mark.parametrize(
    "request_bytes",
    [b"GET /hello HTTP/1.0\r\n\r\n", b"GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"],
)
async def test_the_connection_is_closed_if_the_client_wants_that(request_bytes: bytes) -> None:
    async with http() as client:
        answer = await client.request(request_bytes)
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert await client.closed()


async def test_head_is_answered_as_get_without_the_body() -> None:
    async with http() as client:
        answer = await client.request(GET.replace(b"GET", b"HEAD"), head=True)
        assert (answer.status, answer.headers["content-length"]) == (200, "13")
        assert (await client.request(GET)).body == b"hello {} b''\n"


async def test_the_query_and_the_path_are_decoded() -> None:
    async with http() as client:
        answer = await client.request(b"GET /hel%6Co?a=1&b=x%20y&a=2&c HTTP/1.1\r\nHost: h\r\n\r\n")
        assert answer.body == b"hello {'a': '2', 'b': 'x y', 'c': ''} b''\n"
        answer = await client.request(b"GET http://h:1/hello?a=1 HTTP/1.1\r\nHost: h\r\n\r\n")
        assert answer.body == b"hello {'a': '1'} b''\n"
        answer = await client.request(b"GET /hello?" + b"a&" * 65 + b" HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (answer.status, answer.body) == (400, b"a query may have 64 parameters\n")


@pytest.mark.parametrize(
    "coded", [b"Content-Length: 3\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"]
)
async def test_a_body_is_read(coded: bytes) -> None:
    async with http() as client:
        answer = await client.request(b"POST /hello HTTP/1.1\r\nHost: h\r\n" + coded)
        assert answer.body == b"hello {} b'abc'\n"
        assert (await client.request(GET)).status == 200


async def test_a_client_that_expects_100_continue_gets_it() -> None:
    async with http() as client:
        head = b"POST /hello HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
        assert (await client.request(head)).status == 100
        assert (await client.request(b"x")).body == b"hello {} b'x'\n"
        assert (await client.request(head.replace(b": 1\r", b": 99999\r"))).status == 413


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("PUT", "/hello", "GET, POST, HEAD"), ("GET", "/gone", "DELETE"), ("OPTIONS", "/json", "GET, HEAD")],
)
async def test_an_unsupported_method_is_refused(method: str, path: str, allowed: str) -> None:
    async with http() as client:
        answer = await client.request(f"{method} {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        assert (answer.status, answer.headers["allow"]) == (405, allowed)
        assert (await client.request(GET)).status == 200


@pytest.mark.parametrize("target", ["/", "/hell", "/hello/", "//hello", "*", "h:443", "/%00", "/hello%", "/../hello"])
async def test_an_unknown_path_is_not_found(target: str) -> None:
    async with http() as client:
        answer = await client.request(f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        assert answer.status == 404
        assert answer.body.startswith(b"not found; there are /bad header /bug")


async def test_connect_is_refused() -> None:
    async with http() as client:
        assert (await client.request(b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n")).status == 404


async def test_a_page_of_a_web_site_changes_nothing() -> None:
    async with http() as client:
        origin = b"Host: h\r\nOrigin: http://evil.example\r\n\r\n"
        assert (await client.request(b"GET /hello HTTP/1.1\r\n" + origin)).status == 200
        assert (await client.request(b"POST /hello HTTP/1.1\r\n" + origin)).status == 403


@pytest.mark.parametrize(("sent_from", "status"), [("cross-site", 403), ("same-site", 403), ("none", 200)])
async def test_a_page_that_hides_its_origin_changes_nothing(sent_from: str, status: int) -> None:
    async with http() as client:
        headers = f"Host: h\r\nSec-Fetch-Site: {sent_from}\r\n\r\n".encode()
        assert (await client.request(b"GET /hello HTTP/1.1\r\n" + headers)).status == 200
        assert (await client.request(b"POST /hello HTTP/1.1\r\n" + headers)).status == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 421),
        ("evil.example:5557", 421),
        ("127.0.0.1.evil.example", 421),
        ("evil.example.", 421),
        ("allowed.example.evil.example", 421),
        ("allowed.example:5557", 200),
        ("Allowed.Example.", 200),
        ("localhost:5557", 200),
        ("rocketwire:5557", 200),
        ("10.0.0.5", 200),
        ("[::1]:5557", 200),
        ("[::1]", 200),
    ],
)
async def test_no_web_site_reads_an_answer_under_its_own_name(host: str, status: int) -> None:
    async with (
        http_server(hosts=frozenset({"allowed.example"})) as port,
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        for method in (b"GET", b"POST"):
            answer = await Http(stream).request(method + b" /hello HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n")
            assert answer.status == status


async def test_all_host_names_are_allowed_if_configured() -> None:
    async with (
        http_server(hosts=frozenset({"*"})) as port,
        await trio.open_tcp_stream("127.0.0.1", port) as stream,
    ):
        assert (await Http(stream).request(b"GET /hello HTTP/1.1\r\nHost: any.example\r\n\r\n")).status == 200


async def test_a_bug_in_a_handler_is_shown_in_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    async with http() as client:
        answer = await client.request(b"GET /bug HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (answer.status, answer.body) == (500, b"a bug; the server's log says more\n")
        assert "secret" in caplog.text
        assert (await client.request(GET)).status == 200


async def test_a_header_that_cannot_be_sent_ends_its_connection_only(caplog: pytest.LogCaptureFixture) -> None:
    async with http_server() as port:
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            await stream.send_all(b"GET /bad%20header HTTP/1.1\r\nHost: h\r\n\r\n")
            assert await stream.receive_some() == b""
        assert "an HTTP connection" in caplog.text
        async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
            assert (await Http(stream).request(GET)).status == 200


async def test_json_is_written() -> None:
    async with http() as client:
        answer = await client.request(b"GET /json HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (answer.status, answer.headers["content-type"]) == (503, "application/json")
        assert answer.body == b'{\n  "a": [\n    1\n  ]\n}\n'


# --- too large ---


async def test_a_head_that_is_too_large_is_refused() -> None:
    async with http() as client:
        answer = await client.request(b"GET /hello HTTP/1.1\r\nX: " + b"x" * (2 * LARGEST_HEAD))
        assert (answer.status, answer.headers["connection"]) == (431, "close")
        assert await client.closed()


@pytest.mark.parametrize(
    "coded",
    [
        b"Content-Length: %d\r\n\r\n" % (LARGEST_BODY + 1),
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % (1 << 30) + bytes(LARGEST_BODY + 1),
    ],
)
async def test_a_body_that_is_too_large_is_refused(coded: bytes) -> None:
    async with http() as client:
        answer = await client.request(b"POST /hello HTTP/1.1\r\nHost: h\r\n" + coded)
        assert (answer.status, answer.body) == (413, b"a body may have 65536 bytes\n")
        assert await client.closed()


async def test_the_largest_body_is_read() -> None:
    async with http() as client:
        head = b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % LARGEST_BODY
        assert (await client.request(head + b"x" * LARGEST_BODY)).status == 200


async def test_an_answer_is_not_lost_though_more_comes_than_is_read() -> None:
    async with http() as client:
        await client.stream.send_all(
            b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n" + bytes(200_000)
        )
        assert (await client.answer()).status == 413


@pytest.mark.parametrize("more", [0, 1])
async def test_the_largest_head_is_read(more: int) -> None:
    async with http() as client:
        start = GET[:-2] + b"X: "
        answer = await client.request(start + b"x" * (LARGEST_HEAD - len(start) - 4 + more) + b"\r\n\r\n")
        assert answer.status == (431 if more else 200)


# --- too slow ---


async def test_a_connection_that_is_silent_from_the_start_is_closed_soon() -> None:
    async with http() as client:
        await settle()
        mock_clock().jump(connection.FIRST_SECONDS)
        assert await client.closed()


async def test_a_silent_connection_is_closed() -> None:
    async with http() as client:
        assert (await client.request(GET)).status == 200
        await settle()
        mock_clock().jump(connection.IDLE_SECONDS - 1)
        assert (await client.request(GET)).status == 200
        await settle()
        mock_clock().jump(connection.IDLE_SECONDS)
        assert await client.closed()


async def test_a_request_that_does_not_end_is_refused() -> None:
    async with http() as client:
        await client.stream.send_all(GET[:-2])
        for _ in range(10):
            await settle()
            mock_clock().jump(connection.REQUEST_SECONDS / 10)
        answer = await client.answer()
        assert (answer.status, answer.body) == (408, b"the request did not come within 10 s\n")
        await settle()
        mock_clock().jump(1)
        assert await client.closed()


async def test_a_handler_that_takes_too_long_is_ended() -> None:
    async with http() as client:
        await client.stream.send_all(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        await settle()
        mock_clock().jump(connection.HANDLER_SECONDS)
        assert (await client.answer()).status == 503
        assert (await client.request(GET)).status == 200


async def test_a_client_that_does_not_read_is_closed() -> None:
    async with http() as client:
        await client.stream.send_all(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        await settle()
        mock_clock().jump(connection.SEND_SECONDS)
        await settle()
        received = 0
        with contextlib.suppress(trio.BrokenResourceError):
            while data := await client.stream.receive_some(1 << 20):
                received += len(data)
        assert received < 32 << 20


async def test_the_bytes_of_unread_answers_are_bounded() -> None:
    async with (
        http_server() as port,
        await trio.open_tcp_stream("127.0.0.1", port) as first,
        await trio.open_tcp_stream("127.0.0.1", port) as second,
    ):
        for stream in (first, second):
            await stream.send_all(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
            await settle()
        received = 0
        with contextlib.suppress(trio.BrokenResourceError):
            while received < 32 << 20 and (data := await first.receive_some(1 << 20)):
                received += len(data)
        assert received < 32 << 20, "the answer of who has not read for longest is dropped"
        assert (await Http(second).answer()).status == 200


# --- garbage ---


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00\x00\x00\x64\x00\x00\x00\x50{}",
        b"GET /hello\r\n\r\n",
        b"GET /hello HTTP/1.1\r\n\r\n",
        b"GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /hello HTTP/one\r\nHost: h\r\n\r\n",
        b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /hello HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /hello HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n",
    ],
)
async def test_malformed_requests_are_answered_and_closed(garbage: bytes) -> None:
    async with http() as client:
        answer = await client.request(garbage + b"\r\n\r\n")
        assert answer.status in {400, 501}
        assert answer.headers["connection"] == "close"
        await settle()
        mock_clock().jump(1)
        assert await client.closed()


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        (b"Content-Length: %d\r\n\r\n" % (LARGEST_BODY + 1), 413),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"Content-Length: 1\r\n\r\n", 408),
    ],
)
async def test_a_malformed_body_of_a_head_request_is_answered_without_a_body(
    rest: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with http() as client:
        await client.stream.send_all(b"HEAD /hello HTTP/1.1\r\nHost: h\r\n" + rest)
        if status == 408:
            await settle()
            mock_clock().jump(connection.REQUEST_SECONDS)
        answer = await client.answer(head=True)
        assert (answer.status, answer.headers["connection"]) == (status, "close")
        assert await client.closed()
    assert not caplog.records


@pytest.mark.parametrize(
    "data", [b"", b"GET", GET[:-1], b"POST /hello HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"]
)
async def test_a_client_that_leaves_affects_no_other(data: bytes) -> None:
    async with http_server() as port:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
        await stream.send_all(data)
        await stream.aclose()
        await settle()
        async with await trio.open_tcp_stream("127.0.0.1", port) as other:
            assert (await Http(other).request(GET)).status == 200


tokens = st.sampled_from(
    [b"GET ", b"POST ", b"/hello", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"Host: h", b"Content-Length: 3", b"\x00", b"0"]
)


def test_messages_have_defaults() -> None:
    request: Any = HttpRequest(method="GET", path="/")
    assert (request.parameters, request.headers, request.body) == ({}, {}, b"")
