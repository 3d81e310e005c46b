"""Connections whose other end vanished silently: its machine lost power, or the network between was cut."""

from __future__ import annotations

import ctypes
import errno
import socket
import struct
import sys
import time
from collections.abc import Iterator

import pytest
import trio

from rocketwire.server.upstream.connecting import connect_plain, notice_its_end
from rocketwire.wire.addresses import Address

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packets are dropped by Linux's filter of a socket")

SO_ATTACH_FILTER = 26
WITHIN = 10.0


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def unplug(sock: socket.socket) -> None:
    """Have the system drop all bytes that come to a socket, so that none are acknowledged, not even probes."""
    drop_all = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # one step: return 0
    program = struct.pack("HL", 1, ctypes.addressof(drop_all))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


async def dial(server: socket.socket, nursery: trio.Nursery) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection."""
    sock = await connect_plain(Address(host="127.0.0.1", port=server.getsockname()[1]), nursery)
    return sock, server.accept()[0]


@pytest.mark.parametrize("sent", [b"", b"a request"])
async def test_a_connection_ends_when_nothing_is_acknowledged(
    server: socket.socket, nursery: trio.Nursery, sent: bytes
) -> None:
    sock, far = await dial(server, nursery)
    with sock, far:
        notice_its_end(sock, silent=1, dead=1)
        unplug(far)
        sock.send(sent)
        end = time.monotonic() + WITHIN
        while (error := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)) == 0:
            assert time.monotonic() < end
            time.sleep(0.05)  # noqa: ASYNC251 - it is the system's time that passes
        assert error == errno.ETIMEDOUT


async def test_each_connection_is_watched(server: socket.socket, nursery: trio.Nursery) -> None:
    sock, far = await dial(server, nursery)
    with sock, far:
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
