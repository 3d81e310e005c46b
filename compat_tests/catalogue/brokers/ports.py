"""Addresses and free ports of the endpoints.

Theory: ports come from below the range that the kernel gives to outgoing connections, so that no client can take one
between the choice and the start. Test processes that run side by side (pytest-xdist's workers) search in different
places; two calls in one process return the same ports until a process listens there.
"""

from __future__ import annotations

import os
import socket
import zlib
from typing import Final

from rocketwire.compat.brokers.processes import EndpointError

LOOPBACK: Final = "127.0.0.1"
LOOPBACK_6: Final = "[::1]"  # as addresses with a port are written

_FIRST: Final = 20000
_STEP: Final = 5  # ports that one endpoint needs
_ROWS: Final = 100  # of so many in a place
_PLACES: Final = 24


def port_of(address: str) -> int:
    """The port in HOST:PORT or [IPV6]:PORT."""
    return int(address.rpartition(":")[2])


def free_ports(host: str = LOOPBACK) -> tuple[int, int]:
    """Free ports for a name server and a broker, of whose port P also P - 2 (VIP channel), P - 1 and P + 1 are free."""
    return free_rows(1, host)[0]


def free_rows(count: int, host: str = LOOPBACK) -> list[tuple[int, int]]:
    """As `free_ports`, for several servers."""
    start = _start()
    found: list[tuple[int, int]] = []
    for offset in range(_ROWS):
        namesrv = start + (os.getpid() + offset) % _ROWS * _STEP
        broker = namesrv + 3
        if all(_free(host, port) for port in range(namesrv, broker + 2)):
            found.append((namesrv, broker))
            if len(found) == count:
                return found
    raise EndpointError(f"no {count} times five free ports in a row from {start} on")


def grpc_port(broker: int) -> int:
    """The port for clients of 5.x that is free with a broker's port of `free_ports`."""
    return broker - 1


def _start() -> int:
    """The first port of this process: that of a place which the run chooses, or of one of those that follow it."""
    run, worker = (os.environ.get(f"PYTEST_XDIST_{name}", "") for name in ("TESTRUNUID", "WORKER"))
    place = zlib.crc32(run.encode()) if run else os.getpid()
    return _FIRST + (place + int(worker.removeprefix("gw") or 0)) % _PLACES * _ROWS * _STEP


def _free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if host == LOOPBACK_6 else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError:
            return False
        return True
