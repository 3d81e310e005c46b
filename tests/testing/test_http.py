"""HTTP as an endpoint's client speaks it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import pytest
import trio

from rocketwire.remoting.errors import NotReached
from rocketwire.testing.http import Exchange, HttpResponse, fetch, fetch_with_trio

ANSWER = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello"


class Answering:
    """A server that gives one answer, whatever it is asked."""

    def __init__(self, answer: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.asked = b""
        self._thread = threading.Thread(target=self._serve, args=(answer,))
        self._thread.start()

    def _serve(self, answer: bytes) -> None:
        connection, _ = self._socket.accept()
        with connection:
            self.asked = connection.recv(65536)
            for at in range(len(answer)):
                connection.sendall(answer[at : at + 1])
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)

    def close(self) -> None:
        self._thread.join(60)
        self._socket.close()


def with_trio(exchange: Exchange) -> HttpResponse:
    return trio.run(fetch_with_trio, exchange)


both = pytest.mark.parametrize("fetched", [fetch, with_trio], ids=["blocking", "trio"])


@both
def test_a_request_and_its_response(fetched: Callable[[Exchange], HttpResponse]) -> None:
    server = Answering(ANSWER)
    response = fetched(Exchange(server.address, "POST", "/faults?id=1", b"drop"))
    server.close()
    assert response == HttpResponse(201, b"hello")
    head, _, body = server.asked.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /faults?id=1 HTTP/1.1\r\n")
    assert f"Host: {server.address}".encode() in head
    assert (b"Content-Length: 4" in head, body) == (True, b"drop")


@both
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "there is no response"),
        (ANSWER[:-1], "peer closed"),
        (b"RocketMQ\r\n\r\n", "illegal"),
    ],
)
def test_what_is_no_response(fetched: Callable[[Exchange], HttpResponse], answer: bytes, reason: str) -> None:
    server = Answering(answer)
    with pytest.raises(NotReached, match=f"HTTP server {server.address}.*({reason})"):
        fetched(Exchange(server.address, "GET", "/"))
    server.close()


@both
def test_a_server_that_is_not_there(fetched: Callable[[Exchange], HttpResponse]) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        with pytest.raises(NotReached, match=address):
            fetched(Exchange(address, "GET", "/"))
