"""What a client sends when it begins TLS: pieces, each with two bytes of its length before it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rocketwire.server.net.tls.contexts import make_test_context
from rocketwire.server.net.tls.engine import TlsEngine, TlsFault
from tests.fuzz.part import Check, Part
from tests.server.harness import NOW

_MOST = 1 << 16


@contextmanager
def opened() -> Iterator[Check]:
    """With a certificate."""
    context = make_test_context(NOW)

    def check(data: bytes) -> None:
        """The handshake continues, or fails with an error; nothing is decrypted that was not encrypted."""
        engine = TlsEngine(context)
        plain = memoryview(bytearray(100))
        at = 0
        try:
            while at < len(data):
                size = int.from_bytes(data[at : at + 2])
                engine.receive(data[at + 2 : at + 2 + size])
                at += 2 + size
                assert not engine.shake_hands()
        except TlsFault as fault:
            assert str(fault)
            try:
                assert engine.read_into(plain) == 0
            except TlsFault as again:
                assert str(again)
        assert len(engine.to_send()) < _MOST
        engine.end()

    yield check


def _hello(**changes: object) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in changes.items():
        setattr(context, name, value)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="broker.test").do_handshake()
    return outgoing.read()


def seeds() -> Iterator[bytes]:
    """Hellos of two versions, whole and in two pieces, and what is none."""
    for hello in (_hello(), _hello(maximum_version=ssl.TLSVersion.TLSv1_2)):
        yield len(hello).to_bytes(2) + hello
        yield (7).to_bytes(2) + hello[:7] + (len(hello) - 7).to_bytes(2) + hello[7:]
        yield b"\0\5" + hello[:5] + b"\0\x10" + bytes(16)
    yield b"\0\x07\x15\x03\x01\0\2\2\x28"
    yield b"\0\x06\x16\x03\x01\0\0\0"


PART = Part(
    opened=opened,
    seeds=seeds,
    words=[
        b"\x16\x03\x01",
        b"\x16\x03\x03",
        b"\x14\x03\x03\0\1\1",
        b"\x15\x03\x03\0\2",
        b"\x03\x04",
        b"\0\x2b",
        b"\0\x33",
    ],
)
