"""Requests to the HTTP server, in pieces: each with two bytes of its length before it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import trio
import trio.testing

from rocketwire.server.faults.http import fault_routes
from rocketwire.server.http.connection import HttpConnection
from rocketwire.server.http.messages import HttpRequest, HttpResponse, text_response
from tests.fuzz.loop import running
from tests.fuzz.part import Check, Part
from tests.server.harness import NOW

_STATUSES = {100, 200, 400, 403, 404, 405, 408, 413, 414, 417, 426, 431, 501, 505}


async def _health(request: HttpRequest) -> HttpResponse:
    assert request.path == "/healthz"
    return text_response("ok")


_ROUTES = {("GET", "/healthz"): _health, ("POST", "/healthz"): _health, **fault_routes(None)}


async def serve(data: bytes) -> None:
    """Nothing that a client sends raises, and each answer has a status."""
    ours, theirs = trio.testing.memory_stream_pair()
    stream: Any = theirs
    async with trio.open_nursery() as nursery:
        nursery.start_soon(HttpConnection(stream, _ROUTES, lambda: NOW).run)
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 2])
            try:
                await ours.send_all(data[at + 2 : at + 2 + size])
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                break
            await trio.testing.wait_all_tasks_blocked()
            at += 2 + size
        await ours.send_stream.aclose()
        answers = b"".join([part async for part in ours.receive_stream])
    if answers:
        version, status, _ = answers.split(b" ", 2)
        assert (version, int(status) in _STATUSES) == (b"HTTP/1.1", True), answers[:200]


@contextmanager
def opened() -> Iterator[Check]:
    """With an event loop."""
    with running() as loop:
        yield lambda data: loop.run(serve, data)


def _sent(*pieces: bytes) -> bytes:
    return b"".join(len(piece).to_bytes(2) + piece for piece in pieces)


def seeds() -> Iterator[bytes]:
    """Requests of each kind, whole and in pieces."""
    yield _sent(b"GET /healthz?a=1&b=%41 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n")
    yield _sent(b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na", b"bc")
    yield _sent(b"POST /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    yield _sent(b"POST /faults HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", b"x")
    yield _sent(b"DELETE /faults?id=1 HTTP/1.1\r\nHost: x\r\nOrigin: y\r\nConnection: close\r\n\r\n")
    yield _sent(b"HEAD http://h/healthz HTTP/1.0\r\n\r\n")
    yield _sent(b"PUT /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")


PART = Part(
    opened=opened,
    seeds=seeds,
    words=[
        *("GET ", "POST ", "HEAD ", "DELETE ", "OPTIONS * ", "CONNECT h:1 ", " HTTP/1.1\r\n", " HTTP/1.0\r\n", "\r\n"),
        *("Host: x\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n", "Connection: ", "Upgrade: ", "Origin: "),
        *("Expect: 100-continue\r\n", "/healthz", "/faults", "?", "&", "%", "%00", "0\r\n\r\n", b"\x80", "://"),
    ],
)
