"""config/consumerFilter.json: the SQL filters that consumer groups subscribed with, by topic and group.

Apache keeps a filter after its consumers left (`dead`), with the Bloom filter positions for its consume queue
extension.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rocketwire.store.disk.files import FileSystem
from rocketwire.store.tables.saved_table import SavedTable
from rocketwire.store.tables.unknown_fields import load_body
from rocketwire.wire.bodies._shapes import to_builtins
from rocketwire.wire.java import Int64

_TABLE: Final = "filterDataByTopic"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFilter:
    """One group's filter for one topic; times in ms, `dead_time` 0 while it is in use."""

    topic: str = ""
    consumer_group: str = ""
    expression: str = ""
    expression_type: str = ""
    born_time: Int64 = 0
    client_version: Int64 = 0
    dead: bool = False
    dead_time: Int64 = 0
    bloom_filter_data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFilters:
    """The filters for one topic by group."""

    topic: str = ""
    group_filter_data: dict[str, ConsumerFilter] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerFilterWrapper:
    """The file: filters by topic."""

    filter_data_by_topic: dict[str, TopicFilters] = field(default_factory=dict)


class ConsumerFilterTable(SavedTable):
    """Filters by (topic, group)."""

    def __init__(self, path: str, files: FileSystem) -> None:
        super().__init__(path, files)
        saved, self._unknown = load_body(path, files, ConsumerFilterWrapper)
        self._topics = {name: dict(topic.group_filter_data) for name, topic in saved.filter_data_by_topic.items()}

    def get(self, topic: str, group: str) -> ConsumerFilter | None:
        """A group's filter for a topic, None when it has none."""
        return self._topics.get(topic, {}).get(group)

    def put(self, value: ConsumerFilter) -> None:
        """Add or replace a group's filter for a topic."""
        groups = self._topics.setdefault(value.topic, {})
        if groups.get(value.consumer_group) != value:
            groups[value.consumer_group] = value
            self._changed()

    def remove(self, topic: str, group: str) -> None:
        """Remove a group's filter for a topic, if there is one."""
        groups = self._topics.get(topic, {})
        if groups.pop(group, None) is None:
            return
        self._unknown.forget(_TABLE, topic, "groupFilterData", group)
        if not groups:
            del self._topics[topic]
        self._changed()

    def of_group(self, group: str) -> list[ConsumerFilter]:
        """A group's filters, of all topics."""
        return [groups[group] for groups in self._topics.values() if group in groups]

    def __iter__(self) -> Iterator[ConsumerFilter]:
        return iter([each for groups in self._topics.values() for each in groups.values()])

    def _document(self) -> dict[str, Any]:
        topics = {name: TopicFilters(topic=name, group_filter_data=groups) for name, groups in self._topics.items()}
        if not self._unknown:  # then each is encoded alone, step by step
            return {_TABLE: topics}
        return self._unknown.restore(to_builtins(ConsumerFilterWrapper(filter_data_by_topic=topics)))
