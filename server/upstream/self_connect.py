"""Keeps a proxy from connecting to itself: a name server that says so, or a mistake, would have a request go round."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from typing import Final

import trio

from rocketwire.server.upstream.connecting import Connect, connect_plain
from rocketwire.server.upstream.errors import RequestNotSent
from rocketwire.wire.addresses import Address

log = logging.getLogger(__name__)

_MOST_TOLD: Final = 1000
_ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - they are compared with


class SelfConnectGuard:
    """Makes connections to others, and knows where the proxy listens."""

    def __init__(self, connecting: Connect = connect_plain) -> None:
        """Make connections by `connecting`."""
        self._connecting = connecting
        self._listens: set[tuple[str, int]] = set()
        self._told: set[Address] = set()

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
            if address not in self._told and len(self._told) < _MOST_TOLD:
                self._told.add(address)
                log.error("%(address)s is this proxy itself: it cannot be behind it", {"address": address})
            raise RequestNotSent(f"{address} is the proxy itself")
        return sock

    def _is_own(self, sock: socket.socket) -> bool:
        host, port = sock.getpeername()[:2]
        if (host, port) in self._listens:
            return True
        return host == sock.getsockname()[0] and any((each, port) in self._listens for each in _ANY)
