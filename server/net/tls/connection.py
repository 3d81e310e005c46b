"""One TLS connection: a handshake, then two pumps between the client's socket and the session's.

A pump moves up to 64 KiB at a time and reads no more before that is taken, so what waits for a client that does not
read stays with the session, which has its bound (`outgoing.HIGH_WATER`). A session that ends is told to the client once
its answers are sent; a client that ends is told to the session, which then closes as it does for others. Where the
session reads on, so that the client can read why it is refused, so does this.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Final

import trio

from rocketwire.server.net.refusals import drain
from rocketwire.server.net.tls.buffered import TO_CLIENT, TO_SESSION, BufferedBytes
from rocketwire.server.net.tls.engine import Engine, TlsFault

BUFFER_BYTES: Final = 64 * 1024
LITTLE_BYTES: Final = 4 * 1024
"""How much is decrypted at a time of a client that sends hardly any data: what TLS itself sends takes much longer."""
EMPTY_BYTES: Final = 64 * 1024
"""How much may come without any data in it; the longest record has a quarter of that."""
WAITING_BYTES: Final = 160 * 1024
"""What is held for a client that does not read: a buffer, until all of it is sent, and the engine's own of that."""
HANDSHAKE_SECONDS: Final = 10.0
SLOWEST_SECONDS: Final = 120.0
"""How long a client may take to read what one buffer holds."""

# One each for all: what is in them is used up, or copied, before anything else is waited for.
_encrypted = memoryview(bytearray(BUFFER_BYTES))
_plain = memoryview(bytearray(BUFFER_BYTES))


class Connection:
    """What stands between a client and its session."""

    __slots__ = ("_drains", "_empty", "_engine", "_fault", "_held", "_inner", "_outer", "_unsent")

    def __init__(self, outer: socket.socket, inner: socket.socket, engine: Engine, held: BufferedBytes) -> None:
        """`outer` leads to the client, `inner` to the session; the caller closes both."""
        self._held = held
        self._outer = outer
        self._inner = inner
        self._engine = engine
        self._unsent = memoryview(b"")
        self._fault: TlsFault | None = None
        self._drains = False
        self._empty = 0  # bytes that came since there was data in some

    async def shake_hands(self, first: bytes, turn: trio.Lock) -> None:
        """Agree with the client on keys; `first` is what it has sent.

        A step may take a millisecond of the event loop. All share `turn`, so that others go on between two steps.

        Raises:
            TlsFault: there is no agreement, or it takes too long.
            OSError: the connection broke.
        """
        engine = self._engine
        engine.receive(first)
        with trio.move_on_after(HANDSHAKE_SECONDS):
            while not await self._agreed(turn):
                await self._flush()
                size = await receive(self._outer, _encrypted)
                if not size:
                    raise TlsFault("the client left before the handshake was over")
                engine.receive(_encrypted[:size])
            await self._flush()
            return
        raise TlsFault(f"the handshake was not over after {HANDSHAKE_SECONDS:.0f} s")

    async def _agreed(self, turn: trio.Lock) -> bool:
        async with turn:
            try:
                return self._engine.shake_hands()
            except TlsFault:
                self._send()  # the alert that tells the client why
                raise
            finally:
                await trio.lowlevel.checkpoint()

    async def pump(self) -> None:
        """Carry bytes both ways until either side ends, and its end is told to the other.

        Raises:
            TlsFault: what the client sent is not what it encrypted, or it does not read.
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
            self._send()
            scope.cancel()
        except OSError:  # either side broke it: no matter for a log, as with plain connections
            scope.cancel()

    def _most_next(self, came: int, found: int) -> int:
        """How many bytes to receive next, as so many came last and so many of data were in them."""
        self._empty = 0 if found else self._empty + came
        if self._empty > EMPTY_BYTES:
            raise TlsFault("the client sends no data")
        return BUFFER_BYTES if 2 * found > came else LITTLE_BYTES

    async def _to_client(self, scope: trio.CancelScope) -> None:
        try:
            while size := await self._answers():
                self._engine.write(_plain[:size])
                await self._flush()
            self._engine.end()
            await self._flush()
            self._inner.send(b"")  # fails if the session has closed: if it has not, it drains what still comes
            self._drains = True
        except TlsFault as fault:
            self._fault = fault
        except OSError:
            pass
        scope.cancel()

    def _answer(self) -> None:
        """Send what TLS itself says to what came; the rest of it goes with the session's next answers."""
        if not self._send() and self._engine.pending > BUFFER_BYTES:
            raise TlsFault("the client asks and does not read")

    async def _answers(self) -> int:
        """Receive from the session; 0: it has closed."""
        try:
            return await receive(self._inner, _plain)
        except ConnectionResetError:  # it has, and did not read all that came
            return 0

    async def _flush(self) -> None:
        """Send all that there is to send."""
        if self._send():
            return
        self._held.count(TO_CLIENT, WAITING_BYTES)
        with trio.move_on_after(SLOWEST_SECONDS):
            while not self._send():
                await trio.lowlevel.wait_writable(self._outer)
            self._held.count(TO_CLIENT, 0)
            return
        raise TlsFault("the client does not read")

    def _wait_for_session(self, rest: int) -> None:
        """Count what the session has not read yet, and what may wait behind it."""
        self._held.count(TO_SESSION, rest + BUFFER_BYTES if rest else 0)

    def _send(self) -> bool:
        """Send what the client's socket takes now; whether nothing is left.

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
    """Wait for bytes; how many came. 0: none will.

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
    """Send all of this, which is copied before anything is waited for; `waits` is told how much, and of the end.

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
