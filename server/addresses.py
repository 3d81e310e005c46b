"""Host and port: how the command line writes them and how they are shown.

`127.0.0.1:9876`, `broker.example:10911`, `[::1]:9876`. An IPv6 address stands in brackets, so that its
port is not taken for a part of it. Port 0 asks the system for any free port.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

MAX_PORT = 65535


class HostUnknown(Exception):
    """A host without an address; the text is one line for the person who named it."""


class AddressInvalid(ValueError):
    """A text that is not `HOST:PORT`; its message says what is allowed."""

    def __init__(self) -> None:
        super().__init__(f"allowed is HOST:PORT or [IPV6]:PORT, port 0 to {MAX_PORT}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A TCP address. `host` is a name or an address, an IPv6 one without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `HOST:PORT` or `[IPV6]:PORT`.

    Raises:
        AddressInvalid: no host, no port, a port out of range, or an IPv6 address without its brackets.
    """
    host, colon, port_text = text.strip().rpartition(":")
    if not colon or not (port_text.isascii() and port_text.isdigit()) or int(port_text) > MAX_PORT:
        raise AddressInvalid
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if not _is_ipv6(host):
            raise AddressInvalid
    elif not host or any(c in host for c in ":[]") or any(c.isspace() for c in host):
        raise AddressInvalid
    return Address(host=host, port=int(port_text))


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


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True
