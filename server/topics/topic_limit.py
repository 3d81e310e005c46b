"""The limit of topics.

The retry topic and the dead-letter topic of an existing group do not count: the number of groups has its own limit, and
a group must not lose failed messages because others created topics.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rocketwire.server.config.live import LiveGroup
from rocketwire.server.core.guard_errors import LimitExceeded
from rocketwire.server.limits.keys import LimitKeys
from rocketwire.store.tables.groups import GroupTable
from rocketwire.store.tables.topics import TopicTable
from rocketwire.wire import names

_OF_GROUPS: Final = (names.RETRY_PREFIX, names.DEAD_LETTER_PREFIX)


class TopicLimit:
    """Checks the limit of topics."""

    def __init__(self, topics: TopicTable, groups: GroupTable, limit_keys: LiveGroup[LimitKeys]) -> None:
        self._topics = topics
        self._groups = groups
        self._limit_keys = limit_keys
        self._counted = sum(not self._is_free(name) for name in topics.configs)
        topics.counted.subscribe(self._topic_counted)
        groups.counted.subscribe(self._group_counted)

    def check(self, wanted: Iterable[str]) -> None:
        """Raise LimitExceeded if topics of these names, with the existing ones, would be too many."""
        new = {name for name in wanted if name not in self._topics and not self._is_free(name)}
        most = self._limit_keys.current.max_topics
        if new and self._counted + len(new) > most:
            raise LimitExceeded("maxTopics", most)

    def _is_free(self, name: str) -> bool:
        for prefix in _OF_GROUPS:
            if name.startswith(prefix):
                return name.removeprefix(prefix) in self._groups
        return name in names.SEND_FORBIDDEN_TOPICS

    def _topic_counted(self, name: str, more: int) -> None:
        if not self._is_free(name):
            self._counted += more

    def _group_counted(self, name: str, more: int) -> None:
        self._counted -= more * sum(prefix + name in self._topics for prefix in _OF_GROUPS)
