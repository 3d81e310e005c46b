"""By which names the HTTP port may be called: a web page must not reach it by the name of its site.

A web site can let its name lead to an address of this machine or network. A browser then takes this server for its
site, and lets its pages read the answers (DNS rebinding). Such a request has the site's name in `Host`. Addresses, and
names without a dot (`localhost`, a service of a compose project), are no web site's.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from rocketwire.server.config.keys import OURS, key

ANY: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpKeys:
    """Keys of the HTTP port: docs/monitoring.md."""

    http_hosts: str = key(
        "names with a dot by which the HTTP port may be called, separated by commas; *: all", default="", known=OURS
    )

    @property
    def hosts(self) -> frozenset[str]:
        """These names in small letters."""
        return frozenset(name.strip().rstrip(".").lower() for name in self.http_hosts.split(",") if name.strip())


def is_own_host(host: str, names: Container[str]) -> bool:
    """Whether the sender of a `Host` header may mean this server.

    Args:
        host: The header's value: a name or an address, and perhaps a port.
        names: Further names that are allowed; `*` allows all.
    """
    name = _without_port(host.strip()).rstrip(".").lower()
    return "." not in name or _is_address(name) or name in names or ANY in names


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
