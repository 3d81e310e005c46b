"""Counters of served and refused requests: plain integers, so that counting costs one addition."""

from __future__ import annotations

from collections import Counter
from typing import Final

UNSERVED: Final = -1
"""The key that counts all codes without a handler: clients may send any."""

SEND: Final = "send"
RECEIVE: Final = "receive"
"""The two directions of quotas."""

ACL_REASONS: Final = (
    "no_access_key",
    "unknown_access_key",
    "signature",
    "admin",
    "permission",
    "undecided_code",
    "client_id",
    "property",
)
"""The reasons for which access control refuses requests."""


class Metrics:
    """What was served and what was refused, since the start.

    Attributes:
        requests: By request code, `UNSERVED` for codes without a handler.
        converted: Converted messages (docs/throttling.md) that quotas let pass, by direction.
        throttled: Requests refused with code 215, by direction and trigger.
        acl_refused: Requests that access control refused, by reason.
        limited: Requests and connections that a limit refused or ended, by limit.
        faults: Injected faults, by action.
        tls_connections: Open connections that speak TLS.
        tls_failures: Failed TLS handshakes.
        pulls_found: Pulls that got messages.
        puts_failed: Messages that the store refused.
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
        "pulls_found",
        "puts_failed",
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
        self.pulls_found = 0
        self.puts_failed = 0

    def stored(self, messages: int, size: int) -> None:
        """Count messages appended to the commit log and their size in bytes."""
        self.messages_in += messages
        self.bytes_in += size

    def delivered(self, messages: int, size: int, pulls: int = 1) -> None:
        """Count messages handed to consumers, their size in bytes, and the pulls that got them."""
        self.messages_out += messages
        self.bytes_out += size
        self.pulls_found += pulls
