"""How many topics a broker has room for.

The retry topic and the dead-letter topic of a group that is there are not counted: how many groups there may be is
bounded by itself, and a group must not lose what failed because somebody else made topics.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketwire.server.guard_errors import LimitExceeded
from rocketwire.server.live_config import LiveConfig
from rocketwire.store.groups import GroupTable
from rocketwire.store.topics import TopicTable
from rocketwire.wire import names
from rocketwire.wire.bodies.topic import DataVersion


class TopicRoom:
    """Says whether topics may be made."""

    def __init__(self, topics: TopicTable, groups: GroupTable, config: LiveConfig) -> None:
        self._topics = topics
        self._groups = groups
        self._config = config
        self._versions: tuple[DataVersion, DataVersion] | None = None
        self._counted = 0

    def check(self, wanted: Iterable[str]) -> None:
        """Raise LimitExceeded if topics of these names would be too many, with those that are there."""
        new = {name for name in wanted if name not in self._topics and not self._is_free(name)}
        most = self._config.current.max_topics
        if new and len(self._topics) + len(new) > most and self._count() + len(new) > most:
            raise LimitExceeded("maxTopics", most)

    def _is_free(self, name: str) -> bool:
        for prefix in (names.RETRY_PREFIX, names.DEAD_LETTER_PREFIX):
            if name.startswith(prefix):
                return name.removeprefix(prefix) in self._groups
        return name in names.NOT_SENDABLE_TOPICS

    def _count(self) -> int:
        """The topics that count; gone through anew only after a change, for refusals may come thick and fast."""
        versions = (self._topics.data_version, self._groups.data_version)
        if versions != self._versions:
            self._versions = versions
            self._counted = sum(not self._is_free(name) for name in self._topics.configs)
        return self._counted
