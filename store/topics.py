"""config/topics.json: the topics of a broker, with a data version that counts their changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocketwire.store import config
from rocketwire.store.files import FileSystem, RealFileSystem
from rocketwire.store.versioned_table import VersionedTable
from rocketwire.wire.bodies._codec import decode_body
from rocketwire.wire.bodies.topic import TopicConfig, TopicConfigSerializeWrapper


class TopicTable(VersionedTable[TopicConfig, TopicConfigSerializeWrapper]):
    """The topics by name."""

    def __init__(
        self, path: str, files: FileSystem, clock: Callable[[], int], saved: TopicConfigSerializeWrapper
    ) -> None:
        super().__init__(path, files, clock, saved.topic_config_table, saved.data_version)

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None, *, clock: Callable[[], int]) -> TopicTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or RealFileSystem()
        saved = config.load(str(path), files, lambda data: decode_body(TopicConfigSerializeWrapper, data))
        return cls(str(path), files, clock, saved or TopicConfigSerializeWrapper())

    @staticmethod
    def name_of(value: TopicConfig) -> str:
        """The topic's name."""
        return value.topic_name

    def wrapper(self) -> TopicConfigSerializeWrapper:
        """The whole table as a body."""
        return TopicConfigSerializeWrapper(topic_config_table=dict(self._configs), data_version=self._version)
