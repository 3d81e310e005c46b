"""HTTP as an endpoint's client speaks it."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from rocketwire.remoting.errors import NotReached
from rocketwire.testing import ControlRefused
from rocketwire.testing.control import ControlCall

ANSWER = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello"


class Answering:
    """A server that gives one answer to whatever request."""

    def __init__(self, answer: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.request = b""
        self._thread = threading.Thread(target=self._serve, args=(answer,))
        self._thread.start()

    def _serve(self, answer: bytes) -> None:
        connection, _ = self._socket.accept()
        with connection:
            while not self.request.endswith(b"drop"):
                self.request += connection.recv(65536)
            with contextlib.suppress(OSError):  # the client closes as soon as it finds that this is no HTTP
                for at in range(len(answer)):
                    connection.sendall(answer[at : at + 1])
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)

    def close(self) -> None:
        self._thread.join(60)
        self._socket.close()


def call(address: str) -> bytes:
    return ControlCall("POST", "/faults?id=1", bytes, b"drop").run(address)


def test_a_request_and_its_response() -> None:
    server = Answering(ANSWER)
    assert call(server.address) == b"hello"
    server.close()
    head, _, body = server.request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /faults?id=1 HTTP/1.1\r\n")
    assert f"Host: {server.address}".encode() in head
    assert (b"Content-Length: 4" in head, body) == (True, b"drop")


def test_a_refusal_has_a_reason() -> None:
    server = Answering(ANSWER.replace(b"201 Created", b"409 Conflict"))
    with pytest.raises(ControlRefused, match=r"^hello$"):
        call(server.address)
    server.close()


@pytest.mark.parametrize("answer", [b"", ANSWER[:-1], b"RocketMQ\r\n\r\n"])
def test_what_is_no_response(answer: bytes) -> None:
    server = Answering(answer)
    with pytest.raises(NotReached, match=f"HTTP server {server.address}: ."):
        call(server.address)
    server.close()


def test_a_missing_server() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{sock.getsockname()[1]}"
        with pytest.raises(NotReached, match=address):
            call(address)
