"""Counts of what was served, kept where they cost an addition."""

from __future__ import annotations

from collections import Counter
from typing import Final

UNSERVED: Final = -1
"""What all codes that nobody serves are counted under: clients may send any."""

SEND: Final = "send"
RECEIVE: Final = "receive"
"""The two directions of quotas."""

ACL_REASONS: Final = ("no_access_key", "unknown_access_key", "signature", "admin", "permission")
"""What access control refuses requests for."""


class Metrics:
    """What was served and what was refused, since the start.

    Attributes:
        requests: By request code, `UNSERVED` for those that nobody serves.
        converted: Converted messages (docs/throttling.md) that quotas let pass, by direction.
        throttled: Requests refused with code 215, by direction and by what refused them.
        acl_refused: Requests that access control refused, by reason.
        limited: Requests and connections that a limit refused or ended, by limit.
        faults: Injected faults, by action.
        tls_connections: Open connections that speak TLS.
        tls_failures: TLS handshakes that came to nothing.
    """

    __slots__ = (
        "acl_refused",
        "bytes_in",
        "bytes_out",
        "converted",
        "faults",
        "limited",
        "messages_in",
        "messages_out",
        "requests",
        "throttled",
        "tls_connections",
        "tls_failures",
    )

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.converted: Counter[str] = Counter()
        self.throttled: Counter[tuple[str, str]] = Counter()
        self.acl_refused: Counter[str] = Counter()
        self.limited: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.tls_connections = 0
        self.tls_failures = 0
        self.messages_in = 0
        self.bytes_in = 0
        self.messages_out = 0
        self.bytes_out = 0

    def stored(self, messages: int, size: int) -> None:
        """Count messages appended to the commit log and their size in bytes."""
        self.messages_in += messages
        self.bytes_in += size

    def delivered(self, messages: int, size: int) -> None:
        """Count messages handed to consumers and their size in bytes."""
        self.messages_out += messages
        self.bytes_out += size
