"""The proxy's listening sockets."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

from rocketwire.capture.errors import CannotListen
from rocketwire.wire.addresses import Address

VIP_DISTANCE: Final = 2
"""A broker's second port, the VIP channel of old clients, is its port less this."""
_BACKLOG: Final = 1024
_TRIES: Final = 100


def listen(address: Address) -> socket.socket:
    """Listen on an address; port 0 is any free one.

    Raises:
        CannotListen: the address is taken, or not this machine's.
    """
    try:
        family, kind, protocol, _, found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise CannotListen(str(address), getattr(error, "strerror", None) or str(error)) from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(found)
        sock.listen(_BACKLOG)
    except OSError as error:
        sock.close()
        raise CannotListen(str(address), error.strerror or str(error)) from error
    sock.settimeout(0)
    return sock


def port_of(sock: socket.socket) -> int:
    """The port that a socket listens on."""
    port: int = sock.getsockname()[1]
    return port


def listen_for_broker(host: str) -> tuple[socket.socket, socket.socket]:
    """Listen on a free port, and on that port less 2 for clients that use the VIP channel.

    Raises:
        CannotListen: no such two ports are free.
    """
    for _ in range(_TRIES):
        main = listen(Address(host=host, port=0))
        with contextlib.suppress(CannotListen):
            return main, listen(Address(host=host, port=port_of(main) - VIP_DISTANCE))
        main.close()
    raise CannotListen(host, "no two ports at a distance of 2 are free")
