"""One TLS connection: a handshake, then two pumps between the client's socket and the session's.

A pump moves up to 64 KiB at a time and reads no more until that is taken, so what waits for a client that does not read
stays with the session, which bounds it (`outgoing.HIGH_WATER`). When the session ends, the TLS connection is closed
once its answers are sent; when the client ends, the session sees the end of its socket. Where the session reads on, so
that the client can read why it is refused, so does this.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.net.admission.in_flight import InFlight
from rocketwire.server.net.admission.refusals import drain
from rocketwire.server.net.tls.engine import TlsEngine, TlsFault

TO_CLIENT: Final = 0
TO_SESSION: Final = 1


class BufferedBytes:
    """Counts one connection's buffered bytes as bytes in flight, and ends the connection when the total is too much.

    Attributes:
        remote_text: The client's ``host:port``.
        scope: The cancel scope that the connection is served in.
        last_sign_of_life: When bytes began to wait.
    """

    __slots__ = ("_in_flight", "_refused", "_sizes", "last_sign_of_life", "remote_text", "scope")

    def __init__(self, in_flight: InFlight, remote_text: str) -> None:
        self._in_flight = in_flight
        self._sizes = [0, 0]
        self._refused = False
        self.remote_text = remote_text
        self.scope = trio.CancelScope()
        self.last_sign_of_life = 0.0

    @property
    def held(self) -> int:
        """Bytes that are counted now."""
        return sum(self._sizes)

    @property
    def silent_since(self) -> float:
        """When bytes began to wait: from then on little or nothing was transferred."""
        return self.last_sign_of_life

    def count(self, way: int, size: int) -> None:
        """Set how many bytes wait in one direction."""
        if self._refused:
            return
        if not self.held:
            self.last_sign_of_life = trio.current_time()
        more, self._sizes[way] = size - self._sizes[way], size
        self._in_flight.add(more)

    def refuse(self, _error: LimitExceeded) -> None:
        """End the connection, whose client does not read."""
        self.release()
        self.scope.cancel()

    def release(self) -> None:
        """Take all bytes out of the count, and ignore later ones."""
        for way in (TO_CLIENT, TO_SESSION):
            self.count(way, 0)
        self._refused = True


BUFFER_BYTES: Final = 64 * 1024
LITTLE_BYTES: Final = 4 * 1024
"""How much is decrypted at a time for a client that sends hardly any data: TLS's own messages take much longer."""
EMPTY_BYTES: Final = 64 * 1024
"""How much may be received without any data in it; the longest record is a quarter of that."""
WAITING_BYTES: Final = 160 * 1024
"""What is buffered for a client that does not read: a buffer, until all of it is sent, and the engine's encrypted copy.
"""
HANDSHAKE_SECONDS: Final = 10.0
SLOWEST_SECONDS: Final = 120.0
"""How long a client may take to read one buffer."""

# Shared by all connections: the content is used or copied before the next wait.
_encrypted = memoryview(bytearray(BUFFER_BYTES))
_plain = memoryview(bytearray(BUFFER_BYTES))


class TlsConnection:
    """The TLS endpoint between a client and its session."""

    __slots__ = ("_drains", "_empty", "_engine", "_fault", "_held", "_inner", "_outer", "_peer", "_unsent")

    def __init__(
        self,
        outer: socket.socket,
        inner: socket.socket,
        engine: TlsEngine,
        held: BufferedBytes,
        *,
        peer: str = "the client",
    ) -> None:
        """`outer` leads to the client, `inner` to the session; the caller closes both. `peer` is the client in errors.

        It serves a connection to a server likewise: that is the client then.
        """
        self._peer = peer
        self._held = held
        self._outer = outer
        self._inner = inner
        self._engine = engine
        self._unsent = memoryview(b"")
        self._fault: TlsFault | None = None
        self._drains = False
        self._empty = 0  # bytes received since the last data

    async def shake_hands(self, first: bytes, turn: trio.Lock) -> None:
        """Do the handshake; `first` is what the client has sent.

        A step may take a millisecond of the event loop. All handshakes share `turn`, so that other tasks run between
        two steps.

        Raises:
            TlsFault: the handshake failed or took too long.
            OSError: the connection broke.
        """
        engine = self._engine
        engine.receive(first)
        with trio.move_on_after(HANDSHAKE_SECONDS):
            while not await self._agreed(turn):
                await self._flush()
                size = await receive(self._outer, _encrypted)
                if not size:
                    raise TlsFault(f"{self._peer} left before the handshake was over")
                engine.receive(_encrypted[:size])
            await self._flush()
            return
        raise TlsFault(f"the handshake was not over after {HANDSHAKE_SECONDS:.0f} s")

    async def _agreed(self, turn: trio.Lock) -> bool:
        async with turn:
            try:
                return self._engine.shake_hands()
            except TlsFault:
                self._send()  # the alert with the reason
                raise
            finally:
                await trio.lowlevel.checkpoint()

    async def pump(self) -> None:
        """Transfer bytes both ways until either side ends, and pass the end on to the other side.

        Raises:
            TlsFault: what the client sent cannot be decrypted, or it does not read.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._to_client, nursery.cancel_scope)
            await self._to_session(nursery.cancel_scope)
        if self._fault is not None:
            raise self._fault
        if self._drains:
            await drain(self._outer)

    async def _to_session(self, scope: trio.CancelScope) -> None:
        engine = self._engine
        came = 0
        try:
            while True:
                found = 0
                while size := engine.read_into(_plain):
                    await send(self._inner, _plain[:size], self._wait_for_session)
                    found += size
                self._answer()
                most = self._most_next(came, found)
                if engine.ended or not (came := await receive(self._outer, _encrypted[:most])):
                    break
                engine.receive(_encrypted[:came])
            self._inner.shutdown(socket.SHUT_WR)
        except TlsFault as fault:
            self._fault = fault
            with contextlib.suppress(OSError):  # a client that has disconnected needs no alert
                self._send()
            scope.cancel()
        except OSError:  # either side broke the connection: not logged, as with plain connections
            scope.cancel()

    def _most_next(self, came: int, found: int) -> int:
        """How many bytes to receive next, given the size of the last read and of the data in it."""
        self._empty = 0 if found else self._empty + came
        if self._empty > EMPTY_BYTES:
            raise TlsFault(f"{self._peer} sends no data")
        return BUFFER_BYTES if 2 * found > came else LITTLE_BYTES

    async def _to_client(self, scope: trio.CancelScope) -> None:
        try:
            while size := await self._answers():
                self._engine.write(_plain[:size])
                await self._flush()
            self._engine.end()
            await self._flush()
            self._inner.send(b"")  # fails if the session has closed; otherwise it still drains input
            self._drains = True
        except TlsFault as fault:
            self._fault = fault
        except OSError:
            pass
        scope.cancel()

    def _answer(self) -> None:
        """Send TLS's own replies; the rest of them follow with the session's next answers."""
        if not self._send() and self._engine.pending > BUFFER_BYTES:
            raise TlsFault(f"{self._peer} asks and does not read")

    async def _answers(self) -> int:
        """Receive from the session; 0: it has closed."""
        try:
            return await receive(self._inner, _plain)
        except ConnectionResetError:  # it has closed with unread input
            return 0

    async def _flush(self) -> None:
        """Send all encrypted bytes."""
        if self._send():
            return
        self._held.count(TO_CLIENT, WAITING_BYTES)
        with trio.move_on_after(SLOWEST_SECONDS):
            while not self._send():
                await trio.lowlevel.wait_writable(self._outer)
            self._held.count(TO_CLIENT, 0)
            return
        raise TlsFault(f"{self._peer} does not read")

    def _wait_for_session(self, rest: int) -> None:
        """Count what the session has not read yet, and what may wait behind it."""
        self._held.count(TO_SESSION, rest + BUFFER_BYTES if rest else 0)

    def _send(self) -> bool:
        """Send what the client's socket takes now; return whether all is sent.

        Raises:
            OSError: the connection broke.
        """
        while True:
            if not self._unsent:
                self._unsent = memoryview(self._engine.to_send())
            if not self._unsent:
                return True
            try:
                sent = self._outer.send(self._unsent)
            except (BlockingIOError, InterruptedError):
                return False
            self._unsent = self._unsent[sent:]


async def receive(sock: socket.socket, buffer: memoryview) -> int:
    """Wait for bytes and return how many came; 0: the connection has ended.

    Raises:
        OSError: the connection broke.
    """
    while True:
        await trio.lowlevel.wait_readable(sock)
        try:
            return sock.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            continue


async def send(sock: socket.socket, data: memoryview, waits: Callable[[int], None]) -> None:
    """Send `data`, copied before any wait; `waits` is called with the size of the rest, and 0 at the end.

    Raises:
        OSError: the connection broke.
    """
    try:
        sent = sock.send(data)
    except (BlockingIOError, InterruptedError):
        sent = 0
    if sent == len(data):
        return
    rest = memoryview(bytes(data[sent:]))
    waits(len(rest))
    while rest:
        await trio.lowlevel.wait_writable(sock)
        try:
            rest = rest[sock.send(rest) :]
        except (BlockingIOError, InterruptedError):
            continue
    waits(0)
