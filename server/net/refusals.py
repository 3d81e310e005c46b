"""Connections that are not let in: the first request is answered, so that the client knows why, then they are closed.

Only a few are answered at a time, each for a short while; the others are closed at once.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final

import trio

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.request import Reply
from rocketwire.server.net.descriptors import Room
from rocketwire.wire.codes import FLAG_ONEWAY, FLAG_RESPONSE
from rocketwire.wire.errors import FrameError
from rocketwire.wire.frame import HEADER_LENGTH_MASK, PREFIX, TYPE_SHIFT, encode_frame
from rocketwire.wire.header import Header, decode_header

MOST_AT_ONCE: Final = 64
SECONDS: Final = 1.0
LONGEST_HEADER: Final = 64 * 1024
"""A longer one is not waited for, to be refused."""
_READ_BYTES: Final = 64 * 1024

_scratch = memoryview(bytearray(_READ_BYTES))  # what it holds is read before the next receives


def first_header(data: bytes | bytearray | memoryview) -> tuple[Header, int] | None:
    """The header that a stream begins with and its serialisation; None: it has not all come.

    Raises:
        FrameError: no frame begins so, or none whose header is of use.
    """
    if len(data) < PREFIX.size:
        return None
    length, word = PREFIX.unpack_from(data)
    size, kind = word & HEADER_LENGTH_MASK, word >> TYPE_SHIFT
    if length < PREFIX.size - 4 + size or size > LONGEST_HEADER:
        raise FrameError(f"header of {size} bytes in a frame of {length}")
    if len(data) < PREFIX.size + size:
        return None
    return decode_header(memoryview(data)[PREFIX.size : PREFIX.size + size], kind), kind


def refusal_frame(header: Header, kind: int, error: ServerError) -> bytes:
    """The answer that tells a request of an error; empty where none is expected."""
    if header.flag & (FLAG_ONEWAY | FLAG_RESPONSE):
        return b""
    return encode_frame(Reply(code=response_code(error), remark=str(error)).header(header.opaque), b"", kind)


async def drain(sock: socket.socket, *, seconds: float = SECONDS) -> None:
    """Send no more, and read on until the client closes: closing before would lose the answer it is to read.

    Raises:
        OSError: the connection is broken.
    """
    with trio.move_on_after(seconds):
        sock.shutdown(socket.SHUT_WR)
        while await _received(sock):
            pass


class ConnectionRefuser:
    """Refuses connections, and takes descriptors of `farewells` meanwhile."""

    def __init__(self, farewells: Room) -> None:
        self._answering = 0
        self._farewells = farewells

    def refuse(self, sock: socket.socket, error: ServerError, nursery: trio.Nursery) -> None:
        """Answer the connection's first request with this error, and close it."""
        if self._answering >= MOST_AT_ONCE or not self._farewells.take():
            sock.close()
            return
        self._answering += 1
        nursery.start_soon(self._refuse, sock, error)

    async def _refuse(self, sock: socket.socket, error: ServerError) -> None:
        try:
            with contextlib.suppress(OSError, FrameError), trio.move_on_after(SECONDS):
                if await _answer(sock, error):
                    await drain(sock)
        finally:
            self._answering -= 1
            sock.close()
            self._farewells.give_back()


async def _answer(sock: socket.socket, error: ServerError) -> bool:
    """Wait for the first request and answer it; whether there was one."""
    data = bytearray()
    while (found := first_header(data)) is None:
        size = await _received(sock)
        if not size:
            return False
        data += _scratch[:size]
    sock.send(refusal_frame(*found, error))
    return True


async def _received(sock: socket.socket) -> int:
    """How many bytes came, now in the scratch buffer; 0: no more will."""
    while True:
        await trio.lowlevel.wait_readable(sock)
        with contextlib.suppress(BlockingIOError, InterruptedError):
            return sock.recv_into(_scratch)
