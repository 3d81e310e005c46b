"""The HTTP server: accepts connections and serves each with a table of routes.

The number of connections is bounded. So that silent or slow clients cannot block others, a new connection replaces the
one that has kept the server waiting longest. A few descriptors are reserved, so that clients of the broker that take
all others cannot block health checks.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
from operator import itemgetter
from typing import Final

import trio

from rocketwire.server.core.clocks.clock import Clock
from rocketwire.server.http.connection import HttpConnection
from rocketwire.server.http.messages import Routes

log = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 64
SPARES: Final = 4
"""Reserved descriptors: operators have few connections."""
MOST_UNREAD: Final = 32 << 20
"""Bytes of all answers that are being sent. One of many topics and groups has some MiB, and clients may not read it."""
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_PAUSE_SECONDS: Final = 0.1


class _SpareDescriptors:
    """Open descriptors that are closed when a connection waits and no other descriptor is free."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def fill(self) -> None:
        """Open the missing ones, as far as possible."""
        with contextlib.suppress(OSError):
            while len(self._held) < SPARES:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def give(self) -> bool:
        """Close one, if there is one."""
        if self._held:
            os.close(self._held.pop())
            return True
        return False

    def close(self) -> None:
        """Close all."""
        while self.give():
            pass


class HttpServer:
    """One listening socket; `sock` is non-blocking, as `listener.bind` makes it."""

    def __init__(
        self,
        sock: socket.socket,
        routes: Routes,
        clock: Clock,
        *,
        most: int = MOST_CONNECTIONS,
        hosts: frozenset[str] = frozenset(),
    ) -> None:
        """Serve `routes`, with at most so many connections at a time; `hosts` are as of `HttpConnection`."""
        self._hosts = hosts
        self._sock = sock
        self._routes = routes
        self._clock = clock
        self._most = min(most, MOST_CONNECTIONS)
        self._connections: dict[HttpConnection, None] = {}  # in the order of their arrival
        self._spares = _SpareDescriptors()

    async def run(self) -> None:
        """Accept until cancelled; then close every connection and the socket."""
        with self._sock, contextlib.closing(self._spares):
            self._spares.fill()
            async with trio.open_nursery() as nursery:
                while True:
                    await trio.lowlevel.wait_readable(self._sock)
                    sock = self._accept_waiting()
                    if sock is None:
                        await trio.sleep(_PAUSE_SECONDS)
                    else:
                        self._serve_or_refuse(trio.socket.from_stdlib_socket(sock), nursery)

    def _accept_waiting(self) -> socket.socket | None:
        """The waiting connection; None: it was closed, or there is no descriptor, which the broker's listeners log."""
        try:
            return self._sock.accept()[0]
        except OSError as error:
            if error.errno not in {errno.EMFILE, errno.ENFILE} or not self._spares.give():
                return None
        try:
            return self._sock.accept()[0]
        except OSError:
            self._spares.fill()
            return None

    def _serve_or_refuse(self, sock: trio.socket.SocketType, nursery: trio.Nursery) -> None:
        stream = trio.SocketStream(sock)
        if len(self._connections) >= self._most and not self._close_longest_waiting():
            nursery.start_soon(self._refuse, stream)
        else:
            connection = HttpConnection(
                stream,
                self._routes,
                self._clock,
                hosts=self._hosts,
                ended=lambda: self._close(sock),
                make_room=self._close_unread,
            )
            self._connections[connection] = None
            nursery.start_soon(self._serve, connection)

    def _close(self, sock: trio.socket.SocketType) -> None:
        """Close a connection, and take its descriptor for a missing spare before others can."""
        sock.close()
        self._spares.fill()

    def _close_longest_waiting(self) -> bool:
        """Close the connection that has waited for its client longest; false if handlers work for all of them."""
        waiting = [(each.waiting_since, each) for each in self._connections if each.waiting_since is not None]
        if not waiting:
            return False
        _, oldest = min(waiting, key=itemgetter(0))
        self._drop(oldest)
        return True

    def _close_unread(self, size: int) -> None:
        """Before an answer of so many bytes is sent, close the connections that have not read theirs for longest."""
        unread = {each: each.unread_bytes for each in self._connections if each.unread_bytes}
        total = size + sum(unread.values())
        for each in sorted(unread, key=lambda each: each.waiting_since or 0.0):
            if total <= MOST_UNREAD:
                break
            total -= unread[each]
            self._drop(each)

    def _drop(self, connection: HttpConnection) -> None:
        del self._connections[connection]
        connection.close()

    async def _serve(self, connection: HttpConnection) -> None:
        try:
            await connection.run()
        except Exception:  # a bug in serving one must not end the others, nor the broker
            log.exception("an HTTP connection")
        finally:
            self._connections.pop(connection, None)

    async def _refuse(self, stream: trio.SocketStream) -> None:
        try:
            with contextlib.suppress(trio.BrokenResourceError):
                await stream.send_all(_BUSY)
        finally:
            self._close(stream.socket)
