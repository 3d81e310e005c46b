"""Ports that an endpoint keeps while it is stopped, too, and that no other program gets meanwhile.

A socket that is bound and does not listen keeps a port: with SO_REUSEADDR the server can bind the same one and listen,
while the system gives it neither to a program that requests a free port, nor to an outgoing connection.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final

from rocketwire.testing.errors import NotStarted
from rocketwire.testing.options import EndpointPorts

_HOST: Final = "127.0.0.1"
_VIP_BELOW: Final = 2
"""Old clients also use the port so far below the broker's."""
_ATTEMPTS: Final = 50


class KeptPorts:
    """The ports of one endpoint, until it is closed.

    Attributes:
        ports: All of them.
    """

    def __init__(self, wanted: EndpointPorts) -> None:
        """Take ports.

        Raises:
            NotStarted: one that is wanted is taken.
        """
        self._sockets = contextlib.ExitStack()
        try:
            broker = wanted.get("broker") or self._free_pair()
            if wanted.get("broker"):
                self._keep(broker)
            self.ports = EndpointPorts(
                namesrv=self._keep(wanted.get("namesrv", 0)),
                broker=broker,
                http=self._keep(wanted.get("http", 0)),
                grpc=self._keep(wanted.get("grpc", 0)),
            )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give them back."""
        self._sockets.close()

    def _keep(self, port: int) -> int:
        try:
            return int(self._sockets.enter_context(_bound(port, only_if_free=not port)).getsockname()[1])
        except OSError as error:
            raise NotStarted(f"port {port}: {error.strerror}") from error

    def _free_pair(self) -> int:
        """A free port whose VIP port is free as well; both are kept."""
        for _ in range(_ATTEMPTS):
            with contextlib.ExitStack() as pair, contextlib.suppress(OSError):
                port = int(pair.enter_context(_bound(0, only_if_free=True)).getsockname()[1])
                pair.enter_context(_bound(port - _VIP_BELOW, only_if_free=True))
                self._sockets.push(pair.pop_all())
                return port
        raise NotStarted("no two free ports are found")


def _bound(port: int, *, only_if_free: bool) -> socket.socket:
    """A socket at a port; `only_if_free` also fails where another one keeps it so, or a connection has just ended."""
    sock = socket.socket()
    try:
        if not only_if_free:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((_HOST, port))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError:
        sock.close()
        raise
    return sock
