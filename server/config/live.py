"""The configuration in force, which code 25 may change while the broker runs."""

from __future__ import annotations

from collections.abc import Mapping

from rocketwire.server.config.config import ServerConfig
from rocketwire.server.core.clock import Clock
from rocketwire.store.event import Event
from rocketwire.wire.bodies.topic import DataVersion


class LiveConfig:
    """Holds the current `ServerConfig`; users read a setting each time they need it.

    Attributes:
        changed: Called after each change.
    """

    __slots__ = ("_clock", "changed", "current", "version")

    def __init__(self, config: ServerConfig, clock: Clock) -> None:
        self._clock = clock
        self.current = config
        self.version = DataVersion(counter=0, timestamp=clock())
        self.changed = Event[[]]()

    def update(self, changes: Mapping[str, str]) -> None:
        """Change some keys.

        Raises:
            ConfigError: nothing was changed; the text names key, value and what is allowed.
        """
        self.current = self.current.updated(changes)
        self.version = DataVersion(counter=self.version.counter + 1, timestamp=self._clock())
        self.changed()
