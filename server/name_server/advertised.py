"""Which address of the broker a client gets from the name server: it may depend on the network that the client is in.

A broker in a container has two addresses: that of a port published on the container's host, for clients outside, and
the container's, for other containers of its network. The name server sees where a client comes from, and each client
queries it before it connects to the broker.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rocketwire.server.net.local_networks import IpNetwork, LocalNetworks
from rocketwire.wire.addresses import Address, parse_address

NEIGHBOURS: Final = "neighbours"
"""In place of a network's address: the networks that this machine is attached to, without their gateways."""


class AdvertisedInvalid(ValueError):
    """A text that does not define what clients get; its message names what is allowed."""

    def __init__(self) -> None:
        super().__init__("expected [neighbours,][NETWORK=HOST:PORT,]...HOST:PORT, with a NETWORK like 10.0.0.0/8")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForNetwork:
    """What clients of a network get: `address`. Neighbours (`network` is None) get this machine's in that network."""

    network: IpNetwork | None
    address: Address | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advertised:
    """The value of `--advertise`: the first of `networks` that a client is in counts, then `others`.

    If `others` is None, the address is that of brokerIP1, or the one listened on.
    """

    networks: tuple[ForNetwork, ...]
    others: Address | None


def parse_advertised(text: str) -> Advertised:
    """Read `[neighbours,][NETWORK=HOST:PORT,]...[HOST:PORT]`.

    Raises:
        AdvertisedInvalid: it is something else.
    """
    networks: list[ForNetwork] = []
    others: list[Address] = []
    for part in text.split(","):
        network, equals, address = (each.strip() for each in part.rpartition("="))
        try:
            if address == NEIGHBOURS and not equals:
                networks.append(ForNetwork(network=None, address=None))
            elif equals:
                networks.append(ForNetwork(network=ipaddress.ip_network(network), address=parse_address(address)))
            else:
                others.append(parse_address(address))
        except ValueError as error:
            raise AdvertisedInvalid from error
    if len(others) > 1:
        raise AdvertisedInvalid
    return Advertised(networks=tuple(networks), others=others[0] if others else None)


class Advertising:
    """Chooses the address of this process's broker that a client gets."""

    def __init__(self, networks: Sequence[ForNetwork], *, registered: Address, listen_port: int) -> None:
        """Set what clients of some networks get in place of `registered`; neighbours get `listen_port`."""
        self._networks = tuple(networks)
        self._registered = str(registered)
        self._listen_port = listen_port
        self._neighbourhood = LocalNetworks.read()

    def seen_from(self, peer: str, address: str) -> str:
        """A broker's address as the client at `peer`, HOST:PORT, gets it: other brokers have their only one."""
        if address != self._registered:
            return address
        client = parse_address(peer).host
        for each in self._networks:
            if each.address is None:
                own = self._neighbourhood.own_address(client)
                if own is not None:
                    return str(Address(host=own, port=self._listen_port))
            elif each.network is not None and ipaddress.ip_address(client) in each.network:
                return str(each.address)
        return address
