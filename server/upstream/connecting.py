"""Connected sockets to other servers.

A server whose machine or network is gone says nothing, and TCP alone finds out after a quarter of an hour. So silent
connections are probed, and data that nobody takes for a while ends them. The time is long enough for a server that is
busy with something else: its system takes the data.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import trio

from rocketwire.server.upstream.errors import RequestNotSent
from rocketwire.wire.addresses import Address

CONNECT_SECONDS: Final = 3.0
Connect: TypeAlias = Callable[[Address, trio.Nursery], Awaitable[socket.socket]]
"""Gives a connected socket that does not block, and that tasks of the nursery may carry; or raises RequestNotSent."""
_SILENT_SECONDS: Final = 30
_PROBE_SECONDS: Final = 10
_GONE_SECONDS: Final = 60
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


def notice_its_end(sock: socket.socket, *, silent: int = _SILENT_SECONDS, gone: int = _GONE_SECONDS) -> None:
    """Have a connection end when the other machine is gone without a word.

    Args:
        sock: The connection's socket.
        silent: Seconds without data after which the other end is asked whether it is there.
        gone: Seconds without a sign of it after which the connection ends.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", silent), ("TCP_KEEPINTVL", min(_PROBE_SECONDS, gone))):
        if hasattr(socket, name):  # systems have different ones
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, gone * 1000)
