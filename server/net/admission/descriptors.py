"""The budget of file descriptors, divided before connections are accepted.

Clients may open as many connections as they like, and each takes one descriptor, or three with TLS. So descriptors are
reserved for the store (its files and tables), for HTTP, and for connections whose refusal is answered. Each part is
bounded, so that none can starve another.
"""

from __future__ import annotations

import logging
import resource
from pathlib import Path
from typing import Final

KEPT_FOR_STORE: Final = 32
"""The most descriptors that the store has open, however many files it has: a mapped file needs none.

Three stay open: the lock, and the log's file twice, for its next flush and for the thread that preallocates pages. The
event loop opens one at a time, to create, map or read a file or to write a table, and one while a module is imported.
Of the jobs that run in threads (flushes, the index, each table, the timer's files, removals, certificates, accounts)
each opens one at a time; there are some 16. Four are the kernel hubs'; the rest is spare.
"""
LEAST_CONNECTIONS: Final = 16
"""With fewer the server would be of no use."""
log = logging.getLogger(__name__)

_PART: Final = 16  # this fraction of all descriptors is for refused connections, and as much for HTTP
_LEAST_PART: Final = 4
_MOST_PART: Final = 64
_HTTP_SPARES: Final = 6
"""The spares of the HTTP server (its `SPARES`), and two for connections that overlap."""
_UNLIMITED: Final = 1 << 20
_TABLE: Final = Path("/dev/fd")
_USUALLY_OPEN: Final = 24


class DescriptorsTooFew(Exception):
    """The process may open too few files; the message is one line for the person who started it."""


class DescriptorBudget:
    """A budget of descriptors.

    Attributes:
        most: How many may be taken in all.
        taken: How many are taken.
    """

    def __init__(self, most: int = _UNLIMITED) -> None:
        self.most = most
        self.taken = 0

    @property
    def full(self) -> bool:
        """Whether all are in use."""
        return self.taken >= self.most

    def take(self, count: int = 1) -> bool:
        """Reserve some, if enough are free."""
        if self.taken + count > self.most:
            return False
        self.taken += count
        return True

    def give_back(self, count: int = 1) -> None:
        """Return closed ones."""
        self.taken -= count


class Descriptors:
    """The division of the process's descriptors.

    Attributes:
        limit: All of the process.
        connections: Those for connections.
        linger_budget: Those for connections whose refusal is answered, for a second each.
        http: How many HTTP connections there may be.
    """

    def __init__(self, limit: int, in_use: int, *, http: bool) -> None:
        """Divide `limit` descriptors, of which some are in use already.

        Raises:
            DescriptorsTooFew: too few remain for connections.
        """
        self.limit = limit
        part = min(max(limit // _PART, _LEAST_PART), _MOST_PART)
        self.http = part if http else 0
        kept = in_use + KEPT_FOR_STORE + part + 1  # one for a connection that is just being accepted
        if http:
            kept += self.http + _HTTP_SPARES
        if limit - kept < LEAST_CONNECTIONS:
            least = kept + LEAST_CONNECTIONS
            raise DescriptorsTooFew(
                f"the process may open {limit} files, and needs {least} at least: raise the limit (ulimit -Hn)"
            )
        self.linger_budget = DescriptorBudget(part)
        self.connections = DescriptorBudget(limit - kept)

    def log_shares(self) -> None:
        """Log the division."""
        log.info(
            "descriptors: %(limit)d in all, %(reserved)d reserved for the store, %(connections)d left for connections",
            {"limit": self.limit, "reserved": KEPT_FOR_STORE, "connections": self.connections.most},
        )


def divide_descriptors(*, http: bool) -> Descriptors:
    """Divide this process's descriptors; those that are open now count as in use.

    Raises:
        DescriptorsTooFew: too few remain for connections.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _UNLIMITED if soft == resource.RLIM_INFINITY else soft
    try:
        in_use = sum(1 for _ in _TABLE.iterdir()) - 1  # one is for the listing itself
    except OSError:
        in_use = _USUALLY_OPEN
    return Descriptors(limit, in_use, http=http)
