"""config/topics.json: the topics of a broker, with a data version that counts their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from rocketwire.store import config
from rocketwire.store.files import FileSystem, RealFileSystem
from rocketwire.wire.bodies._codec import decode_body
from rocketwire.wire.bodies.fastjson import dumps_pretty
from rocketwire.wire.bodies.topic import DataVersion, TopicConfig, TopicConfigSerializeWrapper


class TopicTable:
    """The topics by name. Every change raises the data version; `persist` writes changes to the disk."""

    def __init__(
        self, path: str, files: FileSystem, clock: Callable[[], int], saved: TopicConfigSerializeWrapper
    ) -> None:
        self._path = path
        self._files = files
        self._clock = clock
        self._topics = dict(saved.topic_config_table)
        self._version = saved.data_version
        self._dirty = False

    @classmethod
    def open(cls, path: str | Path, files: FileSystem | None = None, *, clock: Callable[[], int]) -> TopicTable:
        """Load the table from its file; an empty one when there is none.

        Raises:
            ConfigInvalid: the file and its .bak are unreadable.
        """
        files = files or RealFileSystem()
        saved = config.load(str(path), files, lambda data: decode_body(TopicConfigSerializeWrapper, data))
        return cls(str(path), files, clock, saved or TopicConfigSerializeWrapper())

    @property
    def data_version(self) -> DataVersion:
        """How often the table changed, and when last (ms)."""
        return self._version

    @property
    def configs(self) -> Mapping[str, TopicConfig]:
        """All topics, to look at."""
        return MappingProxyType(self._topics)

    def get(self, name: str) -> TopicConfig | None:
        """A topic's configuration."""
        return self._topics.get(name)

    def names(self) -> list[str]:
        """Names of all topics, in the order they were made."""
        return list(self._topics)

    def __contains__(self, name: str) -> bool:
        return name in self._topics

    def __len__(self) -> int:
        return len(self._topics)

    def __iter__(self) -> Iterator[TopicConfig]:
        return iter(list(self._topics.values()))

    def put(self, topic: TopicConfig) -> None:
        """Add or replace a topic; no change when it is the same."""
        if self._topics.get(topic.topic_name) != topic:
            self._topics[topic.topic_name] = topic
            self._changed()

    def remove(self, name: str) -> bool:
        """Remove a topic; false when there was none."""
        if self._topics.pop(name, None) is None:
            return False
        self._changed()
        return True

    def raise_version(self) -> None:
        """Count a change of what all topics have in common: of the broker's permission, which limits theirs."""
        self._changed()

    def _changed(self) -> None:
        self._dirty = True
        self._version = replace(self._version, counter=self._version.counter + 1, timestamp=self._clock())

    def wrapper(self) -> TopicConfigSerializeWrapper:
        """The whole table as a body."""
        return TopicConfigSerializeWrapper(topic_config_table=dict(self._topics), data_version=self._version)

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
