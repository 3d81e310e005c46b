"""Hosts in records, message ids and bodies: an address of 4 or 16 bytes, and a port of 4."""

import ipaddress
from functools import lru_cache
from struct import Struct
from struct import error as struct_error
from typing import Final

from rocketwire.wire.errors import HostInvalid

HOST_V4_SIZE: Final = 8
HOST_V6_SIZE: Final = 20
_HOSTS_KEPT: Final = 1024
_PORT: Final = Struct(">i")


def encode_host(ip: str, port: int) -> bytes:
    """Write an address: 8 bytes for IPv4, 20 for IPv6.

    Raises:
        HostInvalid: the text is no IP address, or the port no 32-bit number.
    """
    try:
        return _packed(ip) + _PORT.pack(port)
    except (ValueError, struct_error) as error:
        raise HostInvalid(f"{ip[:100]!r} port {port} is no address") from error


def decode_host(data: bytes | memoryview) -> tuple[str, int]:
    """Read an address of 8 or 20 bytes.

    Raises:
        HostInvalid: the bytes are of another length.
    """
    if len(data) not in {HOST_V4_SIZE, HOST_V6_SIZE}:
        raise HostInvalid(f"an address has 8 or 20 bytes, not {len(data)}")
    return _decoded(bytes(data))


# Many messages come from few hosts, and the address library takes longer than all else in a record.
@lru_cache(maxsize=_HOSTS_KEPT)
def _packed(ip: str) -> bytes:
    return ipaddress.ip_address(ip.partition("%")[0]).packed


@lru_cache(maxsize=_HOSTS_KEPT)
def _decoded(raw: bytes) -> tuple[str, int]:
    return _address(raw[: -_PORT.size]), _PORT.unpack(raw[-_PORT.size :])[0]


@lru_cache(maxsize=_HOSTS_KEPT)
def _address(packed: bytes) -> str:
    return str(ipaddress.ip_address(packed))
