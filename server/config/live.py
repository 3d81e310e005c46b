"""Views of the configuration in force, which code 25 may change while the broker runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from rocketwire.wire.bodies.topic import DataVersion

G = TypeVar("G")


class LiveGroup(Generic[G]):
    """One group of keys of a running broker; users read a key each time they need it.

    Attributes:
        current: The values in force; a change replaces them.
    """

    __slots__ = ("current",)

    def __init__(self, current: G) -> None:
        self.current = current


class LiveKeys(Protocol):
    """All keys of a running broker, by name: what requests read of the configuration, and change."""

    @property
    def version(self) -> DataVersion:
        """The version of the configuration: a change has a new one."""

    def properties(self) -> dict[str, str]:
        """Every key with effect and its value as text."""

    def update(self, changes: Mapping[str, str]) -> None:
        """Change some keys.

        Raises:
            ConfigError: nothing was changed; the text names key, value and what is allowed.
        """
