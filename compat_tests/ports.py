"""Addresses and free ports of the endpoints.

Theory: ports come from below the range that the kernel gives to outgoing connections, so that no client can take one
between the choice and the start.
"""

from __future__ import annotations

import os
import socket
from typing import Final

from compat_tests.processes import EndpointError

LOOPBACK: Final = "127.0.0.1"
LOOPBACK_6: Final = "[::1]"  # as addresses with a port are written


def port_of(address: str) -> int:
    """The port in HOST:PORT or [IPV6]:PORT."""
    return int(address.rpartition(":")[2])


def free_ports(host: str = LOOPBACK) -> tuple[int, int]:
    """Free ports for a name server and a broker, the latter's P - 2 (VIP channel) and P + 1 (replication) free too."""
    start = 20000 + os.getpid() * 41 % 11000
    for offset in range(0, 1000, 5):
        namesrv = start + offset
        broker = namesrv + 3
        if all(_free(host, port) for port in (namesrv, broker - 2, broker, broker + 1)):
            return namesrv, broker
    raise EndpointError(f"no five free ports in a row from {start} on")


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if host == LOOPBACK_6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return False
        return True
