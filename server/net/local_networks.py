"""The networks that this machine is attached to, from the routing tables of Linux (`/proc/net`), and who is in them.

In a container a neighbour is another container of the same network. The network's gateway is none: what comes to a
published port of the container's host comes from the gateway's address, or from outside of the network; and some
forwarders for published ports run in the container's network and connect from an address there.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias

IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_ROUTES: Final = Path("/proc/net")
_REJECTS: Final = 0x0200  # a flag of routes that lead nowhere
_ANY_PORT: Final = 9  # nothing is sent to it


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNetworks:
    """The networks that this machine is attached to, without loopback, and their gateways."""

    networks: tuple[IpNetwork, ...]
    gateways: frozenset[IpAddress]

    @classmethod
    def read(cls, folder: Path = _ROUTES) -> Self:
        """Read the routing tables as they are now. Blocking, for some microseconds."""
        routes = [*_routes_4(folder / "route"), *_routes_6(folder / "ipv6_route")]
        return cls(
            networks=tuple(network for network, gateway in routes if gateway.is_unspecified and network.prefixlen),
            gateways=frozenset(gateway for _, gateway in routes if not gateway.is_unspecified),
        )

    def own_address(self, neighbour: str) -> str | None:
        """The address of this machine in the network that it shares with a neighbour; None: it is not one."""
        address = ipaddress.ip_address(neighbour)
        if address in self.gateways or not any(address in network for network in self.networks):
            return None
        own = _source(neighbour, ipv6=address.version == 6)
        return None if own == neighbour else own


def _source(destination: str, *, ipv6: bool) -> str | None:
    """The address that this machine sends from to a destination, by the routing table; nothing is sent."""
    try:
        with socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((destination, _ANY_PORT))
            return str(probe.getsockname()[0])
    except OSError:
        return None


def _routes_4(table: Path) -> Iterator[tuple[IpNetwork, IpAddress]]:
    """Networks and gateways of `/proc/net/route`: numbers in hexadecimal, in the machine's order of bytes."""
    for fields in _lines(table)[1:]:
        destination, gateway, flags, mask = (fields[i] for i in (1, 2, 3, 7))
        if not int(flags, 16) & _REJECTS:
            network = ipaddress.IPv4Network((_ipv4(destination), str(ipaddress.IPv4Address(_ipv4(mask)))))
            yield network, ipaddress.IPv4Address(_ipv4(gateway))


def _ipv4(text: str) -> bytes:
    return int(text, 16).to_bytes(4, sys.byteorder)


def _routes_6(table: Path) -> Iterator[tuple[IpNetwork, IpAddress]]:
    """Networks and gateways of `/proc/net/ipv6_route`, without loopback, single addresses and multicast."""
    for fields in _lines(table):
        network = ipaddress.IPv6Network((bytes.fromhex(fields[0]), int(fields[1], 16)))
        if not int(fields[8], 16) & _REJECTS and fields[9] != "lo" and not network.is_multicast:
            yield network, ipaddress.IPv6Address(bytes.fromhex(fields[4]))


def _lines(table: Path) -> list[list[str]]:
    """The fields of each line; none where there is no such table (no IPv6, or no Linux)."""
    try:
        return [line.split() for line in table.read_text("ascii").splitlines()]
    except OSError:
        return []
