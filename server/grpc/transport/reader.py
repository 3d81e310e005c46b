"""Reads one HTTP/2 connection: the driver of gRPC connections.

While a client is quiet, or what it sends is served at once, `turns` reads the connection together with others, unless
these are few. Its own task goes on where something is left to be served after other tasks, and waits while the client
does not read.
"""

from __future__ import annotations

import contextlib
import math
import socket
from typing import TYPE_CHECKING, Final

import trio

from rocketwire.server.grpc.transport.turns import Turns

if TYPE_CHECKING:
    from rocketwire.server.grpc.transport.connection import Connection

_READ_BUFFER_BYTES: Final = 256 * 1024

_LONE_BYTES: Final = 1024
"""A longer read mostly has several calls."""

_read_buffer = memoryview(bytearray(_READ_BUFFER_BYTES))  # shared by all: each read is parsed before the next begins


class Reader:
    """The driver of one connection, see `net.driver.Driver`; `run` is its task.

    Args:
        sock: Its socket.
        connection: The connection.
        turns: Those that read it; None: its own task does.
    """

    __slots__ = (
        "_closed",
        "_connection",
        "_left",
        "_relieved",
        "_several",
        "_sock",
        "_turns",
        "began",
        "frame_started",
        "held",
        "last_activity",
        "writing",
    )

    def __init__(self, sock: socket.socket, connection: Connection, turns: Turns | None) -> None:
        self._sock = sock
        self._connection = connection
        self._turns = turns
        self._closed = False
        self._several = False
        self._relieved = trio.Event()
        self._left = trio.Event()
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
        self._leave()

    async def run(self, first: bytes) -> None:
        """Serve the connection until either end closes it; `first` is what was read of it before."""
        with contextlib.nullcontext() if self._turns is None else self._turns.counting():
            await self._run(first)

    async def _run(self, first: bytes) -> None:
        connection = self._connection
        try:
            connection.receive(memoryview(first))
            connection.send_out()
            while not self._closed:
                await self._serve_rest()
                if not self._closed:
                    await self._read_on()
        except (OSError, trio.ClosedResourceError):
            connection.close()  # reset by the peer, or closed from this side
        except Exception as error:  # noqa: BLE001 - the connection logs it: a bug in serving one must not end the others
            connection.failed(error)

    async def _serve_rest(self) -> None:
        """Serve what is left, and wait while the client does not read."""
        connection = self._connection
        await connection.serve_rest()
        if connection.stalled and not self._closed:
            self._relieved = trio.Event()
            await self._relieved.wait()

    async def _read_on(self) -> None:
        """Have the connection read until something is left, or it is closed."""
        if self._turns is not None and self._turns.wants(several=self._several):
            self._left = trio.Event()
            self._turns.join(self._sock.fileno(), self)
            await self._left.wait()
            return
        in_flight = self._connection.in_flight
        await trio.lowlevel.wait_readable(self._sock)
        if in_flight.is_full:
            await in_flight.wait_for_room()
        if self.read():
            self.send_out()

    def _leave(self) -> None:
        """Let the connection's own task go on."""
        if self._turns is not None and not self._left.is_set():
            self._turns.leave(self._sock.fileno())
        self._left.set()

    # --- a turn

    def read(self) -> bool:
        """Read once and serve that; return whether it is to be answered."""
        connection = self._connection
        try:
            size = self._sock.recv_into(_read_buffer)
            if size:
                self.last_activity = trio.current_time()
                self._several = size > _LONE_BYTES
                connection.receive(_read_buffer[:size])
                return True  # after an error of the client's, too: it is told, and the connection closed
            connection.close()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            connection.close()
        except Exception as error:  # noqa: BLE001 - as in `run`
            connection.failed(error)
        return False

    def send_out(self) -> None:
        """Send the answers; if more is to be served, or the client does not read, the connection's task goes on."""
        connection = self._connection
        try:
            if connection.send_out() or connection.stalled:
                self._leave()
        except Exception as error:  # noqa: BLE001 - as in `run`
            connection.failed(error)
