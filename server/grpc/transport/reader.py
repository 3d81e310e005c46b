"""Reads one HTTP/2 connection in a task of its own: the driver of gRPC connections."""

from __future__ import annotations

import math
import socket
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import Connection

_READ_BUFFER_BYTES: Final = 256 * 1024

_read_buffer = memoryview(bytearray(_READ_BUFFER_BYTES))  # shared by all: each read is parsed before the next begins


class Reader:
    """The driver of one connection, see `net.driver.Driver`; `run` is its task."""

    __slots__ = (
        "_closed",
        "_connection",
        "_relieved",
        "_sock",
        "began",
        "frame_started",
        "held",
        "last_activity",
        "writing",
    )

    def __init__(self, sock: socket.socket, connection: Connection) -> None:
        self._sock = sock
        self._connection = connection
        self._closed = False
        self._relieved = trio.Event()
        self.held = 0  # what is received and not served is the connection's
        self.last_activity = trio.current_time()
        self.frame_started = math.inf
        self.writing = False
        self.began = True

    def resume(self) -> None:
        """Continue: the connection no longer stalls."""
        self._relieved.set()

    def beginning(self) -> bytes:
        """Nothing: no frame of another protocol can be unfinished."""
        return b""

    def close(self) -> None:
        """Stop reading."""
        self._closed = True
        self._relieved.set()

    async def run(self, first: bytes) -> None:
        """Serve the connection until either end closes it; `first` is what was read of it before."""
        connection = self._connection
        try:
            await self._serve(memoryview(first))
            while not self._closed:
                await trio.lowlevel.wait_readable(self._sock)
                if connection.in_flight.is_full:
                    await connection.in_flight.room()
                try:
                    size = self._sock.recv_into(_read_buffer)
                except (BlockingIOError, InterruptedError):
                    continue
                if not size:
                    connection.close()
                    return
                self.last_activity = trio.current_time()
                await self._serve(_read_buffer[:size])
        except (OSError, trio.ClosedResourceError):
            connection.close()  # reset by the peer, or closed from this side
        except Exception as error:  # noqa: BLE001 - the connection logs it: a bug in serving one must not end the others
            connection.failed(error)

    async def _serve(self, data: memoryview) -> None:
        connection = self._connection
        more = connection.receive(data)
        while more and not self._closed:
            await trio.lowlevel.checkpoint()
            more = connection.serve()
        if connection.stalled and not self._closed:
            self._relieved = trio.Event()
            await self._relieved.wait()
