from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socket
import threading
from pathlib import Path

import pytest

from bench import access
from rocketwire.wire.connection import FrameReader
from rocketwire.wire.frame import encode_frame
from rocketwire.wire.header import Header, decode_header


def test_sends_are_signed_over_their_fields_and_their_body() -> None:
    (frame,), _ = FrameReader().receive(memoryview(access.send(signed=True)))
    ext = dict(decode_header(frame.header, frame.serialize_type).ext or {})
    signature = ext.pop("Signature")
    assert ext["AccessKey"] == access.KEY
    content = "".join(ext[name] for name in sorted(ext)).encode() + bytes(frame.body)
    assert base64.b64decode(signature) == hmac.new(access.SECRET.encode(), content, hashlib.sha1).digest()


class Answering:
    """Stands for a broker: answers every frame of one connection with a code."""

    def __init__(self, code: int) -> None:
        self.pid = 0
        self._code = code
        self._sock = socket.create_server(("127.0.0.1", 0))
        self.broker_port = self._sock.getsockname()[1]
        self.asked = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection, _ = self._sock.accept()
        reader = FrameReader()
        answer = encode_frame(Header(code=self._code, opaque=7, flag=1, version=407), b"", 0)
        with connection, contextlib.suppress(ConnectionError):  # who is refused leaves
            while data := connection.recv(1000):  # so that answers come in pieces of any size
                frames, _ = reader.receive(memoryview(data))
                self.asked += len(frames)
                connection.sendall(answer * len(frames))

    def close(self) -> None:
        self._thread.join(5)
        self._sock.close()


def test_every_answer_is_counted() -> None:
    broker = Answering(0)
    with socket.create_connection(("127.0.0.1", broker.broker_port), 5) as sock:
        answered = access.loop(sock, access.send(signed=False), 0.3)
    broker.close()
    assert answered == broker.asked > access.WINDOW


def test_a_refusal_is_no_measurement() -> None:
    broker = Answering(1)
    with (
        socket.create_connection(("127.0.0.1", broker.broker_port), 5) as sock,
        pytest.raises(RuntimeError, match='"code":1'),
    ):
        access.loop(sock, access.send(signed=False), 5)
    broker.close()


def test_everybody_is_let_in_at_first(tmp_path: Path) -> None:
    accounts = tmp_path / "conf" / "plain_acl.yml"
    access.open_to_all(accounts)
    assert "127.0.0.1" in accounts.read_text("utf-8")
