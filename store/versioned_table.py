"""What topics.json and subscriptionGroup.json have in common: configurations by name, and a data version.

The data version counts the changes of a table; others ask for it to learn whether what they know is old.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Generic, TypeVar

from rocketwire.store import config
from rocketwire.store.files import FileSystem
from rocketwire.wire.bodies.fastjson import dumps_pretty
from rocketwire.wire.bodies.topic import DataVersion

C = TypeVar("C")
W = TypeVar("W")


class VersionedTable(ABC, Generic[C, W]):
    """Configurations C by name, saved as a body W. Every change raises the data version; `persist` writes changes."""

    def __init__(
        self,
        path: str,
        files: FileSystem,
        clock: Callable[[], int],
        configs: Mapping[str, C],
        version: DataVersion,
    ) -> None:
        self._path = path
        self._files = files
        self._clock = clock
        self._configs = dict(configs)
        self._version = version
        self._dirty = False

    @staticmethod
    @abstractmethod
    def name_of(value: C) -> str:
        """The name under which a configuration stands."""

    @abstractmethod
    def wrapper(self) -> W:
        """The whole table as a body."""

    @property
    def data_version(self) -> DataVersion:
        """How often the table changed, and when last (ms)."""
        return self._version

    @property
    def configs(self) -> Mapping[str, C]:
        """All configurations, to look at."""
        return MappingProxyType(self._configs)

    def get(self, name: str) -> C | None:
        """The configuration of a name."""
        return self._configs.get(name)

    def names(self) -> list[str]:
        """All names, in the order they were made."""
        return list(self._configs)

    def __contains__(self, name: str) -> bool:
        return name in self._configs

    def __len__(self) -> int:
        return len(self._configs)

    def __iter__(self) -> Iterator[C]:
        return iter(list(self._configs.values()))

    def put(self, value: C) -> None:
        """Add or replace a configuration; no change when it is the same."""
        name = self.name_of(value)
        if self._configs.get(name) != value:
            self._configs[name] = value
            self.raise_version()

    def remove(self, name: str) -> bool:
        """Remove a configuration; false when there was none."""
        if self._configs.pop(name, None) is None:
            return False
        self.raise_version()
        return True

    def raise_version(self) -> None:
        """Count a change: of an entry, or of what all have in common (the broker's permission limits topics')."""
        self._dirty = True
        self._version = replace(self._version, counter=self._version.counter + 1, timestamp=self._clock())

    def persist(self) -> None:
        """Write the file if the table changed since. Blocking.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next call.
        """
        if self._dirty:
            # Cleared first: a change that comes while a thread writes is written by the next call.
            self._dirty = False
            try:
                config.save(self._path, self._files, dumps_pretty(self.wrapper()))
            except BaseException:
                self._dirty = True
                raise
