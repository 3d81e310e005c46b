"""config/topics.json: the topics of a broker, with a data version that counts their changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.unknown_fields import load_body
from rocketwire.store.tables.versioned_table import VersionedTable, load_table
from rocketwire.wire.bodies.topic import TopicConfig, TopicConfigSerializeWrapper


def topic_names(path: str | Path, files: FileSystem) -> set[str] | None:
    """Names of the topics in a file; None when there is no file, or no topic in it.

    Raises:
        ConfigInvalid: the file and its .bak are unreadable.
    """
    saved, _ = load_body(str(path), files, TopicConfigSerializeWrapper)
    return set(saved.topic_config_table) or None


class TopicTable(VersionedTable[TopicConfig, TopicConfigSerializeWrapper]):
    """The topics by name."""

    def __init__(self, path: str, files: FileSystem, clock: Callable[[], int]) -> None:
        loaded = load_table(path, self.table_name(), files, TopicConfigSerializeWrapper)
        super().__init__(path, files, clock, loaded, loaded.saved.topic_config_table, loaded.saved.data_version)

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None, *, clock: Callable[[], int]) -> TopicTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        return cls(str(path), files or FileSystem(), clock)

    @staticmethod
    def name_of(value: TopicConfig) -> str:
        """The topic's name."""
        return value.topic_name

    @staticmethod
    def table_name() -> str:
        """The name of the file's map of configurations."""
        return "topicConfigTable"

    def wrapper(self) -> TopicConfigSerializeWrapper:
        """The whole table as a body."""
        return TopicConfigSerializeWrapper(topic_config_table=dict(self._configs), data_version=self._version)
