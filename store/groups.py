"""config/subscriptionGroup.json: the consumer groups of a broker, with a data version that counts their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from rocketwire.store import config
from rocketwire.store.files import FileSystem, RealFileSystem
from rocketwire.wire.bodies._codec import decode_body
from rocketwire.wire.bodies.fastjson import dumps_pretty
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupWrapper
from rocketwire.wire.bodies.topic import DataVersion


class GroupTable:
    """The groups by name. Every change raises the data version; `persist` writes changes to the disk."""

    def __init__(self, path: str, files: FileSystem, clock: Callable[[], int], saved: SubscriptionGroupWrapper) -> None:
        self._path = path
        self._files = files
        self._clock = clock
        self._groups = dict(saved.subscription_group_table)
        self._version = saved.data_version
        self._forbidden = saved.forbidden_table
        self._dirty = False

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None, *, clock: Callable[[], int]) -> GroupTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or RealFileSystem()
        saved = config.load(str(path), files, lambda data: decode_body(SubscriptionGroupWrapper, data))
        return cls(str(path), files, clock, saved or SubscriptionGroupWrapper())

    @property
    def data_version(self) -> DataVersion:
        """How often the table changed, and when last (ms)."""
        return self._version

    @property
    def configs(self) -> Mapping[str, SubscriptionGroupConfig]:
        """All groups, to look at."""
        return MappingProxyType(self._groups)

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """A group's configuration."""
        return self._groups.get(name)

    def find_or_create(self, name: str) -> SubscriptionGroupConfig:
        """A group's configuration; a group that does not exist is made with Apache's defaults."""
        group = self._groups.get(name)
        if group is None:
            group = SubscriptionGroupConfig(group_name=name)
            self.put(group)
        return group

    def names(self) -> list[str]:
        """Names of all groups, in the order they were made."""
        return list(self._groups)

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[SubscriptionGroupConfig]:
        return iter(list(self._groups.values()))

    def put(self, group: SubscriptionGroupConfig) -> None:
        """Add or replace a group; no change when it is the same."""
        if self._groups.get(group.group_name) != group:
            self._groups[group.group_name] = group
            self._changed()

    def remove(self, name: str) -> bool:
        """Remove a group; false when there was none."""
        if self._groups.pop(name, None) is None:
            return False
        self._changed()
        return True

    def _changed(self) -> None:
        self._dirty = True
        self._version = replace(self._version, counter=self._version.counter + 1, timestamp=self._clock())

    def wrapper(self) -> SubscriptionGroupWrapper:
        """The whole table as a body."""
        return SubscriptionGroupWrapper(
            subscription_group_table=dict(self._groups),
            data_version=self._version,
            forbidden_table=self._forbidden,
        )

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
