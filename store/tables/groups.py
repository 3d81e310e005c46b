"""config/subscriptionGroup.json: the consumer groups of a broker, with a data version that counts their changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.versioned_table import VersionedTable, load_table
from rocketwire.wire.bodies.group import SubscriptionGroupConfig, SubscriptionGroupWrapper


class GroupTable(VersionedTable[SubscriptionGroupConfig, SubscriptionGroupWrapper]):
    """The groups by name."""

    def __init__(self, path: str, files: FileSystem, clock: Callable[[], int]) -> None:
        loaded = load_table(path, self.table_name(), files, SubscriptionGroupWrapper)
        super().__init__(path, files, clock, loaded, loaded.saved.subscription_group_table, loaded.saved.data_version)
        self._forbidden = loaded.saved.forbidden_table

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None, *, clock: Callable[[], int]) -> GroupTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        return cls(str(path), files or FileSystem(), clock)

    @staticmethod
    def name_of(value: SubscriptionGroupConfig) -> str:
        """The group's name."""
        return value.group_name

    @staticmethod
    def table_name() -> str:
        """The name of the file's map of configurations."""
        return "subscriptionGroupTable"

    def wrapper(self) -> SubscriptionGroupWrapper:
        """The whole table as a body."""
        return SubscriptionGroupWrapper(
            subscription_group_table=dict(self._configs), data_version=self._version, forbidden_table=self._forbidden
        )
