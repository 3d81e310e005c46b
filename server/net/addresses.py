"""Host names and addresses of this machine: resolution, wildcard and loopback.

For the syntax of host and port see `wire/addresses.py`. Port 0 stands for any free port.
"""

from __future__ import annotations

import ipaddress
import socket


class HostUnknown(Exception):
    """A host has no address; the message is one line for the person who configured it."""


def ip_address(host: str, *, option: str) -> str:
    """The address behind a host. Blocking. `option` names the setting in the error.

    Raises:
        HostUnknown: the name cannot be resolved.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise HostUnknown(f"host {host} ({option}): {error.strerror}") from error
    except UnicodeError as error:
        raise HostUnknown(f"host {host} ({option}): not a host name") from error
    return str(found[0][4][0]).partition("%")[0]


def is_wildcard(host: str) -> bool:
    """Whether `host` is the wildcard address (`0.0.0.0`, `::`), which clients cannot be given."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether `host` is a loopback address or `localhost`; other names are not resolved."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def machine_address(*, ipv6: bool = False) -> str:
    """The address that this machine uses for outgoing connections, or the loopback address if it has no route.

    Only reads the routing table (a UDP socket is connected to a documentation address); nothing is sent.
    """
    family, elsewhere, loopback = (
        (socket.AF_INET6, "2001:db8::1", "::1") if ipv6 else (socket.AF_INET, "192.0.2.1", "127.0.0.1")
    )
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            return str(probe.getsockname()[0])
    except OSError:
        return loopback
