"""The adapter of Spring's starter: one instance a version."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

from rocketwire.compat.clients.maven import MavenClient

_BY_EXCEPTION: Final = "its listener fails a message by an exception only, and its annotation names one delay level"

# The version of Apache's Java client that a version of the starter brings -> the starter.
STARTERS: Final = MappingProxyType({"4.9.3": "2.2.2", "5.3.2": "2.3.4"})


class SpringClient(MavenClient):
    """Spring's starter, `rocketmq-spring-boot-starter`, on one version of Apache's Java client."""

    name = "Spring Boot starter"
    folder = Path(__file__).resolve().parent
    lacks = MappingProxyType(
        {
            "retry.comes-again": _BY_EXCEPTION,
            "retry.orderly": "how long its orderly listener waits is its annotation's",
            "retry.orderly-at-least-10-ms": "how long its orderly listener waits is its annotation's",
            "transaction.every-outcome": "its listener does not get a message's system properties",
            "transaction.another-producer": "its application has one producer of a group",
        }
    )

    def __init__(self, remoting: str) -> None:
        """Take the version of Apache's client, a key of `STARTERS`."""
        self.remoting = remoting
        self.id = f"spring-{remoting.rpartition('.')[0]}"
        self.version = STARTERS[remoting]
        self.settings = {"starter.version": self.version}
        super().__init__()
