"""Reads one connection, whatever comes over it: frames, what TLS decrypted, or HTTP/2.

Each connection has a task, which reads it and continues to serve where other tasks had to run first. While a client is
quiet, or its requests are served at once, `rounds` may read its connection together with others instead.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final, Protocol

import trio

from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.rounds import ReadRounds

READ_BUFFER_BYTES: Final = 256 * 1024
_LONE_BYTES: Final = 1024
"""A longer read mostly has several requests."""

_read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))  # shared by all: each read is handled before the next begins


class Receiver(Protocol):
    """What a reader gives received bytes to."""

    def receive(self, data: memoryview) -> None:
        """Serve what these bytes complete. What has to wait is copied: the buffer is used again."""

    def send_out(self) -> None:
        """Send what is answered."""

    @property
    def unserved(self) -> bool:
        """Whether something waits that may be served, after other tasks."""

    async def serve_rest(self) -> None:
        """Let other tasks run, and serve some of that."""

    @property
    def stalled(self) -> bool:
        """Whether nothing is to be read before `Reader.resume`: the client does not read its answers."""

    def disconnected(self) -> None:
        """Close the connection: the other end has, or it is broken."""

    def failed(self, error: Exception) -> None:
        """Close the connection because of a bug in serving it, which must not end the others."""


class Reader:
    """Reads one socket; `run` is its task.

    Args:
        sock: The socket.
        receiver: Gets what is read.
        in_flight: Pauses all reading while too many bytes are in flight.
        rounds: May read the connection together with others; None: its own task does.
    """

    __slots__ = ("_handed_back", "_in_flight", "_receiver", "_relieved", "_rounds", "_several", "_sock", "closed")

    def __init__(
        self, sock: socket.socket, receiver: Receiver, in_flight: InFlight, rounds: ReadRounds | None = None
    ) -> None:
        self._sock = sock
        self._receiver = receiver
        self._in_flight = in_flight
        self._rounds = rounds
        self._several = False
        self._relieved = trio.Event()
        self._handed_back = trio.Event()
        self.closed = False

    def resume(self) -> None:
        """Continue: the receiver no longer stalls."""
        self._relieved.set()

    def close(self) -> None:
        """Stop reading."""
        self.closed = True
        self._relieved.set()
        self._leave()

    async def run(self, first: bytes = b"") -> None:
        """Serve the connection until either end closes it; `first` is what was read of it before."""
        with contextlib.nullcontext() if self._rounds is None else self._rounds.counting():
            await self._run(first)

    async def _run(self, first: bytes) -> None:
        receiver = self._receiver
        try:
            if first:
                receiver.receive(memoryview(first))
                receiver.send_out()
            while True:
                await self._serve_rest()
                if self.closed:
                    return
                await self._read_on()
        except (OSError, trio.ClosedResourceError):
            receiver.disconnected()  # reset by the peer, or closed from this side
        except Exception as error:  # noqa: BLE001 - it is logged: a bug in serving one must not end the others
            receiver.failed(error)

    async def _serve_rest(self) -> None:
        """Serve what was read before, and wait while the client does not read."""
        receiver = self._receiver
        while not self.closed:
            if receiver.unserved:
                await receiver.serve_rest()
            elif receiver.stalled:
                self._relieved = trio.Event()
                await self._relieved.wait()
            else:
                return

    async def _read_on(self) -> None:
        """Read once, or have the rounds read until requests remain unserved, or the connection is closed."""
        if self._rounds is not None and self._rounds.should_join(several=self._several):
            self._handed_back = trio.Event()
            self._rounds.join(self._sock.fileno(), self)
            await self._handed_back.wait()
            return
        await trio.lowlevel.wait_readable(self._sock)
        if self._in_flight.is_full:
            await self._in_flight.wait_for_room()
        if not self.closed and self.read():
            self.send_out()

    def _leave(self) -> None:
        """Let the connection's own task continue."""
        if self._rounds is not None and not self._handed_back.is_set():
            self._rounds.leave(self._sock.fileno())
        self._handed_back.set()

    # --- a round

    def read(self) -> bool:
        """Read once and serve that; return whether it is to be answered."""
        receiver = self._receiver
        try:
            size = self._sock.recv_into(_read_buffer)
            if size:
                self._several = size > _LONE_BYTES
                receiver.receive(_read_buffer[:size])
                return True  # after an error of the client's, too: it gets the error, and the connection is closed
            receiver.disconnected()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            receiver.disconnected()
        except Exception as error:  # noqa: BLE001 - as in `_run`
            receiver.failed(error)
        return False

    def send_out(self) -> None:
        """Send the answers; if more is to be served, or the client does not read, the connection's task continues."""
        receiver = self._receiver
        try:
            receiver.send_out()
            if receiver.unserved or receiver.stalled:
                self._leave()
        except Exception as error:  # noqa: BLE001 - as in `_run`
            receiver.failed(error)
