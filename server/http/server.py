"""The HTTP server: accepts connections, and has each served by a table of routes.

Their number is bounded. So that nobody shuts out the others by being silent, or slow, who has been waited for for
longest makes way for who comes.
"""

from __future__ import annotations

import logging
import socket
from operator import itemgetter
from typing import Final

import trio

from rocketwire.server.clock import Clock
from rocketwire.server.http.connection import HttpConnection
from rocketwire.server.http.messages import Routes

log = logging.getLogger(__name__)

MOST_CONNECTIONS: Final = 64
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_PAUSE_SECONDS: Final = 0.1


class HttpServer:
    """One listening socket; `sock` is non-blocking, as `listener.bind` makes it."""

    def __init__(self, sock: socket.socket, routes: Routes, clock: Clock) -> None:
        self._sock = trio.socket.from_stdlib_socket(sock)
        self._routes = routes
        self._clock = clock
        self._connections: dict[HttpConnection, None] = {}  # in the order in which they came

    async def run(self) -> None:
        """Accept until cancelled; then close every connection and the socket."""
        with self._sock:
            async with trio.open_nursery() as nursery:
                while True:
                    try:
                        sock, _ = await self._sock.accept()
                    except OSError:  # the client has left, or there is no descriptor: the broker's listeners say so
                        await trio.sleep(_PAUSE_SECONDS)
                    else:
                        self._take(sock, nursery)

    def _take(self, sock: trio.socket.SocketType, nursery: trio.Nursery) -> None:
        stream = trio.SocketStream(sock)
        if len(self._connections) >= MOST_CONNECTIONS and not self._make_way():
            nursery.start_soon(_refuse, stream)
        else:
            connection = HttpConnection(stream, self._routes, self._clock)
            self._connections[connection] = None
            nursery.start_soon(self._serve, connection)

    def _make_way(self) -> bool:
        """Close the connection that has waited for its client for longest; false when handlers work for all of them."""
        waiting = [(each.waits_since, each) for each in self._connections if each.waits_since is not None]
        if not waiting:
            return False
        _, oldest = min(waiting, key=itemgetter(0))
        del self._connections[oldest]
        oldest.close()
        return True

    async def _serve(self, connection: HttpConnection) -> None:
        try:
            await connection.run()
        except Exception:  # a bug in serving one must not end the others, nor the broker
            log.exception("an HTTP connection")
        finally:
            self._connections.pop(connection, None)


async def _refuse(stream: trio.SocketStream) -> None:
    async with stream:
        try:
            await stream.send_all(_BUSY)
        except trio.BrokenResourceError:
            return
