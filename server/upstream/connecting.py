"""Connected sockets to other servers.

A server whose machine or network fails sends nothing, and TCP alone finds out after a quarter of an hour. So silent
connections are probed, and data that is not received for a while ends them. The time is long enough for a server that
is busy with something else: its system takes the data.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeAlias

import trio

from rocketwire.wire.addresses import Address


class UpstreamConnectionError(Exception):
    """The other server cannot be reached, does not answer, or does not speak the protocol."""


class RequestNotSent(UpstreamConnectionError):
    """The request was not sent: nothing came of it."""


CONNECT_SECONDS: Final = 3.0
Connect: TypeAlias = Callable[[Address, trio.Nursery], Awaitable[socket.socket]]
"""Gives a connected socket that does not block, and that tasks of the nursery may carry; or raises RequestNotSent."""
_SILENT_SECONDS: Final = 30
_PROBE_SECONDS: Final = 10
_DEAD_SECONDS: Final = 60
"""How long probes and data may stay without an acknowledgement."""


async def connect_plain(address: Address, _nursery: trio.Nursery) -> socket.socket:
    """A connected socket that does not block, and needs no task.

    Raises:
        RequestNotSent: there is none within CONNECT_SECONDS.
    """
    try:
        with trio.fail_after(CONNECT_SECONDS):
            stream = await trio.open_tcp_stream(address.host, address.port)
    except trio.TooSlowError:
        raise RequestNotSent(f"{address} cannot be reached: no answer in time") from None
    except UnicodeError as error:
        raise RequestNotSent(f"{address} cannot be reached: not a host name") from error
    except (OSError, ValueError) as error:  # a host with a NUL is a ValueError
        raise RequestNotSent(f"{address} cannot be reached: {getattr(error, 'strerror', None) or error}") from error
    sock = nonblocking(stream.socket.detach())
    notice_its_end(sock)
    return sock


def nonblocking(descriptor: int) -> socket.socket:
    """The socket of a descriptor, which must not block."""
    sock = socket.socket(fileno=descriptor)
    sock.settimeout(0)
    return sock


def notice_its_end(sock: socket.socket, *, silent: int = _SILENT_SECONDS, dead: int = _DEAD_SECONDS) -> None:
    """Have a connection end when the other machine has failed without closing it.

    Args:
        sock: The connection's socket.
        silent: Seconds without data after which the other end is probed.
        dead: Seconds without a sign of life after which the connection ends.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", silent), ("TCP_KEEPINTVL", min(_PROBE_SECONDS, dead))):
        if hasattr(socket, name):  # systems have different ones
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, dead * 1000)


log = logging.getLogger(__name__)

_MOST_LOGGED: Final = 1000
_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - they are compared with


class SelfConnectGuard:
    """Makes connections to others, and knows where the proxy listens."""

    def __init__(self, connecting: Connect = connect_plain) -> None:
        """Make connections by `connecting`."""
        self._connecting = connecting
        self._listens: set[tuple[str, int]] = set()
        self._logged: set[Address] = set()

    def listens(self, sock: socket.socket) -> tuple[str, int]:
        """Note a socket that the proxy listens on; its host and port."""
        host, port = sock.getsockname()[:2]
        self._listens.add((host, port))
        return host, port

    def closes(self, listened: Iterable[tuple[str, int]]) -> None:
        """Note that the proxy listens there no more."""
        self._listens.difference_update(listened)

    async def connect(self, address: Address, nursery: trio.Nursery) -> socket.socket:
        """As the function of that name in `upstream`.

        Raises:
            RequestNotSent: there is none within CONNECT_SECONDS, or it led to the proxy.
        """
        sock = await self._connecting(address, nursery)
        try:
            itself = self._is_own(sock)
        except OSError:  # it has ended already
            itself = False
        if itself:
            sock.close()
            if address not in self._logged and len(self._logged) < _MOST_LOGGED:
                self._logged.add(address)
                log.error("%(address)s is this proxy itself: it cannot be behind it", {"address": address})
            raise RequestNotSent(f"{address} is the proxy itself")
        return sock

    def _is_own(self, sock: socket.socket) -> bool:
        host, port = sock.getpeername()[:2]
        if (host, port) in self._listens:
            return True
        return host == sock.getsockname()[0] and any((each, port) in self._listens for each in _ANY)
