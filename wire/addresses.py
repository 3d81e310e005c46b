"""Parsing and printing HOST:PORT addresses, as on the command line.

`127.0.0.1:9876`, `broker.example:10911`, `[::1]:9876`. An IPv6 address is written in brackets, so that its
port is not mistaken for a part of it.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

MAX_PORT: Final = 65535
_PORT_DIGITS: Final = len(str(MAX_PORT))


class AddressInvalid(ValueError):
    """A text that is not `HOST:PORT`; its message describes what is allowed."""

    def __init__(self) -> None:
        super().__init__(f"expected HOST:PORT or [IPV6]:PORT, port 0 to {MAX_PORT}")


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
    if not colon or not _is_port(port_text):
        raise AddressInvalid
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        if ":" not in host or not is_ip(host):
            raise AddressInvalid
    elif not host or any(c in host for c in ":[]") or any(c.isspace() for c in host):
        raise AddressInvalid
    return Address(host=host, port=int(port_text))


def is_ip(host: str) -> bool:
    """Whether a host is an address of IPv4 or IPv6, not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_port(text: str) -> bool:
    if not text.isascii() or not text.isdigit():
        return False
    digits = text.lstrip("0")  # Python reads no number of more than 4,300 digits
    return len(digits) <= _PORT_DIGITS and int(digits or "0") <= MAX_PORT
