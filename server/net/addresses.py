"""What a host means on this machine: its address, and whether it is every one, or only loopback's.

How host and port are written: `wire/addresses.py`. Port 0 asks the system for any free port.
"""

from __future__ import annotations

import ipaddress
import socket


class HostUnknown(Exception):
    """A host without an address; the text is one line for the person who named it."""


def ip_address(host: str, *, option: str) -> str:
    """The address behind a host. Blocking. `option` names the setting in the error.

    Raises:
        HostUnknown: nobody knows the name.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise HostUnknown(f"host {host} ({option}): {error.strerror}") from error
    except UnicodeError as error:
        raise HostUnknown(f"host {host} ({option}): not a host name") from error
    return str(found[0][4][0]).partition("%")[0]


def is_wildcard(host: str) -> bool:
    """Whether `host` means "every address of this machine" (`0.0.0.0`, `::`): nothing to tell a client."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Whether only this machine's own programs reach `host`; a name is one that is always loopback's, or it is not."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def machine_address(*, ipv6: bool = False) -> str:
    """The address by which this machine reaches others, or loopback's when it reaches none.

    Only asks the routing table (a UDP socket is connected to a documentation address); nothing is sent.
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
