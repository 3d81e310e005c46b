"""What topics.json and subscriptionGroup.json have in common: configurations by name, and a data version.

The data version counts the changes of a table; others ask for it to learn whether what they know is old. The file is
written after each change.

What 5.x adds is not lost: fields that no body here has are kept as they were read, and those that are None in a new
configuration as they were in the one it replaces.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rocketwire.store import config
from rocketwire.store.files import FileSystem
from rocketwire.store.unknown_fields import UnknownFields
from rocketwire.wire.bodies._shapes import to_builtins
from rocketwire.wire.bodies.fastjson import dumps_pretty
from rocketwire.wire.bodies.topic import DataVersion

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

C = TypeVar("C", bound="DataclassInstance")
W = TypeVar("W", bound="DataclassInstance")


class VersionedTable(ABC, Generic[C, W]):
    """Configurations C by name, saved as a body W. Every change raises the data version; `persist` writes changes.

    Attributes:
        changed: Called after each change.
    """

    def __init__(
        self,
        path: str,
        files: FileSystem,
        clock: Callable[[], int],
        configs: Mapping[str, C],
        version: DataVersion,
        unknown: UnknownFields,
    ) -> None:
        self._path = path
        self._files = files
        self._clock = clock
        self._configs = dict(configs)
        self._version = version if version.timestamp else replace(version, timestamp=clock())
        self._unknown = unknown
        self._dirty = False
        self.changed: Callable[[], None] = lambda: None

    @staticmethod
    @abstractmethod
    def name_of(value: C) -> str:
        """The name under which a configuration stands."""

    @staticmethod
    @abstractmethod
    def table_name() -> str:
        """The name of the file's map of configurations."""

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
        """Add or replace a configuration. It counts as a change even if it is the same, as with Apache."""
        name = self.name_of(value)
        former = self._configs.get(name)
        self._configs[name] = value if former is None else _with_what_it_lacks(value, former)
        self.raise_version()

    def put_built_in(self, value: C) -> None:
        """Add a configuration that every broker has, unless there is one of its name.

        That is no change: it is written with the next one.
        """
        self._configs.setdefault(self.name_of(value), value)

    def remove(self, name: str) -> bool:
        """Remove a configuration; false when there was none."""
        if self._configs.pop(name, None) is None:
            return False
        self._unknown.forget(self.table_name(), name)
        self.raise_version()
        return True

    def raise_version(self) -> None:
        """Count a change: of an entry, or of what all have in common (the broker's permission limits topics')."""
        self._dirty = True
        self._version = replace(self._version, counter=self._version.counter + 1, timestamp=self._clock())
        self.changed()

    @property
    def path(self) -> str:
        """The table's file."""
        return self._path

    def rewrite(self) -> None:
        """Write the file though nothing changed: it is gone. Blocking.

        Raises:
            StoreError: it could not be written; the next `persist` does.
        """
        self._dirty = True
        self.persist()

    def persist(self) -> None:
        """Write the file if the table changed since. Blocking.

        Raises:
            StoreNotWritable: it could not be written; the change is written by the next call.
        """
        if self._dirty:
            # Cleared first: a change that comes while a thread writes is written by the next call.
            self._dirty = False
            try:
                document = self._unknown.restore(to_builtins(self.wrapper()))
                config.save(self._path, self._files, dumps_pretty(document))
            except BaseException:
                self._dirty = True
                raise


def _with_what_it_lacks(value: C, former: C) -> C:
    lacking: dict[str, Any] = {
        field.name: getattr(former, field.name) for field in fields(value) if getattr(value, field.name) is None
    }
    return replace(value, **lacking) if lacking else value
