"""Connects and disconnects at once, so many times a second.

`python -m tests.server.connection_flood PORT RATE SECONDS KIND` prints how many times.
It is a process, so that it takes no time of the server or of the measured clients. It connects to this machine only.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import time
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")


def client_hello() -> bytes:
    """The first message of a TLS client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def flood(port: int, rate: int, seconds: float, first: bytes) -> int:
    """Connect, send the first bytes, and close, repeatedly; the number of connections."""
    began, done = time.monotonic(), 0
    while (now := time.monotonic()) < began + seconds:
        for _ in range(min(64, int((now - began) * rate) - done)):
            done += 1
            with socket.socket() as sock:
                sock.setblocking(False)
                with contextlib.suppress(OSError):  # the server's backlog is full
                    sock.connect_ex(("127.0.0.1", port))
                    sock.send(first)
        time.sleep(0.001)
    return done


if __name__ == "__main__":
    port, rate, seconds, kind = sys.argv[1:]
    firsts = {"silent": b"", "http2": PREFACE, "tls": client_hello(), "frame": b"\0\0\0\x20\0"}
    sys.stdout.write(f"{flood(int(port), int(rate), float(seconds), firsts[kind])}\n")
