"""Keys of the HTTP port: docs/monitoring.md."""

from __future__ import annotations

from dataclasses import dataclass

from rocketwire.server.config.keys import OURS, key


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpKeys:
    """By which names the HTTP port may be called."""

    http_hosts: str = key(
        "names with a dot by which the HTTP port may be called, separated by commas; *: all", default="", known=OURS
    )

    @property
    def hosts(self) -> frozenset[str]:
        """These names in small letters."""
        return frozenset(name.strip().rstrip(".").lower() for name in self.http_hosts.split(",") if name.strip())
