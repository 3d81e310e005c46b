"""The options of `rocketwire proxy`, beside the keys that a broker has too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rocketwire.server.configuration import ServerConfig
from rocketwire.wire.addresses import Address

LISTEN: Final = Address(host="127.0.0.1", port=9876)
"""The default listen address of a proxy: where clients expect a name server."""
PORT_STEP: Final = 3
"""How far the ports of two brokers lie apart: old clients send to the port two below a broker's."""


SHADOW_SAMPLE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """The settings of a proxy.

    Attributes:
        base: The keys that it shares with a broker: limits, TLS, accounts, faults, 5.x clients.
        upstream: The name servers of the cluster behind it.
        listen: Where it answers as the name server of its clients.
        first_port: The port of the first broker, the others follow each `PORT_STEP` higher; 0: free ones.
        advertised_host: The host that clients get.
        file: The configuration file, which is read again when it changes; None: there is none.
        fixed_keys: Keys that were given otherwise, and count before those of the file.
        read_only: Whether what changes something is refused.
        grpc: Where clients of 5.x are served, beside `listen`; None: nowhere.
        shadow: The name servers of a second cluster that gets copies of sends; empty: there is none.
        shadow_sample: How many of a hundred sends are copied.
    """

    base: ServerConfig
    upstream: tuple[Address, ...]
    listen: Address = LISTEN
    first_port: int = LISTEN.port + PORT_STEP
    advertised_host: str = LISTEN.host
    file: str | None = None
    fixed_keys: frozenset[str] = frozenset()
    read_only: bool = False
    grpc: Address | None = None
    shadow: tuple[Address, ...] = ()
    shadow_sample: float = SHADOW_SAMPLE
