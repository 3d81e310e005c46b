"""The descriptors of the process, shared out before connections are accepted.

Clients may open as many connections as they like, and each takes a descriptor, with TLS three. What the store needs to
store, to read and to write its tables is kept from them, and so is what those need who ask over HTTP and those who are
told why they are refused. So each part is bounded, and none can be without descriptors for what others took.
"""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

KEPT_FOR_STORE: Final = 32
"""What the store has open at most, however many files it has: a mapped file needs no descriptor.

Three stay open: the lock, and the log's file twice, for its next flush and for the thread that makes pages ahead. The
event loop opens one at a time, to make, map or read a file or to write a table, and one while a module is loaded. Of
the jobs that run in threads (flushes, the index, each table, the timer's files, removals, certificates, accounts) each
opens one at a time; there are some 16. Four are of the kernel's hubs; the rest is spare.
"""
LEAST_CONNECTIONS: Final = 16
"""With room for fewer nobody could use the server."""
_PART: Final = 16  # of all descriptors so many-th may be farewells, and as many HTTP's
_LEAST_PART: Final = 4
_MOST_PART: Final = 64
_HTTP_SPARES: Final = 6
"""Those that the HTTP server holds (its `SPARES`), and two that come while others go."""
_UNLIMITED: Final = 1 << 20
_TABLE: Final = Path("/dev/fd")
_USUALLY_OPEN: Final = 24


class DescriptorsTooFew(Exception):
    """The process may open too few files; the text is one line for the person who started it."""


class Room:
    """Descriptors that may be taken: `most` in all.

    Attributes:
        most: See above.
        taken: How many are.
    """

    def __init__(self, most: int = _UNLIMITED) -> None:
        self.most = most
        self.taken = 0

    @property
    def full(self) -> bool:
        """Whether none is left."""
        return self.taken >= self.most

    def take(self, count: int = 1) -> bool:
        """Take some, if there are so many left."""
        if self.taken + count > self.most:
            return False
        self.taken += count
        return True

    def give_back(self, count: int = 1) -> None:
        """They are closed."""
        self.taken -= count


class Descriptors:
    """Who may have how many.

    Attributes:
        limit: Those of the process in all.
        connections: What connections may take.
        farewells: What may be taken, for a second, by clients that are told why they are refused.
        http: How many connections those may have who ask over HTTP.
    """

    def __init__(self, limit: int, in_use: int, *, http: bool) -> None:
        """Share out `limit` descriptors of which some are in use already.

        Raises:
            DescriptorsTooFew: too few are left for connections.
        """
        self.limit = limit
        part = min(max(limit // _PART, _LEAST_PART), _MOST_PART)
        self.http = part if http else 0
        kept = in_use + KEPT_FOR_STORE + part + 1  # one is on its way from the listening socket
        if http:
            kept += self.http + _HTTP_SPARES
        if limit - kept < LEAST_CONNECTIONS:
            least = kept + LEAST_CONNECTIONS
            raise DescriptorsTooFew(
                f"the process may open {limit} files, and needs {least} at least: raise the limit (ulimit -Hn)"
            )
        self.farewells = Room(part)
        self.connections = Room(limit - kept)

    def __str__(self) -> str:
        """As the log says it at the start."""
        return (
            f"descriptors: {self.limit} in all, {KEPT_FOR_STORE} reserved for the store, "
            f"{self.connections.most} left for connections"
        )


def shared_out(*, http: bool) -> Descriptors:
    """Those of this process, with what is open now counted as in use.

    Raises:
        DescriptorsTooFew: too few are left for connections.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _UNLIMITED if soft == resource.RLIM_INFINITY else soft
    try:
        in_use = sum(1 for _ in _TABLE.iterdir()) - 1  # one is the listing's own
    except OSError:
        in_use = _USUALLY_OPEN
    return Descriptors(limit, in_use, http=http)
