"""Free TCP ports for servers under test.

Theory: a RocketMQ broker on port P also listens on P - 2 (the "fast" port old clients use) and P + 1
(replication), so it needs a run of four. Ports are searched below the range from which the kernel takes
ports of outgoing connections: a client's socket could take one of that range before the server starts.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence

_FIRST, _LAST, _STEP = 20_000, 30_000, 10


class PortsTakenError(Exception):
    """There is no run of free ports any more."""


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


class Ports:
    """Hands out ports; none twice. Processes begin to search at different places."""

    def __init__(self, *, start: int | None = None) -> None:
        offset = (os.getpid() if start is None else start) * _STEP % (_LAST - _FIRST)
        self._bases: Iterator[int] = iter(
            [*range(_FIRST + offset, _LAST, _STEP), *range(_FIRST, _FIRST + offset, _STEP)]
        )

    def _take(self, offsets: Sequence[int]) -> int:
        for base in self._bases:
            if all(_is_free(base + offset) for offset in offsets):
                return base
        raise PortsTakenError(f"no {len(offsets)} free ports in a row between {_FIRST} and {_LAST}")

    def name_server(self) -> int:
        """One free port. Raises PortsTakenError."""
        return self._take([0])

    def broker(self) -> int:
        """A port P such that P - 2, P - 1, P and P + 1 are free. Raises PortsTakenError."""
        return self._take([3, 4, 5, 6]) + 5
