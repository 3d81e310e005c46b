"""The proxy's listeners, and broker addresses in the answers of name servers, replaced by those of the proxy."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any, Final

from rocketwire.capture.errors import CannotListen
from rocketwire.wire.addresses import Address, AddressInvalid, parse_address
from rocketwire.wire.bodies import fastjson
from rocketwire.wire.errors import BodyInvalid
from rocketwire.wire.facts.codes import RequestCode
from rocketwire.wire.json_bounds import MAX_JSON_ENTRIES

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


WITH_ADDRESSES: Final = frozenset(
    {
        RequestCode.GET_ROUTEINFO_BY_TOPIC,
        RequestCode.GET_BROKER_CLUSTER_INFO,
        RequestCode.GET_BROKER_MEMBER_GROUP,
    }
)
"""Codes whose answers name brokers by address."""
_LENIENT: Final = 2 << 20


def replaced(body: bytes, local: Callable[[str], str]) -> bytes:
    """The body of an answer with other broker addresses; every other byte stays.

    Args:
        body: The body; one that is no JSON stays as it is.
        local: Gives the address to put in the place of one.
    """
    for address in sorted(broker_addresses(body), key=len, reverse=True):
        body = body.replace(f'"{address}"'.encode(), f'"{local(address)}"'.encode())
    return body


def broker_addresses(body: bytes) -> frozenset[str]:
    """The addresses of brokers in a body: HOST:PORT texts in objects called `brokerAddrs`."""
    try:
        found = fastjson.loads(body, lenient_limit=_LENIENT, most_entries=MAX_JSON_ENTRIES)
    except BodyInvalid:
        return frozenset()
    return frozenset(_addresses(found))


def _addresses(value: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, list):
        return [each for item in value for each in _addresses(item)]
    if not isinstance(value, dict):
        return []
    found = []
    for name, item in value.items():
        if name == "brokerAddrs" and isinstance(item, dict):
            found += [each for each in item.values() if isinstance(each, str) and _is_address(each)]
        else:
            found += _addresses(item)
    return found


def _is_address(text: str) -> bool:
    try:
        parse_address(text)
    except AddressInvalid:
        return False
    return True
