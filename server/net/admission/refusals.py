"""Refused connections: the first request is answered with the reason, then the connection is closed.

Only a few are answered at a time, each for a short while; the others are closed at once.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final

import trio

from rocketwire.server.core.errors import ServerError, response_code
from rocketwire.server.core.request import Reply
from rocketwire.server.net.admission.descriptors import DescriptorBudget
from rocketwire.wire.errors import FrameError
from rocketwire.wire.facts.codes import FLAG_ONEWAY, FLAG_RESPONSE
from rocketwire.wire.frame import FRAME_PREFIX, HEADER_LENGTH_MASK, TYPE_SHIFT, encode_frame
from rocketwire.wire.header import Header, decode_header

MOST_AT_ONCE: Final = 64
SECONDS: Final = 1.0
LONGEST_HEADER: Final = 64 * 1024
"""A longer header is not waited for."""
_READ_BYTES: Final = 64 * 1024

_scratch = memoryview(bytearray(_READ_BYTES))  # its content is used before the next read


def first_header(data: bytes | bytearray | memoryview) -> tuple[Header, int] | None:
    """The header that a stream begins with and its serialisation; None: it is incomplete.

    Raises:
        FrameError: this is not the beginning of a frame with a usable header.
    """
    if len(data) < FRAME_PREFIX.size:
        return None
    length, word = FRAME_PREFIX.unpack_from(data)
    size, kind = word & HEADER_LENGTH_MASK, word >> TYPE_SHIFT
    if length < FRAME_PREFIX.size - 4 + size or size > LONGEST_HEADER:
        raise FrameError(f"header of {size} bytes in a frame of {length}")
    if len(data) < FRAME_PREFIX.size + size:
        return None
    return decode_header(memoryview(data)[FRAME_PREFIX.size : FRAME_PREFIX.size + size], kind), kind


def refusal_frame(header: Header, kind: int, error: ServerError) -> bytes:
    """The answer to a request with an error; empty if the request expects none."""
    if header.flag & (FLAG_ONEWAY | FLAG_RESPONSE):
        return b""
    return encode_frame(Reply(code=response_code(error), remark=str(error)).header(header.opaque), b"", kind)


async def drain(sock: socket.socket, *, seconds: float = SECONDS) -> None:
    """Shut down sending and read until the client closes: closing earlier could discard the answer.

    Raises:
        OSError: the connection is broken.
    """
    with trio.move_on_after(seconds):
        sock.shutdown(socket.SHUT_WR)
        while await _received(sock):
            pass


class ConnectionRefuser:
    """Refuses connections; answering one takes a descriptor of `linger_budget`."""

    def __init__(self, linger_budget: DescriptorBudget) -> None:
        self._answering = 0
        self._linger_budget = linger_budget

    def refuse(self, sock: socket.socket, error: ServerError, nursery: trio.Nursery) -> None:
        """Answer the connection's first request with this error, and close it."""
        if self._answering >= MOST_AT_ONCE or not self._linger_budget.take():
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
            self._linger_budget.give_back()


async def _answer(sock: socket.socket, error: ServerError) -> bool:
    """Wait for the first request and answer it; return whether there was one."""
    data = bytearray()
    while (found := first_header(data)) is None:
        size = await _received(sock)
        if not size:
            return False
        data += _scratch[:size]
    sock.send(refusal_frame(*found, error))
    return True


async def _received(sock: socket.socket) -> int:
    """Receive into the scratch buffer and return how many bytes came; 0: the client has closed."""
    while True:
        await trio.lowlevel.wait_readable(sock)
        with contextlib.suppress(BlockingIOError, InterruptedError):
            return sock.recv_into(_scratch)
